package provider

import "time"

func init() { firstBackoff = 20 * time.Millisecond }

// SendHeader adds a header to the requests of a model under test.
func (m *Model) SendHeader(name, value string) { m.client.header.Set(name, value) }

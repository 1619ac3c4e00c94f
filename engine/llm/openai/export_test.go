package openai

import "github.com/openai/openai-go/v3/option"

// SendHeader adds a header to the requests of a model under test.
func (m *Model) SendHeader(name, value string) {
	m.completions.Options = append(m.completions.Options, option.WithHeader(name, value))
}

package client

import (
	"context"
	"net/http"
	"time"
)

// consoleTimeout bounds how long Console waits.
const consoleTimeout = 3 * time.Second

// Console returns the address of the server's console, or "" if the server does not serve one or does not answer.
func (c *Client) Console(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, consoleTimeout)
	defer cancel()
	address := c.Server() + "/console"
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, address+"/", nil)
	if err != nil {
		return ""
	}
	request.Header.Set("Accept", "text/html")
	request.Header.Set("User-Agent", c.agent)
	response, err := c.http.Do(request)
	if err != nil {
		return ""
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return ""
	}
	return address
}

package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaultsOfTheRateLimits(t *testing.T) {
	t.Parallel()
	for command, flags := range map[string][]string{
		"serve": {"--rate-limit=600", "--model-rate-limit=60"}, "dev": {"--rate-limit=0", "--model-rate-limit=0"},
	} {
		var help lockedBuffer
		require.Zero(t, run(t.Context(), []string{command, "--help"}, streams{out: &help, log: io.Discard}))
		for _, flag := range flags {
			require.Contains(t, help.String(), flag)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"*", "https://console.example.com", "http://localhost:5173", "http://[::1]:3000", "https://*.example.com", "https://*.example.com:8443"} {
		require.True(t, isOrigin(origin), origin)
	}
	for _, origin := range []string{
		"", "null", "example.com", "https://example.com/", "https://", "ftp://example.com", "https://user@example.com", "https://example.com?x",
		"https://*", "https://*example.com", "https://a.*.example.com", "https://*.*.example.com", " https://example.com", "HTTPS://example.com",
	} {
		require.False(t, isOrigin(origin), origin)
	}
}

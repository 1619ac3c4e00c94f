package gateway

import (
	"net/http"

	"github.com/rs/cors"
)

// corsMaxAge is how many seconds a browser may cache a preflight response. It is Chromium's maximum.
const corsMaxAge = 7_200

// newCORS returns nil if no other origin is allowed.
func newCORS(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete},
		// Browsers add no credentials to these requests, so an extra header gives a page no more rights.
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{
			traceHeader, versionHeader, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After",
			"Location", "Allow", "WWW-Authenticate", "Content-Disposition", "Idempotent-Replayed", "Deprecation", "Sunset",
		},
		MaxAge: corsMaxAge,
	})
}

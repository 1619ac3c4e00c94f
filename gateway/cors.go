package gateway

import (
	"net/http"

	"github.com/rs/cors"
)

// corsMaxAge is for how many seconds a browser may remember that a page may call; none keeps it for longer.
const corsMaxAge = 7_200

// newCORS returns nil when no pages of other origins may call.
func newCORS(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		// Browsers add no credentials by themselves here, so a header more can do nothing that the page could not do.
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{
			traceHeader, versionHeader, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After",
			"Location", "Allow", "WWW-Authenticate", "Content-Disposition", "Idempotent-Replayed",
		},
		MaxAge: corsMaxAge,
	})
}

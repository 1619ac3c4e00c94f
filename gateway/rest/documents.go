package rest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strings"
)

//go:generate go run ./openapi/generate ../../schema openapi.json docs.html ../../docs/reference/rest.md

// OpenAPI describes the routes to programs, and Docs to people, as a page of HTML. Both are written by the package
// openapi.
var (
	//go:embed openapi.json
	OpenAPI []byte
	//go:embed docs.html
	Docs []byte
)

// DocsPolicy is the Content-Security-Policy of Docs: it has nothing but its own style.
func DocsPolicy() string {
	_, style, _ := strings.Cut(string(Docs), "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

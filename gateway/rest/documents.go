package rest

import _ "embed"

//go:generate go run ./openapi/generate ../../schema openapi.json ../../docs/reference/rest.md

// OpenAPI is the OpenAPI document of the routes, as JSON. The package openapi generates it.
//
//go:embed openapi.json
var OpenAPI []byte

// Docs is an HTML page that shows OpenAPI. It loads DocsScript and Viewer from the folder docs next to it. Viewer is
// RapiDoc, compressed with gzip; "make console" writes it.
var (
	//go:embed docs.html
	Docs []byte
	//go:embed docs.js
	DocsScript []byte
	//go:embed rapidoc.js.gz
	Viewer []byte
)

// DocsPolicy is the Content-Security-Policy of Docs. The page may only load files and call routes of its own server.
// RapiDoc's templates have style attributes, and lit-html is its only Trusted Types policy.
const DocsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types lit-html"

// Command generate writes the OpenAPI document of REST and docs/reference/rest.md. Its arguments are the folder of the
// schema and the paths of the two files.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/rest"
	"github.com/agentgraph/agentgraph/gateway/rest/openapi"
)

//go:embed rest.md.tmpl
var page string

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: generate SCHEMA-FOLDER OPENAPI-FILE MARKDOWN-FILE")
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func write(folder string, files []string) error {
	schema, err := readSchema(folder)
	if err != nil {
		return err
	}
	routes, err := rest.Routes(schema)
	if err != nil {
		return err
	}
	document, err := openapi.Describe(schema, routes, rest.Exports())
	if err != nil {
		return err
	}
	for i, content := range []func(*openapi3.T) ([]byte, error){indented, reference} {
		out, err := content(document)
		if err != nil {
			return err
		}
		if err := os.WriteFile(files[i], out, 0o644); err != nil { //nolint:gosec // readable by everybody
			return err
		}
	}
	return nil
}

func indented(document *openapi3.T) ([]byte, error) {
	out, err := json.MarshalIndent(document, "", " ")
	return append(out, '\n'), err
}

func reference(document *openapi3.T) ([]byte, error) {
	parsed, err := template.New("").Funcs(openapi.Functions(document)).Funcs(template.FuncMap{
		"type": typeOf, "cell": cell, "anchor": strings.ToLower, "join": strings.Join,
	}).Parse(page)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, struct {
		*openapi3.T
		Chapters []openapi.Chapter
	}{document, openapi.Chapters(document)})
	return out.Bytes(), err
}

func readSchema(folder string) (*ast.Schema, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.graphqls"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("there is no schema in " + folder)
	}
	var sources []*ast.Source
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // the caller says what to read
		if err != nil {
			return nil, err
		}
		sources = append(sources, &ast.Source{Name: file, Input: string(content)})
	}
	return gqlparser.LoadSchema(sources...)
}

func typeOf(ref *openapi3.SchemaRef) string {
	return openapi.Type(ref, func(component string) string { return "`" + component + "`" })
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`)
}

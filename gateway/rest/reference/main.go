// Command reference writes docs/rest.md from the table of routes and the schema. Its arguments are the file to write and
// the files of the schema.
package main

import (
	"bytes"
	_ "embed"
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
)

//go:embed rest.md.tmpl
var text string

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: reference OUTPUT SCHEMA-FOLDER")
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func write(output, folder string) error {
	schema, err := readSchema(folder)
	if err != nil {
		return err
	}
	document, err := rest.Describe(schema)
	if err != nil {
		return err
	}
	page, err := template.New("").Funcs(template.FuncMap{
		"scopes": rest.Scopes, "type": typeOf, "bounds": rest.Bounds, "cell": cell, "properties": rest.Properties,
		"resolve": func(ref string) *openapi3.Parameter { return document.Components.Parameters[name(ref)].Value },
		"schema":  func(ref string) *openapi3.Schema { return document.Components.Schemas[name(ref)].Value }, "failures": rest.Failures,
		"problems": rest.Problems, "anchor": strings.ToLower, "join": strings.Join,
	}).Parse(text)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := page.Execute(&out, struct {
		*openapi3.T
		Chapters []rest.Chapter
	}{document, rest.Chapters(document)}); err != nil {
		return err
	}
	return os.WriteFile(output, out.Bytes(), 0o644) //nolint:gosec // a document for everybody
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

func name(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func typeOf(ref *openapi3.SchemaRef) string {
	return rest.Type(ref, func(component string) string { return "`" + component + "`" })
}

// cell makes a text fit a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`)
}

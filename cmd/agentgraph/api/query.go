package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type queryCommand struct {
	client.Flags
	File      string
	Var       map[string]string
	Variables string
	Operation string
}

func newQuery() *cobra.Command {
	c := &queryCommand{}
	return cli.New(c, &cobra.Command{
		Use: "query", Short: "Send a GraphQL operation, and print the response. A subscription prints a line for each event.",
		Example: `agentgraph query '{ company { name } }'
agentgraph query agents.graphql --var name=clinic
echo '{ company { name } }' | agentgraph query -`,
	}, []cli.Argument{
		{Into: &c.File, Name: "file", Help: "The GraphQL document, the name of a file that contains it, or - for " +
			"standard input. An argument with a { is a document."},
	}, &c.Flags, cli.Flags{
		{Into: &c.Var, Name: "var", Placeholder: "NAME=VALUE", Help: "A variable: plain text for String and ID, " +
			"otherwise JSON. Repeat the flag for several. It overrides the same variable in the file."},
		{Into: &c.Variables, Name: "variables", Placeholder: "FILE", Help: "JSON file with variables; - for standard input."},
		{Into: &c.Operation, Name: "operation", Placeholder: "NAME",
			Help: "The operation to execute, if the document has several."},
	})
}

// Run prints the response, indented on a terminal, otherwise as the server sent it, except for escapes.
func (c *queryCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	request, kind, err := c.request(cli.Interruptible(cmd.Context(), cmd.InOrStdin()))
	if err != nil {
		return client.Exit(client.ExitUsage, err)
	}
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	if kind == ast.Subscription {
		return client.ExitWith(ctx, server.Subscribe(ctx, request, func(event json.RawMessage) error {
			_, err := fmt.Fprintf(cli.JSONWriter(cmd.OutOrStdout()), "%s\n", event)
			return err
		}))
	}
	var whole json.RawMessage
	execute := func() (err error) {
		_, whole, err = server.Execute(ctx, request)
		return err
	}
	if kind == ast.Query {
		err = server.Retry(ctx, execute)
	} else {
		err = execute() // a repeated mutation could take effect twice
	}
	// A response that is not JSON does not come from a gateway, and err reports that.
	if text := bytes.TrimSpace(whole); json.Valid(text) {
		if cli.IsTerminal(cmd.OutOrStdout()) {
			var indented bytes.Buffer
			_ = json.Indent(&indented, text, "", "  ")
			text = indented.Bytes()
		}
		if _, err := fmt.Fprintf(cli.JSONWriter(cmd.OutOrStdout()), "%s\n", text); err != nil {
			return err
		}
	}
	return client.ExitWith(ctx, err)
}

// request reads the document and its variables, and returns the kind of the operation.
func (c *queryCommand) request(in io.Reader) (client.Request, ast.Operation, error) {
	if c.File == "-" && c.Variables == "-" {
		return client.Request{}, "", errors.New("the document and --variables cannot both be standard input: pass one " +
			"of them as a file")
	}
	text, err := c.document(in)
	if err != nil {
		return client.Request{}, "", fmt.Errorf("read the document: %w", err)
	}
	name := c.File
	if c.isInline() {
		name = "document"
	}
	if strings.TrimSpace(string(text)) == "" {
		return client.Request{}, "", errors.New("the document is empty")
	}
	document, err := parser.ParseQuery(&ast.Source{Name: name, Input: string(text)})
	if err != nil {
		return client.Request{}, "", fmt.Errorf("the document is not GraphQL: %w", err)
	}
	if len(document.Operations) == 0 {
		return client.Request{}, "", errors.New("the document has no query, mutation or subscription")
	}
	operation := document.Operations.ForName(c.Operation)
	if operation == nil {
		var names []string
		for _, operation := range document.Operations {
			names = append(names, operation.Name)
		}
		return client.Request{}, "", fmt.Errorf("--operation must name one of the document's operations: %s",
			strings.Join(names, ", "))
	}
	request := client.Request{Query: string(text), OperationName: c.Operation, Variables: client.Variables{}}
	if c.Variables != "" {
		text, err := readText(c.Variables, in)
		if err != nil {
			return client.Request{}, "", fmt.Errorf("--variables: %w", err)
		}
		if err := json.Unmarshal(text, &request.Variables); err != nil {
			return client.Request{}, "", errors.New("--variables must name a file that contains a JSON object")
		}
		if request.Variables == nil { // the file contains null
			request.Variables = client.Variables{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Var)) {
		declared := operation.VariableDefinitions.ForName(strings.TrimPrefix(name, "$"))
		if declared == nil {
			return client.Request{}, "", fmt.Errorf("--var: the operation has no variable $%s", strings.TrimPrefix(name, "$"))
		}
		if !utf8.ValidString(c.Var[name]) {
			return client.Request{}, "", fmt.Errorf("--var: the value of $%s is not UTF-8", declared.Variable)
		}
		request.Variables[declared.Variable] = valueOf(declared.Type, c.Var[name])
	}
	return request, operation.Operation, nil
}

// isInline reports whether the argument is the document itself. File names do not contain braces.
func (c *queryCommand) isInline() bool {
	return strings.Contains(c.File, "{") || strings.TrimSpace(c.File) == ""
}

func (c *queryCommand) document(in io.Reader) ([]byte, error) {
	if _, err := os.Stat(c.File); err == nil || !c.isInline() {
		return readText(c.File, in)
	}
	return cli.DecodeText([]byte(c.File))
}

// readText reads a text from a file, or from standard input for "-".
func readText(path string, in io.Reader) ([]byte, error) {
	if path != "-" {
		return cli.ReadFile(path)
	}
	content, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	return cli.DecodeText(content)
}

// valueOf returns the value of a variable. It is text for String and ID; for other types the text is parsed as JSON.
// Text that is not JSON is returned unchanged, as for enum values.
func valueOf(declared *ast.Type, text string) any {
	if declared.NamedType == "String" || declared.NamedType == "ID" || !json.Valid([]byte(text)) {
		return text
	}
	return json.RawMessage(text)
}

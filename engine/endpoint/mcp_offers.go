package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/model/ordered"
)

// maxOfferBytes bounds the list of an MCP server's tools, with their schemas, in bytes.
const maxOfferBytes = 1 << 20

// offers returns the tools that the server lists. A tool that agents cannot use has a fault.
func (s *mcpSession) offers(ctx context.Context) ([]model.McpOffer, error) {
	var listed []json.RawMessage
	size, cursors := 0, map[string]bool{}
	for params := (&mcp.ListToolsParams{}); ; {
		page, err := s.ListTools(ctx, params)
		if err != nil {
			return nil, s.failureOf(ctx, err)
		}
		tools := s.takeListed()
		if tools == nil {
			return nil, s.newError(Malformed, nil, "the MCP server answered without a list of tools")
		}
		for _, tool := range tools {
			listed, size = append(listed, tool), size+len(tool)
		}
		switch params.Cursor = page.NextCursor; {
		case len(listed) > model.MaxOffers:
			return nil, s.newError(TooLarge, nil, "the MCP server offers more than %d tools", model.MaxOffers)
		case size > maxOfferBytes:
			return nil, s.newError(TooLarge, nil, "the MCP server offers tools of more than %d bytes", maxOfferBytes)
		case params.Cursor == "":
			return s.offersOf(listed), nil
		case cursors[params.Cursor]:
			return nil, s.newError(Malformed, nil, "the MCP server's list of tools does not end: a nextCursor occurs twice")
		}
		cursors[params.Cursor] = true
	}
}

// offersOf reads tools. Tools with usable names come first, so that a tool with an altered name cannot replace them.
func (s *mcpSession) offersOf(listed []json.RawMessage) []model.McpOffer {
	usable, odd, count := []model.McpOffer{}, []model.McpOffer{}, map[string]int{}
	for i, text := range listed {
		offer, isNamed := s.newOffer(text, i+1)
		if isNamed {
			count[offer.Name]++
			usable = append(usable, offer)
		} else {
			odd = append(odd, offer)
		}
	}
	known, offers := map[string]bool{}, []model.McpOffer{}
	for _, offer := range append(usable, odd...) {
		if count[offer.Name] > 1 {
			offer.Parameters, offer.Fault = nil, new("the server offers several tools with this name")
		}
		if !known[offer.Name] {
			known[offer.Name] = true
			offers = append(offers, offer)
		}
	}
	return offers
}

// newOffer reads a tool, the nth of the list. It returns false if the tool's name cannot be used. The offer then has a
// similar name and a fault.
func (s *mcpSession) newOffer(text json.RawMessage, nth int) (offer model.McpOffer, isNamed bool) {
	var given struct {
		Name, Description any
		InputSchema       json.RawMessage
	}
	_ = json.Unmarshal(text, &given) // anything but an object has no name
	// Decoding repairs what Postgres cannot store, such as invalid UTF-8. The model gets the parameters in their order.
	schema, _ := ordered.Decode(given.InputSchema, ordered.AsSpelled)
	name, _ := given.Name.(string)
	description, isText := given.Description.(string)
	offer = model.NewMcpOffer(name, s.secrets.redact(content.Clean(description)),
		[]byte(content.Encode(s.redactSchema("", schema))))
	if given.Description != nil && !isText {
		offer.Fault = new("its description is not a text")
	}
	switch {
	case name == "":
		offer.Name, offer.Fault = fmt.Sprintf("(tool %d)", nth), new("it has no name")
	case utf8.RuneCountInString(name) > model.MaxOfferName:
		offer.Name = string([]rune(name)[:model.MaxOfferName-1]) + "…"
		offer.Fault = new(fmt.Sprintf("its name has more than %d characters", model.MaxOfferName))
	case strings.ContainsFunc(name, unicode.IsControl) || content.Clean(name) != name:
		offer.Name = strings.Map(visible, content.Clean(name))
		offer.Fault = new("its name has control characters")
	default:
		isNamed = true
	}
	if offer.Fault != nil {
		offer.Parameters = nil
	}
	return offer, isNamed
}

// structural are keywords of JSON Schema whose texts are part of the schema's structure. Another text in their place
// would make the schema refuse the right arguments.
var structural = []string{"type", "enum", "const", "required", "dependentRequired", "dependencies", "format", "pattern",
	"$ref", "$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "contentEncoding", "contentMediaType"}

// samples are keywords of JSON Schema whose values are data. named are those whose members have names, not keywords.
var (
	samples = []string{"default", "examples", "enum", "const"}
	named   = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// redactSchema replaces the secrets in the texts of a schema. keyword is the keyword of value.
func (s *mcpSession) redactSchema(keyword string, value any) any {
	switch v := value.(type) {
	case string:
		if !slices.Contains(structural, keyword) {
			return s.secrets.redact(v)
		}
	case []any:
		for i := range v {
			v[i] = s.redactSchema(keyword, v[i])
		}
	case ordered.Object:
		for i, m := range v {
			of := m.Name
			_, isList := m.Value.([]any)
			switch {
			case slices.Contains(samples, keyword),
				isList && (keyword == "dependentRequired" || keyword == "dependencies"): // the list names properties
				of = keyword
			case slices.Contains(named, keyword):
				of = ""
			}
			v[i].Value = s.redactSchema(of, m.Value)
		}
	}
	return value
}

func visible(r rune) rune {
	if unicode.IsControl(r) {
		return unicode.ReplacementChar
	}
	return r
}

// takeListed returns the tools of the pages that have arrived since the last call. It returns nil if no page has a
// list.
func (s *mcpSession) takeListed() []json.RawMessage {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	taken := s.listed
	s.listed = nil
	return taken
}

// noteListChanged reads a notification that the list of tools changed. A handler of the MCP client could run after the
// call, and would make the client open a stream for each session.
func (s *mcpSession) noteListChanged(message []byte) {
	var sent struct{ Method string }
	if bytes.Contains(message, []byte("list_changed")) && json.Unmarshal(message, &sent) == nil &&
		sent.Method == "notifications/tools/list_changed" {
		s.isListChanged.Store(true)
	}
}

// rewrite returns a message as the MCP client reads it. The tools of a list move to the session, because the client
// would refuse the whole list because of one invalid tool. Structured content becomes a string with its JSON, because
// the client would round its numbers.
func (s *mcpSession) rewrite(message []byte) []byte {
	s.noteListChanged(message)
	if !bytes.Contains(message, []byte(`"tools"`)) && !bytes.Contains(message, []byte(`"structuredContent"`)) {
		return message
	}
	var whole, result map[string]json.RawMessage
	if json.Unmarshal(message, &whole) != nil || json.Unmarshal(whole["result"], &result) != nil {
		return message
	}
	var tools []json.RawMessage
	if json.Unmarshal(result["tools"], &tools) == nil {
		s.mutex.Lock()
		s.listed = append(s.listed, tools...)
		if s.listed == nil {
			s.listed = []json.RawMessage{}
		}
		s.mutex.Unlock()
		result["tools"] = json.RawMessage("[]")
	}
	var structured bytes.Buffer
	if given := result["structuredContent"]; len(given) > 0 && string(given) != "null" {
		_ = json.Compact(&structured, given) // came from JSON
		result["structuredContent"], _ = json.Marshal(structured.String())
	}
	whole["result"], _ = json.Marshal(result) // came from JSON
	text, _ := json.Marshal(whole)
	return text
}

// rewrittenBody rewrites the messages of a response with rewrite.
type rewrittenBody struct {
	io.ReadCloser
	session *mcpSession
	// lines reads a stream of events. It is nil if the body is one message.
	lines *bufio.Reader
	// data has the data of the current event so far, as one line. rest has the bytes that Read has not returned yet.
	data, rest []byte
	err        error
}

func (b *rewrittenBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		if b.lines == nil {
			b.rest, b.err = io.ReadAll(b.ReadCloser)
			if b.rest = b.session.rewrite(b.rest); b.err == nil {
				b.err = io.EOF
			}
			continue
		}
		b.rest, b.err = b.lines.ReadBytes('\n')
		data, isData := bytes.CutPrefix(b.rest, []byte("data:"))
		if isData {
			b.data, b.rest = append(append(b.data, ' '), bytes.TrimSpace(data)...), nil
		}
		if isEnd := !isData && len(bytes.TrimSpace(b.rest)) == 0; len(b.data) > 0 && (isEnd || b.err != nil) {
			b.rest = slices.Concat([]byte("data:"), b.session.rewrite(b.data), []byte("\n"), b.rest)
			b.data = nil
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	if n == 0 && len(p) > 0 {
		return 0, b.err
	}
	return n, nil
}

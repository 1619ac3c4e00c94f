package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"
	"golang.org/x/net/http/httpguts"
)

// MaxConnections is the maximum number of tools, and of sub-agents, of one agent.
const MaxConnections = 128

// MaxToolTimeout is the longest that a tool call may wait for the response.
const MaxToolTimeout = time.Minute

// maxHeaders is the maximum number of headers of a tool's endpoint.
const maxHeaders = 20

// Tool is something that an agent can call.
type Tool struct {
	bun.BaseModel `bun:"table:tools,alias:tool"`
	Owned

	ID            string `bun:",pk"`
	Name          string
	TechnicalName string
	Description   string
	// Parameters is a JSON Schema of type object.
	Parameters JSONObject `bun:"type:json"`
	// At most one of Endpoint and McpServerID is set.
	Endpoint    *ToolEndpoint `bun:"type:jsonb"`
	McpServerID *string
	// McpName is set together with McpServerID.
	McpName *string
	// MissingSince is set while the MCP server does not offer the tool.
	MissingSince *time.Time
	Approval     ToolApproval
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// CanBeCalled reports whether there is something to call.
func (t *Tool) CanBeCalled() bool {
	return t.Endpoint != nil || t.McpServerID != nil && t.MissingSince == nil
}

// ToolEndpoint is the HTTP endpoint behind a tool.
type ToolEndpoint struct {
	Method HTTPMethod `json:"method"`
	URL    string     `json:"url"`
	// HeaderNames are the sorted names of the headers. SealedHeaders has their encrypted values.
	HeaderNames    []string `json:"headerNames"`
	SealedHeaders  []byte   `json:"sealedHeaders,omitempty"`
	TimeoutSeconds float64  `json:"timeoutSeconds"`
}

// Cursor returns the position of this object in a list of tools.
func (t *Tool) Cursor() Cursor { return Cursor{t.CreatedAt, t.ID} }

// Seal encrypts a secret that belongs to the row with the id.
type Seal func(id string, text []byte) ([]byte, error)

// NewTool returns the tool that the input describes as changes to an empty tool. seal encrypts header values.
func NewTool(in UpdateToolInput, now time.Time, seal Seal) (*Tool, error) {
	t := &Tool{ID: NewID("tool"), CreatedAt: now, Parameters: JSONObject(`{"type":"object","properties":{}}`),
		Approval: ToolApprovalAuto}
	return t, t.Update(in, now, seal)
}

// discardSecrets is the Seal of values that are only validated.
func discardSecrets(string, []byte) ([]byte, error) { return nil, nil }

// Validate returns BAD_INPUT with every bound that the input breaks. The input has no fields of an MCP server.
func (in CreateToolInput) Validate() error {
	_, err := NewTool(in.Changes(), time.Time{}, discardSecrets)
	return err
}

// Changes returns the input as changes to an empty tool.
func (in CreateToolInput) Changes() UpdateToolInput {
	return UpdateToolInput{
		Name: &in.Name, TechnicalName: &in.TechnicalName, Description: in.Description, Parameters: in.Parameters,
		Endpoint: in.Endpoint, McpServerID: in.McpServerID, McpName: in.McpName, Approval: in.Approval,
	}
}

// CheckMcp returns BAD_INPUT unless the fields of an MCP server are given together, and without the fields that they
// replace. before is the tool that the input changes, or nil.
func (in UpdateToolInput) CheckMcp(before *Tool) error {
	var faults Fields
	if (in.McpServerID == nil) != (in.McpName == nil) {
		faults.Add("mcpName", "must be given together with mcpServerId")
	}
	staysMcp := before != nil && before.McpServerID != nil && in.Endpoint == nil
	if in.Parameters != nil && (in.McpServerID != nil || staysMcp) {
		faults.Add("parameters", "must not be given, because they come from the MCP server")
	}
	if in.McpServerID != nil && in.Endpoint != nil {
		faults.Add("mcpServerId", "must not be given together with endpoint")
	}
	return faults.Err()
}

// Update applies all fields that the input sets. It returns BAD_INPUT with every fault when the tool would break a
// bound. seal encrypts header values.
func (t *Tool) Update(in UpdateToolInput, now time.Time, seal Seal) error {
	defer touch(&t.UpdatedAt, NextUpdatedAt(t.UpdatedAt, now), t, *t)
	setIfGiven(&t.Name, in.Name)
	checkName := (*Fields).technicalName
	if in.TechnicalName != nil && *in.TechnicalName != t.TechnicalName {
		t.TechnicalName, checkName = *in.TechnicalName, (*Fields).newTechnicalName
	}
	setIfGiven(&t.Description, in.Description)
	setIfGiven(&t.Approval, in.Approval)
	if in.Parameters != nil {
		t.Parameters = in.Parameters
	}

	var faults Fields
	faults.name("name", t.Name, 255)
	checkName(&faults, "technicalName", t.TechnicalName)
	faults.text("description", t.Description, 0, maxDefinition)
	faults.schema("parameters", t.Parameters)
	var headers map[string]string
	if in.Endpoint != nil {
		headers = faults.endpoint("endpoint", in.Endpoint)
	}
	if in.RemoveEndpoint && in.Endpoint != nil {
		faults.Add("removeEndpoint", "must not be given together with endpoint")
	} else if in.RemoveEndpoint || in.McpServerID != nil {
		t.Endpoint = nil
	}
	if in.McpServerID != nil || in.Endpoint != nil {
		t.McpServerID, t.McpName, t.MissingSince = in.McpServerID, in.McpName, nil
	}
	if err := faults.Err(); err != nil || in.Endpoint == nil {
		return err
	}
	endpoint, err := NewToolEndpoint(t.ID, t.Endpoint, in.Endpoint, headers, seal)
	if err == nil {
		t.Endpoint = endpoint
	}
	return err
}

// NewToolEndpoint returns the new endpoint of the row with the id. before is the current endpoint, or nil. headers are
// the headers of the input, which must be valid. It returns BAD_INPUT when the origin changes, and the input has no
// headers but the current endpoint has some.
func NewToolEndpoint(id string, before *ToolEndpoint, in *ToolEndpointInput, headers map[string]string,
	seal Seal) (*ToolEndpoint, error) {
	endpoint := &ToolEndpoint{Method: in.Method, URL: in.URL, TimeoutSeconds: in.TimeoutSeconds, HeaderNames: []string{}}
	if before != nil {
		endpoint.HeaderNames, endpoint.SealedHeaders = before.HeaderNames, before.SealedHeaders
	}
	if in.Headers == nil && len(endpoint.SealedHeaders) > 0 && originOf(in.URL) != originOf(before.URL) {
		var faults Fields
		faults.Add("endpoint.headers", "must be given again: headers are secrets, and those of the old address are not "+
			"sent to a new one")
		return nil, faults.Err()
	}
	if in.Headers != nil {
		endpoint.HeaderNames, endpoint.SealedHeaders = slices.Sorted(maps.Keys(headers)), nil
		if len(headers) > 0 {
			text, err := json.Marshal(headers)
			if err != nil {
				return nil, err
			}
			if endpoint.SealedHeaders, err = seal(id, text); err != nil {
				return nil, err
			}
		}
	}
	return endpoint, nil
}

// originOf returns the origin of an address, which is already validated.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// schema records a fault if the object is not a JSON Schema of type object.
func (f *Fields) schema(path string, object JSONObject) {
	if utf8.RuneCount(object) > 20_000 {
		f.Add(path, "must have at most 20,000 characters")
		return
	}
	if _, err := NewToolSchema(string(object.text())); err != nil {
		f.Add(path, "%s", err.Error())
	}
}

// IsReservedHeader reports whether a header belongs to the connection or the framing of a message. Endpoints cannot set
// such headers.
func IsReservedHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Expect", "Host", "Keep-Alive",
		"Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// endpoint records the faults of an endpoint and returns its headers.
func (f *Fields) endpoint(path string, in *ToolEndpointInput) map[string]string {
	f.text(path+".url", in.URL, 1, 2_000)
	scheme, rest, _ := strings.Cut(in.URL, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if u, err := url.Parse(in.URL); rest != "" && strings.Contains(scheme+authority, "{") {
		f.Add(path+".url", "must have placeholders only in its path and query")
	} else if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		f.Add(path+".url", "must be an absolute http or https address without credentials")
	}
	f.number(path+".timeoutSeconds", &in.TimeoutSeconds, 0.1, MaxToolTimeout.Seconds())
	if !in.Method.IsValid() {
		f.Add(path+".method", "must be one of GET, POST, PUT, PATCH, DELETE")
	}
	if in.Headers == nil {
		return nil
	}
	headers, err := variables(in.Headers)
	if err != nil {
		f.Add(path+".headers", "must map header names to strings")
		return nil
	}
	if !f.list(path+".headers", len(headers), maxHeaders) {
		return nil
	}
	seen := map[string]bool{}
	for name, value := range headers {
		canonical := http.CanonicalHeaderKey(name)
		if seen[canonical] {
			f.Add(path+".headers."+canonical, "must occur only once, ignoring case")
		}
		seen[canonical] = true
		if IsReservedHeader(name) {
			f.Add(path+".headers."+canonical, "must not be given, because agentgraph sets it in every call")
		}
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || len(value) > 4_000 {
			f.Add(fmt.Sprintf("%s.headers.%s", path, http.CanonicalHeaderKey(name)),
				"must be a valid HTTP header of at most 4,000 characters")
		}
	}
	return headers
}

package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

const (
	// MaxMcpServers is the maximum number of MCP servers of a company.
	MaxMcpServers = 20
	// MaxOffers is the maximum number of tools that an MCP server may offer.
	MaxOffers = 1_000
	// MaxOfferName bounds the name of an offer, in characters.
	MaxOfferName = 200
)

// McpServer is a server whose tools agents can call over the Model Context Protocol.
type McpServer struct {
	bun.BaseModel `bun:"table:mcp_servers,alias:mcp_server"`
	Owned

	ID   string `bun:",pk"`
	Name string
	// Endpoint has the address without placeholders. Its method is POST.
	Endpoint *ToolEndpoint `bun:"type:jsonb"`
	// Offers are what the server offered at RefreshedAt, by name.
	Offers       []McpOffer `bun:"type:json"`
	RefreshedAt  *time.Time
	RefreshError *string
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// McpOffer is a tool that an MCP server offers.
type McpOffer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is a schema that a Tool can have. It is empty if Fault says why there is none.
	Parameters JSONObject `json:"parameters,omitempty"`
	Fault      *string    `json:"fault,omitempty"`
}

// Cursor returns the position of this object among the company's servers.
func (s *McpServer) Cursor() Cursor { return Cursor{s.CreatedAt, s.ID} }

// NewMcpServer returns the server that the input describes, without offers.
func NewMcpServer(in CreateMcpServerInput, now time.Time, seal Seal) (*McpServer, error) {
	s := &McpServer{ID: NewID("mcp"), CreatedAt: now, Offers: []McpOffer{}}
	return s, s.Update(UpdateMcpServerInput{Name: &in.Name, Endpoint: in.Endpoint}, now, seal)
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in CreateMcpServerInput) Validate() error {
	_, err := NewMcpServer(in, time.Time{}, discardSecrets)
	return err
}

// Update applies all fields that the input sets. It returns BAD_INPUT with every fault when the server would break a
// bound. seal encrypts header values.
func (s *McpServer) Update(in UpdateMcpServerInput, now time.Time, seal Seal) error {
	defer touch(&s.UpdatedAt, NextUpdatedAt(s.UpdatedAt, now), s, *s)
	setIfGiven(&s.Name, in.Name)
	var faults Fields
	faults.name("name", s.Name, 255)
	var headers map[string]string
	if in.Endpoint != nil {
		headers = faults.endpoint("endpoint", in.Endpoint)
		if strings.ContainsAny(in.Endpoint.URL, "{}") {
			faults.Add("endpoint.url", "must have no placeholders")
		}
		for name := range headers {
			if IsProtocolHeader(name) {
				faults.Add("endpoint.headers."+http.CanonicalHeaderKey(name), "must not be given, because the protocol sets it")
			}
		}
		if in.Endpoint.Method != HTTPMethodPost {
			faults.Add("endpoint.method", "must be POST")
		}
	}
	if err := faults.Err(); err != nil || in.Endpoint == nil {
		return err
	}
	endpoint, err := NewToolEndpoint(s.ID, s.Endpoint, in.Endpoint, headers, seal)
	if err == nil {
		s.Endpoint = endpoint
	}
	return err
}

// IsProtocolHeader reports whether the Model Context Protocol sets a header in calls of an MCP server.
func IsProtocolHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Content-Type", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id":
		return true
	}
	return false
}

// NewMcpOffer returns an offer with the bounds of a tool. The parameters are a JSON Schema.
func NewMcpOffer(name, description string, parameters []byte) McpOffer {
	var faults Fields
	offer := McpOffer{Name: name, Description: clip(description, maxDefinition)}
	if faults.schema("parameters", parameters); len(faults) == 0 {
		offer.Parameters = parameters
		return offer
	}
	offer.Fault = new("its parameters " + faults["parameters"][0])
	return offer
}

// clip returns at most the first characters of a text.
func clip(text string, limit int) string {
	if characters := []rune(text); len(characters) > limit {
		return string(characters[:limit])
	}
	return text
}

// Offer returns the offer with the name, or nil.
func (s *McpServer) Offer(name string) *McpOffer {
	for i := range s.Offers {
		if s.Offers[i].Name == name {
			return &s.Offers[i]
		}
	}
	return nil
}

// Fill sets a new tool's parameters to the parameters of the server's offer, and its description unless the input has
// one. It returns BAD_INPUT when the server does not have the offer, or when no tool can use it.
func (s *McpServer) Fill(in *UpdateToolInput) error {
	var faults Fields
	offer := s.Offer(*in.McpName)
	switch {
	case offer == nil:
		faults.Add("mcpName", "must be the name of a tool that the server offers, not %q%s", *in.McpName,
			s.near(*in.McpName))
		if s.RefreshError != nil {
			faults.Add("mcpServerId", "its tools could not be read: %s", *s.RefreshError)
		}
	case offer.Fault != nil:
		faults.Add("mcpName", "is a tool that agents cannot use: %s", *offer.Fault)
	default:
		in.Parameters = offer.Parameters
		in.Description = cmp.Or(in.Description, &offer.Description)
	}
	return faults.Err()
}

// maxNear is the maximum number of names that an error suggests.
const maxNear = 5

// near returns the names of the offers that begin most like the name, ignoring case, as the end of an error.
func (s *McpServer) near(name string) string {
	var names []string
	for _, offer := range s.Offers {
		if offer.Fault == nil {
			names = append(names, strconv.Quote(offer.Name))
		}
	}
	common := func(other string) (length int) {
		a, b := strings.ToLower(strconv.Quote(name)), strings.ToLower(other)
		for length < min(len(a), len(b)) && a[length] == b[length] {
			length++
		}
		return length
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(common(b), common(a)) })
	if len(names) == 0 {
		return ""
	}
	return "; it offers " + strings.Join(names[:min(maxNear, len(names))], ", ")
}

// Refresh takes new offers, or the reason why there are none. tools are the tools that use the server's offers. It
// returns the differences, and the tools that it changed.
func (s *McpServer) Refresh(offers []McpOffer, failure *string, tools []*Tool,
	now time.Time) (changes []*McpChange, changed []*Tool) {
	if s.RefreshError = failure; failure != nil {
		return nil, nil
	}
	before := *s
	s.Offers, s.RefreshedAt = append([]McpOffer{}, offers...), &now
	slices.SortFunc(s.Offers, func(a, b McpOffer) int { return strings.Compare(a.Name, b.Name) })
	names := MapOf(slices.Concat(before.Offers, s.Offers), func(offer McpOffer) (string, bool) { return offer.Name, true })
	for _, name := range slices.Sorted(maps.Keys(names)) {
		change := &McpChange{Name: name, Kind: McpChangeKindChanged, ToolIds: []string{}}
		old, current := before.Offer(name), s.Offer(name)
		switch {
		case old == nil:
			change.Kind = McpChangeKindAdded
		case current == nil:
			change.Kind = McpChangeKindRemoved
		}
		for _, tool := range tools {
			if *tool.McpName == name {
				if change.ToolIds = append(change.ToolIds, tool.ID); tool.follow(old, current, now) {
					changed = append(changed, tool)
				}
			}
		}
		if !old.equal(current) {
			changes = append(changes, change)
		}
	}
	return changes, changed
}

func (o *McpOffer) equal(other *McpOffer) bool {
	a, _ := json.Marshal(o) // texts and JSON always marshal
	b, _ := json.Marshal(other)
	return isSameJSON(a, b)
}

// isSameJSON reports whether two JSON texts have the same values, whatever the order of members.
func isSameJSON(a, b []byte) bool {
	sorted := func(text []byte) string {
		var value any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		_ = decoder.Decode(&value)
		text, _ = json.Marshal(value)
		return string(text)
	}
	return string(a) == string(b) || sorted(a) == sorted(b)
}

// follow applies the change of the offer to the tool, and returns whether the tool changed. A tool that is no longer
// offered, or has become unusable, is marked as missing. When it is offered again, it keeps its description, because
// the earlier offer is no longer known.
func (t *Tool) follow(old, current *McpOffer, now time.Time) bool {
	before := *t
	switch {
	case current == nil || current.Fault != nil:
		if t.MissingSince == nil {
			t.MissingSince = &now
		}
	default:
		t.MissingSince = nil
		t.Parameters = current.Parameters
		if old != nil && t.Description == old.Description {
			t.Description = current.Description
		}
	}
	isChanged := t.MissingSince != before.MissingSince || t.Description != before.Description ||
		!isSameJSON(t.Parameters, before.Parameters)
	if isChanged {
		t.UpdatedAt = NextUpdatedAt(t.UpdatedAt, now)
	}
	return isChanged
}

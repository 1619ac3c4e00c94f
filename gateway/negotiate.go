package gateway

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	jsonType    = "application/json"
	graphqlType = "application/graphql-response+json"
	eventType   = "text/event-stream"
	partsType   = "multipart/mixed"
	sdlType     = "application/graphql"
	utf8Suffix  = "; charset=utf-8"
)

type accept struct {
	// single has the media type of a single response, or "" if none suits the client.
	single string
	// stream is set if the client names server-sent events, and first is set if it prefers them to a single response.
	stream, first bool
	// parts is set if the client names multipart/mixed with subscriptionSpec 1.0, as Apollo's clients do.
	parts bool
}

// isEmpty reports whether no media type of the gateway suits the client.
func (a accept) isEmpty() bool { return a.single == "" && !a.stream && !a.parts }

// errorType is the media type of errors. Errors are sent even to clients that accept none of the gateway's types.
func (a accept) errorType() string { return cmp.Or(a.single, jsonType) }

type mediaRange struct {
	name   string
	weight float64
	// spec is the parameter subscriptionSpec, or "".
	spec string
}

// preference ranks a media type for a client: by its weight, then by how exactly the client named it.
type preference struct {
	weight      float64
	specificity int
}

const exact = 3

func (p preference) over(q preference) bool {
	return cmp.Or(cmp.Compare(p.weight, q.weight), cmp.Compare(p.specificity, q.specificity)) > 0
}

// negotiate chooses among the gateway's media types. The default is application/json. A client gets
// application/graphql-response+json if it prefers that type, or if it names the type and ranks both equally.
func negotiate(h http.Header) accept {
	header := strings.Join(h.Values("Accept"), ",")
	if strings.TrimSpace(header) == "" {
		return accept{single: jsonType}
	}
	ranges := mediaRanges(header)
	plain, modern, events := prefer(ranges, jsonType), prefer(ranges, graphqlType), prefer(ranges, eventType)

	var a accept
	best := plain
	if plain.weight > 0 {
		a.single = jsonType
	}
	if modern.weight > 0 && (modern.over(plain) || modern == plain && modern.specificity == exact) {
		a.single, best = graphqlType, modern
	}
	a.stream = events.weight > 0 && events.specificity == exact
	a.parts = slices.ContainsFunc(ranges, func(r mediaRange) bool {
		return r.name == partsType && r.spec == "1.0" && r.weight > 0
	})
	if a.parts && a.single == "" && !a.stream {
		a.single = jsonType // for queries and mutations
	}
	a.first = a.stream && (a.single == "" || events.weight > best.weight)
	return a
}

// prefer returns the preference of the range that names the media type most exactly, as RFC 9110 requires.
func prefer(ranges []mediaRange, mediaType string) preference {
	family, _, _ := strings.Cut(mediaType, "/")
	var p preference
	for _, r := range ranges {
		specificity := 0
		switch r.name {
		case mediaType:
			specificity = exact
		case family + "/*":
			specificity = 2
		case "*/*":
			specificity = 1
		}
		if specificity > p.specificity {
			p = preference{weight: r.weight, specificity: specificity}
		}
	}
	return p
}

// mediaRanges parses an Accept header and skips malformed elements.
func mediaRanges(header string) []mediaRange {
	var ranges []mediaRange
	for element := range strings.SplitSeq(header, ",") {
		name, parameters, err := mime.ParseMediaType(element)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, found := parameters["q"]; found {
			if weight, err = strconv.ParseFloat(q, 64); err != nil || weight < 0 || weight > 1 {
				continue
			}
		}
		ranges = append(ranges, mediaRange{name: name, weight: weight, spec: parameters["subscriptionspec"]})
	}
	return ranges
}

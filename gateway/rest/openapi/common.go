package openapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

const (
	idempotencyKey = "Idempotency-Key"
	ifMatch        = "If-Match"
	ifNoneMatch    = "If-None-Match"
	about          = `Conversational agents: their prompts, tests, simulated chats, knowledge and campaigns. The GraphQL API at ` + "`/graphql`" + ` has
all of this and more, over the same resolvers.

- Paths, names of properties in bodies and names of parameters are matched ignoring case. Ids are not.
- Unknown parameters of the query string are refused. Unknown properties of a body are ignored, unless its description
  allows no others.
- In a body null means absent. The only exception is the folder of a changed test, where null means the root.
- Numbers in texts, values of enums in any case, and date-times without seconds or offset (UTC) are taken, as v1's server did.
- Every failure is problem details (RFC 9457) with a ` + "`code`" + `, the ` + "`traceId`" + ` of the log and, for faulty input, ` + "`errors`" + ` by the
  name of the property. Requests that are not valid HTTP are the exception: their response is plain text.`
)

// newDocument returns a document with the components that all routes share.
func newDocument() *openapi3.T {
	components := openapi3.NewComponents()
	components.SecuritySchemes = openapi3.SecuritySchemes{
		"ApiKey": {Value: &openapi3.SecurityScheme{
			Type: "apiKey", In: "header", Name: "X-Api-Key", Description: "A key of the company, with the scopes that the " +
				"operation names, or scopes that include them.",
		}},
		"AccessToken": {Value: &openapi3.SecurityScheme{Type: "http", Scheme: "bearer",
			Description: "An access token, which a key makes for a browser."}},
	}
	components.Parameters = openapi3.ParametersMap{
		idempotencyKey: {Value: openapi3.NewHeaderParameter(idempotencyKey).
			WithDescription("Names the request: retries with the same key and body get the first answer, and nothing is done " +
				"twice.").
			WithSchema(openapi3.NewStringSchema().WithMinLength(1).WithMaxLength(255))},
		ifMatch: {Value: openapi3.NewHeaderParameter(ifMatch).WithSchema(openapi3.NewStringSchema()).
			WithDescription("The ETag that the change is based on. If the resource has changed since, nothing happens, and " +
				"the response is 412.")},
		ifNoneMatch: {Value: openapi3.NewHeaderParameter(ifNoneMatch).WithSchema(openapi3.NewStringSchema()).
			WithDescription("The ETag that the client has. If it is current, the response is 304, without a body.")},
	}
	components.Headers = openapi3.Headers{}
	for name := range headers {
		if name != "Deprecation" && name != "Sunset" { // only for deprecated routes
			components.Headers[name] = describeHeader(name)
		}
	}
	components.Schemas = openapi3.Schemas{"Problem": {Value: problemSchema()}}
	components.Responses = openapi3.ResponseBodies{}
	for status, meaning := range problems {
		components.Responses[problemName(status)] = &openapi3.ResponseRef{Value: problemResponse(status, meaning)}
	}
	return &openapi3.T{
		OpenAPI: "3.1.0",
		Info: &openapi3.Info{
			Title: "agentgraph REST", Version: "v1", Description: about,
			License: &openapi3.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		// The URL is relative to the document, since a proxy may have removed a prefix from the path.
		Servers:    openapi3.Servers{{URL: "."}},
		Paths:      openapi3.NewPaths(),
		Components: &components,
	}
}

var headers = map[string]struct {
	description string
	schema      openapi3.Schema
}{
	"X-Api-Version": {"The version that answers.", openapi3.Schema{Type: &openapi3.Types{"string"},
		Enum: []any{"v1"}}},
	"X-Trace-Id": {"Names the request in the log.", openapi3.Schema{Type: &openapi3.Types{"string"},
		Pattern: "^[0-9a-f]{32}$"}},
	"RateLimit-Limit": {"The requests that the key may make per minute, if there is a limit.",
		openapi3.Schema{Type: &openapi3.Types{"integer"}}},
	"RateLimit-Remaining": {"How many are left.", openapi3.Schema{Type: &openapi3.Types{"integer"}}},
	"RateLimit-Reset": {"Seconds until the full limit is available " +
		"again.", openapi3.Schema{Type: &openapi3.Types{"integer"}}},
	"Retry-After":      {"Seconds to wait before the next attempt.", openapi3.Schema{Type: &openapi3.Types{"integer"}}},
	"WWW-Authenticate": {"The credential that is needed.", openapi3.Schema{Type: &openapi3.Types{"string"}}},
	"ETag":             {"Changes whenever the body changes.", openapi3.Schema{Type: &openapi3.Types{"string"}}},
	"Location":         {"The path of the created resource.", openapi3.Schema{Type: &openapi3.Types{"string"}}},
	"Idempotent-Replayed": {"`true` on the repeated answer to a retry.", openapi3.Schema{Type: &openapi3.Types{"string"},
		Enum: []any{"true"}}},
	"Deprecation": {"Since when the operation, or a part of its answer, is deprecated (RFC 9745).",
		openapi3.Schema{Type: &openapi3.Types{"string"}}},
	"Sunset": {"When it will be removed (RFC 8594).", openapi3.Schema{Type: &openapi3.Types{"string"}}},
}

func describeHeader(name string) *openapi3.HeaderRef {
	h := headers[name]
	return &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{
		Description: h.description, Schema: &openapi3.SchemaRef{Value: &h.schema},
	}}}
}

// answerHeaders refers to the headers that any response to a request with a credential may have.
func answerHeaders(more ...string) openapi3.Headers {
	of := openapi3.Headers{}
	for _, name := range append([]string{"X-Api-Version", "X-Trace-Id", "RateLimit-Limit", "RateLimit-Remaining",
		"RateLimit-Reset"}, more...) {
		of[name] = &openapi3.HeaderRef{Ref: "#/components/headers/" + name}
	}
	return of
}

// problems maps the statuses of failures to their meaning.
var problems = map[int]string{
	http.StatusBadRequest: "The request is invalid, such as with a property out of range " +
		"or an unknown parameter.",
	http.StatusUnauthorized:          "The credential is missing or invalid.",
	http.StatusForbidden:             "The credential does not have the scope.",
	http.StatusNotFound:              "The requested resource does not exist for the company.",
	http.StatusNotAcceptable:         "The Accept header excludes JSON.",
	http.StatusConflict:              "The resource's state does not allow the request now.",
	http.StatusPreconditionFailed:    "It was changed since the ETag in If-Match was read.",
	http.StatusRequestEntityTooLarge: "The body is too large.",
	http.StatusUnsupportedMediaType:  "The body has an unsupported content type.",
	http.StatusUnprocessableEntity:   "Well formed, but in conflict with stored data or the company's budget.",
	http.StatusTooManyRequests:       "Too many requests in the current minute.",
	http.StatusInternalServerError:   "A fault of the server. Its log has the cause, under the trace id.",
	http.StatusBadGateway:            "A language model or a tool behind the server failed.",
	http.StatusServiceUnavailable:    "The server cannot answer now. Trying again later is safe.",
}

// problemName returns the name of a status's component, such as NotFound.
func problemName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

func problemResponse(status int, meaning string) *openapi3.Response {
	response := openapi3.NewResponse().WithDescription(meaning)
	switch status {
	case http.StatusUnauthorized:
		response.Headers = answerHeaders("WWW-Authenticate")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		response.Headers = answerHeaders("Retry-After")
	default:
		response.Headers = answerHeaders()
	}
	response.Content = openapi3.Content{"application/problem+json": &openapi3.MediaType{
		Schema: componentSchema("Problem")}}
	return response
}

func problemSchema() *openapi3.Schema {
	text := func(description string) *openapi3.Schema {
		s := openapi3.NewStringSchema()
		s.Description = description
		return s
	}
	status := openapi3.NewInt32Schema()
	status.Description = "The status of the response."
	for known := range problems {
		status.Enum = append(status.Enum, known)
	}
	slices.SortFunc(status.Enum, func(a, b any) int { return a.(int) - b.(int) })
	faults := openapi3.NewObjectSchema().WithAdditionalProperties(openapi3.NewArraySchema().
		WithItems(openapi3.NewStringSchema()))
	faults.Description = "What is wrong, by the path of the property or parameter: `toolMocking.mockedTools.0.toolId`."
	schema := openapi3.NewObjectSchema().
		WithProperty("type", text("A link to a general description of the kind of failure.")).
		WithProperty("title", text("The status in words.")).
		WithProperty("status", status).
		WithProperty("detail", text("What went wrong.")).
		WithProperty("instance", text("The path of the request.")).
		WithProperty("code", text("The error code, from the same fixed list as in GraphQL.")).
		WithProperty("traceId", text("Names the request in the log.")).
		WithProperty("errors", faults)
	schema.Description = "Problem details (RFC 9457)."
	schema.Required = []string{"type", "title", "status", "detail", "instance", "code", "traceId"}
	return schema
}

// securityOf requires an API key or an access token with the scopes.
func securityOf(scopes []string) *openapi3.SecurityRequirements {
	return openapi3.NewSecurityRequirements().
		With(openapi3.NewSecurityRequirement().Authenticate("ApiKey", scopes...)).
		With(openapi3.NewSecurityRequirement().Authenticate("AccessToken", scopes...))
}

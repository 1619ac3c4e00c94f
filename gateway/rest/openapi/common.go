package openapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/agentgraph/agentgraph/model"
)

const (
	idempotencyKey = "Idempotency-Key"
	ifMatch        = "If-Match"
	ifNoneMatch    = "If-None-Match"
	about          = `An API for conversational agents, their prompts, tests, simulated chats, knowledge and campaigns. The
GraphQL API at ` + "`/graphql`" + ` has all of this and more, with the same rules.

- Paths, names of properties in bodies and names of parameters are matched ignoring case. Ids are not.
- Unknown parameters of the query string are refused. Unknown properties of a body are ignored, unless the body's
  description says that they are refused.
- In a body null means absent. The only exception is the folder of a changed test, where null means the root.
- As on a v1 server, a number may be a string, an enum value may have any case, and a date-time may lack its seconds or
  its offset (then it is UTC). A text, such as a phone number, cannot be a JSON number.
- Lists are newest first. While rows are added, a row moves to a later page and can appear twice: ignore ids that you
  know. The cursors of the GraphQL API do not move.
- If an id does not exist, the status is 404, except for a ` + "`campaignId`" + `: as on a v1 server, it is 400 there.
- If a request creates a resource that has a path, the response has this path in the header ` + "`Location`" + `.
- Every error response has problem details (RFC 9457) with a ` + "`code`" + `, the ` + "`traceId`" + ` of the log and,
  for invalid input, ` + "`errors`" + ` by property. Only the response to a request that is not valid HTTP is plain text.`
)

// newDocument returns a document with the components that all routes share.
func newDocument() *openapi3.T {
	components := openapi3.NewComponents()
	components.SecuritySchemes = openapi3.SecuritySchemes{
		"ApiKey": {Value: &openapi3.SecurityScheme{
			Type: "apiKey", In: "header", Name: "X-Api-Key", Description: "An API key of the company. It needs the scopes " +
				"that the operation lists, or scopes that include them.",
		}},
		"AccessToken": {Value: &openapi3.SecurityScheme{Type: "http", Scheme: "bearer",
			Description: "An access token, which an API key creates for a browser."}},
	}
	components.Parameters = openapi3.ParametersMap{
		idempotencyKey: {Value: openapi3.NewHeaderParameter(idempotencyKey).
			WithDescription("Identifies the request. A retry with the same key and body gets the first response, and " +
				"nothing is done twice.").
			WithSchema(openapi3.NewStringSchema().WithMinLength(1).WithMaxLength(255))},
		ifMatch: {Value: openapi3.NewHeaderParameter(ifMatch).WithSchema(openapi3.NewStringSchema()).
			WithDescription("The ETag that the change is based on. If the resource was changed after that, the response is " +
				"412 and nothing is changed.")},
		ifNoneMatch: {Value: openapi3.NewHeaderParameter(ifNoneMatch).WithSchema(openapi3.NewStringSchema()).
			WithDescription("The ETag that the client has. If the resource still has this ETag, the response is 304, " +
				"without a body.")},
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
		// The URL is relative to the document, because a proxy might have removed a prefix from the path.
		Servers:    openapi3.Servers{{URL: "."}},
		Paths:      openapi3.NewPaths(),
		Components: &components,
	}
}

var headers = map[string]struct {
	description string
	schema      openapi3.Schema
}{
	"X-Api-Version": {"The version of the API that answered.", openapi3.Schema{Type: &openapi3.Types{"string"},
		Enum: []any{"v1"}}},
	"X-Trace-Id": {"Identifies the request in the log.", openapi3.Schema{Type: &openapi3.Types{"string"},
		Pattern: "^[0-9a-f]{32}$"}},
	"RateLimit-Limit": {"How many requests per minute the key may make, if there is a limit.",
		openapi3.Schema{Type: &openapi3.Types{"integer"}}},
	"RateLimit-Remaining": {"How many requests are left.", openapi3.Schema{Type: &openapi3.Types{"integer"}}},
	"RateLimit-Reset": {"Seconds until the full limit is available " +
		"again.", openapi3.Schema{Type: &openapi3.Types{"integer"}}},
	"Retry-After": {"Seconds to wait before the next attempt.", openapi3.Schema{Type: &openapi3.Types{"integer"}}},
	"WWW-Authenticate": {"The kind of credential that the request " +
		"needs.", openapi3.Schema{Type: &openapi3.Types{"string"}}},
	"ETag":     {"Changes whenever the body changes.", openapi3.Schema{Type: &openapi3.Types{"string"}}},
	"Location": {"The path of the created resource.", openapi3.Schema{Type: &openapi3.Types{"string"}}},
	"Idempotent-Replayed": {"`true` if the response repeats the first one, for a " +
		"retry.", openapi3.Schema{Type: &openapi3.Types{"string"},
		Enum: []any{"true"}}},
	"Deprecation": {"Since when the operation, or a part of its response, is deprecated (RFC 9745).",
		openapi3.Schema{Type: &openapi3.Types{"string"}}},
	"Sunset": {"When the deprecated operation or part will be removed (RFC " +
		"8594).", openapi3.Schema{Type: &openapi3.Types{"string"}}},
}

func describeHeader(name string) *openapi3.HeaderRef {
	h := headers[name]
	return &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{
		Description: h.description, Schema: &openapi3.SchemaRef{Value: &h.schema},
	}}}
}

// answerHeaders refers to the headers that any response to a request with a credential can have.
func answerHeaders(more ...string) openapi3.Headers {
	headers := openapi3.Headers{}
	for _, name := range append([]string{"X-Api-Version", "X-Trace-Id", "RateLimit-Limit", "RateLimit-Remaining",
		"RateLimit-Reset"}, more...) {
		headers[name] = &openapi3.HeaderRef{Ref: "#/components/headers/" + name}
	}
	return headers
}

// wrongMethod is the meaning of 405. It is a failure of a path, not of an operation.
const wrongMethod = "The path does not have this method. The header `Allow` lists the methods that it has."

// problems maps the statuses of operations' failures to their meaning.
var problems = map[int]string{
	http.StatusBadRequest: "The request is invalid. For example, a property is out of range or a parameter is " +
		"unknown.",
	http.StatusUnauthorized:          "The credential is missing or invalid.",
	http.StatusForbidden:             "The credential does not have the required scope.",
	http.StatusNotFound:              "The company has no such resource.",
	http.StatusNotAcceptable:         "The Accept header excludes JSON.",
	http.StatusRequestTimeout:        "The upload arrived too slowly.",
	http.StatusConflict:              "The resource's state does not allow the request now.",
	http.StatusPreconditionFailed:    "The resource was changed after the client read the ETag in If-Match.",
	http.StatusRequestEntityTooLarge: "The body is too large.",
	http.StatusUnsupportedMediaType:  "The body has an unsupported content type.",
	http.StatusUnprocessableEntity:   "The request is well formed, but contradicts stored data or the company's budget.",
	http.StatusTooManyRequests:       "Too many requests in the current minute.",
	http.StatusInternalServerError:   "The server failed. Its log has the cause, under the trace id.",
	http.StatusBadGateway:            "A language model or a tool behind the server failed.",
	http.StatusServiceUnavailable:    "The server cannot answer now. It is safe to try again later.",
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
	status.Enum = []any{http.StatusMethodNotAllowed}
	for known := range problems {
		status.Enum = append(status.Enum, known)
	}
	slices.SortFunc(status.Enum, func(a, b any) int { return a.(int) - b.(int) })
	faults := openapi3.NewObjectSchema().WithAdditionalProperties(openapi3.NewArraySchema().
		WithItems(openapi3.NewStringSchema()))
	faults.Description = "The errors, by the path of the property or parameter: `toolMocking.mockedTools.0.toolId`."
	schema := openapi3.NewObjectSchema().
		WithProperty("type", text("A link to a description of this kind of error.")).
		WithProperty("title", text("The name of the status.")).
		WithProperty("status", status).
		WithProperty("detail", text("What went wrong.")).
		WithProperty("instance", text("The path of the request.")).
		WithProperty("code", text("The error code, from the same fixed list as in GraphQL.")).
		WithProperty("traceId", text("Identifies the request in the log.")).
		WithProperty("errors", faults)
	schema.Description = "Problem details (RFC 9457)."
	schema.Required = []string{"type", "title", "status", "detail", "instance", "code", "traceId"}
	return schema
}

// securityOf requires an API key or an access token with the scopes.
func securityOf(scopes []model.APIKeyScope) *openapi3.SecurityRequirements {
	texts := model.Map(scopes, func(scope model.APIKeyScope) string { return string(scope) })
	return openapi3.NewSecurityRequirements().
		With(openapi3.NewSecurityRequirement().Authenticate("ApiKey", texts...)).
		With(openapi3.NewSecurityRequirement().Authenticate("AccessToken", texts...))
}

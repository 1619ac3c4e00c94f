package rest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// theDocument reads the document of the project's schema as a client does.
func theDocument(t testing.TB) *openapi3.T {
	t.Helper()
	written, err := Describe(theSchema(t))
	require.NoError(t, err)
	return reread(t, written)
}

func reread(t testing.TB, written *openapi3.T) *openapi3.T {
	t.Helper()
	text, err := json.Marshal(written)
	require.NoError(t, err)
	read, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	return read
}

func always(document *openapi3.T) func() (*openapi3.T, error) {
	return func() (*openapi3.T, error) { return document, nil }
}

func TestDocumentIsValidAndHasEveryRoute(t *testing.T) {
	t.Parallel()
	document := theDocument(t)
	require.NoError(t, document.Validate(t.Context()))
	require.Equal(t, "3.1.0", document.OpenAPI)
	for _, r := range routes {
		item := document.Paths.Value(r.path)
		require.NotNil(t, item, r.path)
		require.Equal(t, r.operation, item.GetOperation(r.method).OperationID)
	}
	for _, path := range []string{"/Consumption/export", "/AuditEvent/export"} {
		require.Contains(t, document.Paths.Value(path).Get.Responses.Value("200").Value.Content, "text/csv")
	}
	total := 0
	for _, chapter := range Chapters(document) {
		require.NotEmpty(t, chapter.Description, chapter.Name)
		for _, o := range chapter.Operations {
			total++
			require.NotEmpty(t, o.Description, o.OperationID)
			require.NotEmpty(t, Scopes(o.Operation), o.OperationID)
		}
	}
	require.Equal(t, len(routes)+2, total)
}

func TestDocumentSaysWhatTheSchemaSays(t *testing.T) {
	t.Parallel()
	document := theDocument(t)
	schema := func(path ...string) *openapi3.Schema {
		s := document.Components.Schemas[path[0]].Value
		for _, name := range path[1:] {
			require.Contains(t, s.Properties, name)
			s = s.Properties[name].Value
		}
		return s
	}
	prompt := schema("ReplacePromptBody", "prompt")
	require.EqualValues(t, 1, prompt.MinLength)
	require.EqualValues(t, 50_000, *prompt.MaxLength)
	turns := schema("CreateSimulationTestBody", "maxTurns")
	require.Equal(t, []float64{1, 30}, []float64{*turns.Min, *turns.Max})
	require.EqualValues(t, 10, turns.Default)
	criteria := schema("CreateSimulationTestBody", "criteria")
	require.EqualValues(t, 30, *criteria.MaxItems)
	require.EqualValues(t, 2_000, *criteria.Items.Value.MaxLength)
	require.False(t, criteria.Type.Includes("null"))
	require.True(t, schema("UpdateAgentTestBody", "criteria").Type.Includes("null"))
	require.Equal(t, []string{"agentId", "name", "scenario", "criteria"}, schema("CreateSimulationTestBody").Required)
	require.Equal(t, []any{}, schema("CreateSimulationTestBody", "conversationContext").Default)

	require.False(t, *schema("StartSimulationChatBody").AdditionalProperties.Has)
	require.False(t, *schema("MockedToolInput").AdditionalProperties.Has)
	require.NotContains(t, schema("MockedToolInput").Properties, "rules", "it is beyond v1")
	require.Nil(t, schema("CreateDatasetBody").AdditionalProperties.Has)

	require.Equal(t, []any{"Phone", "SMS", "Web", "WhatsApp"}, schema("Channel").Enum)
	require.True(t, schema("Agent", "knowledgeBaseChatId").Type.Includes("null"))
	require.False(t, schema("Agent", "prompt").Type.Includes("null"))
	require.Len(t, schema("AgentTest").OneOf, 2)
	require.Contains(t, schema("ListDatasetsResult").Required, "pageNumber")

	start := document.Paths.Value("/SimulationChat/start").Post
	require.NotNil(t, start.Responses.Value("502"))
	require.Equal(t, []string{"simulate"}, Scopes(start))
	require.Contains(t, document.Paths.Value("/Dataset").Post.Responses.Value("200").Value.Headers, "Location")
	require.Nil(t, document.Paths.Value("/Dataset").Post.Responses.Value("404"), "it names nothing that could be missing")
	require.Contains(t, document.Paths.Value("/Dataset/{datasetId}/document").Post.RequestBody.Value.Content, "multipart/form-data")
	require.NotNil(t, document.Paths.Value("/CampaignItem/{campaignId}").Get.Parameters.GetByInAndName("query", "runningStatus"))
}

// TestProblemsOfTheDocumentAreThoseOfResponses compares the two tables of statuses.
func TestProblemsOfTheDocumentAreThoseOfResponses(t *testing.T) {
	t.Parallel()
	for status := range problems {
		require.Contains(t, standards, status)
	}
	used := slices.Clone(anyFailure)
	for _, e := range theEndpoints(t) {
		used = append(used, e.failures()...)
	}
	for status := range problems {
		require.Contains(t, used, status, "no route answers with it")
	}
	for _, status := range used {
		require.Contains(t, problems, status)
	}
}

func theEndpoints(t *testing.T) []*endpoint {
	t.Helper()
	all, err := readStored(stored)
	require.NoError(t, err)
	endpoints, err := newEndpoints(theSchema(t), all, routes)
	require.NoError(t, err)
	return endpoints
}

func TestDocsLeadToWhatIsThere(t *testing.T) {
	t.Parallel()
	page, err := (&Transport{document: always(theDocument(t))}).Docs()
	require.NoError(t, err)
	text := string(page)
	ids := map[string]int{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		ids[id[1]]++
		require.Equal(t, 1, ids[id[1]], "two have the id %s", id[1])
	}
	for _, link := range regexp.MustCompile(`(?:href|src|url)[=(]"?([^")>]+)`).FindAllStringSubmatch(text, -1) {
		target, isHere := strings.CutPrefix(link[1], "#")
		if isHere {
			require.Contains(t, ids, target)
		} else {
			require.Contains(t, []string{"openapi.json", "data:,"}, link[1], "the page asks for something elsewhere")
		}
	}
	for _, r := range routes {
		require.Contains(t, ids, r.operation)
	}
	require.NotContains(t, text, "ZgotmplZ")
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, " style=", "the policy allows the style sheet alone")
}

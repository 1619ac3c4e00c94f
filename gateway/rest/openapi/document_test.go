package openapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/rest"
	"github.com/agentgraph/agentgraph/gateway/rest/openapi"
)

// theSchema parses the project's schema on each call, because validation modifies it.
func theSchema(t testing.TB) *ast.Schema {
	t.Helper()
	files, err := filepath.Glob("../../../schema/*.graphqls")
	require.NoError(t, err)
	var sources []*ast.Source
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sources = append(sources, &ast.Source{Name: file, Input: string(text)})
	}
	schema, err := gqlparser.LoadSchema(sources...)
	require.NoError(t, err)
	return schema
}

func theRoutes(t testing.TB, schema *ast.Schema) []rest.Route {
	t.Helper()
	routes, err := rest.Routes(schema)
	require.NoError(t, err)
	return routes
}

// theDocument reads the document of the project's schema as a client does.
func theDocument(t testing.TB) *openapi3.T {
	t.Helper()
	schema := theSchema(t)
	written, err := openapi.Describe(schema, theRoutes(t, schema), rest.Exports())
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

func TestDocumentIsValidAndHasEveryRoute(t *testing.T) {
	t.Parallel()
	document := theDocument(t)
	require.NoError(t, document.Validate(t.Context()))
	require.Equal(t, "3.1.0", document.OpenAPI)
	routes := theRoutes(t, theSchema(t))
	for _, r := range routes {
		item := document.Paths.Value(r.Path)
		require.NotNil(t, item, r.Path)
		require.Equal(t, r.Operation, item.GetOperation(r.Method).OperationID)
	}
	for _, path := range []string{"/Consumption/export", "/AuditEvent/export"} {
		require.Contains(t, document.Paths.Value(path).Get.Responses.Value("200").Value.Content, "text/csv")
	}
	total := 0
	for _, chapter := range openapi.Chapters(document) {
		require.NotEmpty(t, chapter.Description, chapter.Name)
		for _, o := range chapter.Operations {
			total++
			require.NotEmpty(t, o.Description, o.OperationID)
			require.NotEmpty(t, openapi.Scopes(o.Operation), o.OperationID)
		}
	}
	require.Equal(t, len(routes)+2, total)
}

func TestDocumentUsesTheSchemaDescriptions(t *testing.T) {
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
	require.Equal(t, []any{}, criteria.Default)
	weights := schema("CreateSimulationTestBody", "criteriaWeights")
	require.Equal(t, []float64{1, 100}, []float64{*weights.Items.Value.Min, *weights.Items.Value.Max})
	require.True(t, weights.Items.Value.Type.Includes("null"))
	require.True(t, schema("UpdateAgentTestBody", "contactSays").Items.Value.Type.Includes("null"))
	require.False(t, schema("UpdateKnowledgeBaseChatBody", "datasetIds").Items.Value.Type.Includes("null"))
	require.EqualValues(t, 50_000, *schema("MockedToolInput", "resultTemplate").MaxLength)
	require.EqualValues(t, 1, schema("ConnectAgentChatBody", "chatId").MinLength)
	require.True(t, schema("UpdateAgentTestBody", "criteria").Type.Includes("null"))
	require.Equal(t, []string{"agentId", "name", "scenario"}, schema("CreateSimulationTestBody").Required)
	require.Equal(t, []any{}, schema("CreateSimulationTestBody", "conversationContext").Default)

	require.False(t, *schema("StartSimulationChatBody").AdditionalProperties.Has)
	require.False(t, *schema("MockedToolInput").AdditionalProperties.Has)
	require.NotContains(t, schema("MockedToolInput").Properties, "rules", "v1 does not have it")
	require.Nil(t, schema("CreateDatasetBody").AdditionalProperties.Has)

	require.Equal(t, []any{"Phone", "SMS", "Web", "WhatsApp"}, schema("Channel").Enum)
	require.True(t, schema("Agent", "knowledgeBaseChatId").Type.Includes("null"))
	require.False(t, schema("Agent", "prompt").Type.Includes("null"))
	require.Equal(t, "double", schema("GetSubscriptionResult", "creditsUsed").Format)
	require.Equal(t, "double", schema("ChannelConsumption", "credits").Format)
	require.Len(t, schema("AgentTest").OneOf, 2)
	kinds := schema("AgentTest").Discriminator
	require.Equal(t, "kind", kinds.PropertyName)
	require.Equal(t, "#/components/schemas/SimulationTest", kinds.Mapping["Simulation"].Ref)
	require.Equal(t, "#/components/schemas/ClassificationTest", kinds.Mapping["Classification"].Ref)
	require.Equal(t, []any{"Simulation"}, schema("SimulationTest", "kind").Enum)
	require.Equal(t, []any{"Classification"}, schema("ClassificationTest", "kind").Enum)
	require.Contains(t, schema("ListDatasetsResult").Required, "pageNumber")

	start := document.Paths.Value("/SimulationChat/start").Post
	require.NotNil(t, start.Responses.Value("502"))
	require.Equal(t, []string{"simulate"}, openapi.Scopes(start))
	for path, status := range map[string]string{"/Dataset": "200", "/Dataset/{datasetId}/document": "200",
		"/AgentTest/simulation": "200", "/AgentTest/classification": "200", "/AgentTestFolder": "200",
		"/AgentTestExecution": "200", "/AgentTestExecution/{executionId}/retry": "202", "/SimulationChat/start": "200"} {
		require.Contains(t, document.Paths.Value(path).Post.Responses.Value(status).Value.Headers, "Location", path)
	}
	require.Nil(t, document.Paths.Value("/Dataset").Post.Responses.Value("404"), "it has no id that could be missing")
	require.Contains(t, document.Paths.Value("/Dataset/{datasetId}/document").Post.RequestBody.Value.Content,
		"multipart/form-data")
	require.NotNil(t, document.Paths.Value("/CampaignItem/{campaignId}").Get.Parameters.GetByInAndName("query",
		"runningStatus"))
}

func TestEveryProblemHasAnOperation(t *testing.T) {
	t.Parallel()
	document := theDocument(t)
	met := map[string]bool{"405": true} // the problem of a path, not of an operation
	for _, chapter := range openapi.Chapters(document) {
		for _, o := range chapter.Operations {
			for _, status := range openapi.Failures(o.Operation) {
				met[status] = true
			}
		}
	}
	for _, problem := range openapi.Problems(document) {
		require.Contains(t, met, strconv.Itoa(problem.Status))
	}
	require.Len(t, openapi.Problems(document), len(met))
	require.Len(t, document.Components.Schemas["Problem"].Value.Properties["status"].Value.Enum, len(met))
}

func TestOpenAPIMarksDeprecations(t *testing.T) {
	t.Parallel()
	schema := theSchema(t)
	routes := theRoutes(t, schema)
	deprecated := schema.Types["Agent"].Fields.ForName("tags")
	deprecated.Directives = append(deprecated.Directives, &ast.Directive{Name: "deprecated"})
	routes[0].IsDeprecated = true
	written, err := openapi.Describe(schema, routes, nil)
	require.NoError(t, err)
	document := reread(t, written)
	require.NoError(t, document.Validate(t.Context()))
	get := document.Paths.Value("/Agent/{agentId}").Get
	require.True(t, get.Deprecated)
	require.Contains(t, get.Responses.Value("200").Value.Headers, "Sunset")
	require.False(t, document.Paths.Value("/Dataset").Get.Deprecated)
	agent := document.Components.Schemas["Agent"].Value
	require.True(t, agent.Properties["tags"].Value.Deprecated)
	require.False(t, agent.Properties["prompt"].Value.Deprecated)
}

func TestScalarWithoutDescriptionIsAnError(t *testing.T) {
	t.Parallel()
	schema := theSchema(t)
	routes := theRoutes(t, schema)
	schema.Types["Agent"].Fields.ForName("prompt").Type.NamedType = "Upload"
	_, err := openapi.Describe(schema, routes, nil)
	require.ErrorContains(t, err, "the scalar Upload")
}

func TestDocsLoadOnlyTheirOwnFiles(t *testing.T) {
	t.Parallel()
	for _, link := range regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(string(rest.Docs), -1) {
		require.Contains(t, []string{"openapi.json", "data:,", "docs/docs.js", "docs/rapidoc.js",
			"https://github.com/agentgraph/agentgraph/blob/main/docs/reference/rest.md"}, link[1])
	}
	reference, err := os.ReadFile("../../../docs/reference/rest.md")
	require.NoError(t, err)
	require.Contains(t, string(reference), "\n| `file` | part of `multipart/form-data` | file | Text, Markdown,")
	require.NotContains(t, rest.DocsPolicy, "http")
	require.NotContains(t, rest.DocsPolicy, "unsafe-eval")
}

func TestEmbeddedDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(theDocument(t))
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(rest.OpenAPI), "run make generate")
}

package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestDatasetEchoesItsDefaults(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	defaults := model.ParserConfig{ChunkTokenNum: 512, LayoutRecognize: true, Delimiter: "\n", TaskPageSize: 12}
	custom := defaults
	custom.Delimiter, custom.LayoutRecognize = "\t;\\n\r'\"", false
	for _, c := range []struct {
		in   *model.ParserConfigInput
		want model.ParserConfig
	}{
		{nil, defaults},
		{&model.ParserConfigInput{}, defaults},
		{&model.ParserConfigInput{Delimiter: new(`\n`)}, defaults},
		{&model.ParserConfigInput{Delimiter: new("\n")}, defaults},
		{&model.ParserConfigInput{Delimiter: new(`\t;\\n\r'"`), LayoutRecognize: new(false)}, custom},
	} {
		created, err := tenant.CreateDataset(ctx, model.CreateDatasetInput{Name: "Dataset", ParserConfig: c.in})
		require.NoError(t, err)
		require.Equal(t, c.want, created.ParserConfig)
		require.Equal(t, "naive", created.ChunkMethod)
		require.Nil(t, created.Description)
		read, err := tenant.Dataset(ctx, created.ID)
		require.NoError(t, err)
		same(t, created, read)
	}
	for _, method := range model.ChunkMethods {
		created, err := tenant.CreateDataset(ctx, model.CreateDatasetInput{Name: "Dataset", ChunkMethod: &method,
			Description: new("It's")})
		require.NoError(t, err)
		read, err := tenant.Dataset(ctx, created.ID)
		require.NoError(t, err)
		same(t, created, read)
	}
	_, err := tenant.CreateDataset(ctx, model.CreateDatasetInput{Name: "Dataset", ChunkMethod: new("Naive")})
	faults(t, err, model.BadInput, "chunkMethod", "presentation")
}

// When a dataset's language changes, its documents are indexed again.
func TestChangedDatasetLanguageReindexesDocuments(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	created := newDataset(t, tenant)
	require.Equal(t, "auto", created.Language)
	document := addDocument(t, tenant, created.ID, "a")
	finishDocument(t, tenant, document, "rot")
	_, err := tenant.UpdateDataset(ctx, model.UpdateDatasetInput{DatasetID: created.ID, Language: new("auto"),
		Name: new("Names")})
	require.NoError(t, err)
	require.Equal(t, model.DocumentStatusReady, readDocument(t, tenant, document.ID).Status)
	changed, err := tenant.UpdateDataset(ctx, model.UpdateDatasetInput{DatasetID: created.ID, Language: new("de")})
	require.NoError(t, err)
	require.Equal(t, "de", changed.Language)
	require.Equal(t, model.DocumentStatusPending, readDocument(t, tenant, document.ID).Status)
	_, err = tenant.UpdateDataset(ctx, model.UpdateDatasetInput{DatasetID: created.ID, Language: new("german")})
	faults(t, err, model.BadInput, "language", "auto, or one of ar, ca,")
}

func TestTypesAreFoundByID(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, _ := fresh(t)
	own := newFixture(t, store, "OWN")
	company, err := own.tenant.Company(ctx)
	require.NoError(t, err)
	versions := versionsOf(t, own.tenant, own.ids["AgentID"])
	want := map[string]string{
		company.ID: "company", own.ids["AgentID"]: "agent", own.ids["ToolID"]: "tool", own.ids["SubAgentID"]: "sub-agent",
		own.ids["ChatID"]: "knowledge base chat", own.ids["DatasetIds"]: "dataset",
		own.ids["SimulationChatID"]: "simulation chat",
		versions[0].ID:              "prompt version",
	}
	ids := []string{"unknown", own.ids["APIKeyID"]}
	for id := range want {
		ids = append(ids, id, id)
	}
	types, err := own.tenant.Types(ctx, ids)
	require.NoError(t, err)
	require.Equal(t, want, types)
	for _, none := range [][]string{nil, {}} {
		types, err = own.tenant.Types(ctx, none)
		require.NoError(t, err)
		require.Empty(t, types)
	}
}

package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestListsFilterByPartOfTheName(t *testing.T) {
	t.Parallel()
	env := dbtest.NewEnvironment(t)
	for i, name := range []string{"Prices 100%", "Élan", "price list"} {
		_, err := env.Tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: name})
		require.NoError(t, err)
		_, err = env.Tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: name})
		require.NoError(t, err)
		_, err = env.Tenant.CreateTool(t.Context(),
			model.CreateToolInput{Name: name, TechnicalName: fmt.Sprint("tool_", i)})
		require.NoError(t, err)
	}
	for part, want := range map[string][]string{
		"PRICE": {"price list", "Prices 100%"}, "%": {"Prices 100%"}, "_": {}, "élan": {"Élan"}, "' OR true --": {},
		"": {"price list", "Élan", "Prices 100%"},
	} {
		filter := &model.NameFilter{NameContains: &part}
		datasets, err := env.Tenant.Datasets(t.Context(), model.PageArgs{First: 10}, filter)
		require.NoError(t, err)
		chats, err := env.Tenant.KnowledgeBaseChats(t.Context(), model.PageArgs{First: 10}, filter)
		require.NoError(t, err)
		tools, err := env.Tenant.Tools(t.Context(), model.PageArgs{First: 10}, filter)
		require.NoError(t, err)
		found := [3][]string{{}, {}, {}}
		for _, d := range datasets.Nodes {
			found[0] = append(found[0], d.Name)
		}
		for _, c := range chats.Nodes {
			found[1] = append(found[1], c.Name)
		}
		for _, tool := range tools.Nodes {
			found[2] = append(found[2], tool.Name)
		}
		require.Equal(t, [3][]string{want, want, want}, found, part)
	}
	long := strings.Repeat("é", 256)
	_, err := env.Tenant.Tools(t.Context(), model.PageArgs{First: 10}, &model.NameFilter{NameContains: &long})
	require.ErrorContains(t, err, "filter.nameContains")
}

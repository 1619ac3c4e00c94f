package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

func TestDatasetTableBecomesTestRows(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Tables")
	other, _ := g.company(t, "Others")
	agentID, _ := frontDesk(t, tenant)
	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{AgentID: agentID, Name: "Opens",
		Scenario: "Asks for {day}", Criteria: []string{"says {hours}"}, MaxTurns: 1})
	require.NoError(t, err)
	document := func(name, text string) string {
		t.Helper()
		owner := tenant
		if strings.HasPrefix(name, "foreign") {
			owner = other
		}
		dataset, err := owner.CreateDataset(t.Context(), model.CreateDatasetInput{Name: name})
		require.NoError(t, err)
		d, err := knowledge.New(knowledge.Options{}).
			AddDocument(t.Context(), owner, model.AddDocumentInput{DatasetID: dataset.ID, Name: &name,
				Upload: &graphql.Upload{File: strings.NewReader(text), Size: int64(len(text))}})
		require.NoError(t, err)
		return d.ID
	}
	type row struct {
		Name   *string
		Values map[string]string
	}
	given := func(documentID string, columns ...string) answer {
		t.Helper()
		return g.query(t, key,
			`mutation ($in: ImportAgentTestRowsInput!) { importAgentTestRows(input: $in) { agentTest { rows { name values } } }
				}`,
			map[string]any{"in": map[string]any{"testId": test.ID, "documentId": documentID,
				"columns": append([]string{}, columns...)}})
	}
	rows := func(a answer) []row {
		t.Helper()
		var got struct {
			ImportAgentTestRows struct{ AgentTest struct{ Rows []row } }
		}
		require.Empty(t, a.Errors)
		require.NoError(t, json.Unmarshal(a.Data, &got))
		return got.ImportAgentTestRows.AgentTest.Rows
	}
	hours := document("hours.csv", "row,day,hours,note\nthe day off,Monday,closed,\n,Tuesday,\"8 to 17\",late\n")
	monday, tuesday := map[string]string{"day": "Monday", "hours": "closed"},
		map[string]string{"day": "Tuesday", "hours": "8 to 17"}
	require.Equal(t, []row{{new("the day off"), monday}, {nil, tuesday}}, rows(given(hours, "day", "hours")))
	require.Equal(t, "late", rows(given(hours))[1].Values["note"])
	require.Equal(t, []row{{nil, monday}, {nil, tuesday}},
		rows(given(document("hours.jsonl", `{"day":"Monday","hours":"closed"}`+"\n"+`{"day":"Tuesday","hours":"8 to 17"}`))))

	wide := strings.TrimSuffix(strings.Repeat("a,", 51), ",")
	for i := range 51 {
		wide = strings.Replace(wide, "a", fmt.Sprintf("column%d", i), 1)
	}
	const most = 4 << 20
	fitting := "day,hours\nMonday,1\n" + strings.Repeat("\n", most)
	require.Len(t, rows(given(document("fitting.csv", fitting[:most]))), 1, "as large as a table may be")
	require.Len(t, rows(given(document("wide.csv", wide[:strings.LastIndex(wide, ",")]+"\n"+strings.Repeat("1,", 49)+
		"1\n"))), 1)
	require.Len(t, rows(given(document("unused.csv", "day,note,note\nMonday,1,2\n"), "day")), 1, "an unused column")
	require.Len(t, rows(given(hours, "day", "hours")), 2)
	for text, refused := range map[string]struct {
		documentID string
		column     string
		code       string
	}{
		"does not exist": {document("foreign.csv", "day\nMonday\n"), "day", "NOT_FOUND"},
		`has "when", which is not a column of the table`: {hours, "when", "UNPROCESSABLE"},
		"names a document without a table": {
			document("letter.txt", "Dear Ana,\nwe open at eight."), "day", "UNPROCESSABLE"},
		`names a table with two columns "opens": rename or delete one of them`: {
			document("doubled.csv", "row,day,opens,opens\na,Monday,1,2\nb,Tuesday,3,4\n"), "", "UNPROCESSABLE"},
		"names a table whose row 3 has more or fewer cells than the header": {
			document("short.csv", "day,hours\nMonday,closed\nTuesday\n"), "", "UNPROCESSABLE"},
		"names a table whose row 2 has more or fewer cells than the header": {
			document("long.csv", "day,hours\nMonday,8,17\nTuesday,closed\n"), "", "UNPROCESSABLE"},
		"names a table of 501 rows": {document("many.csv", "day,hours\n"+
			strings.Repeat("Monday,closed\n", 501)), "day", "UNPROCESSABLE"},
		"names a document of 4194305 bytes; a table has at most 4194304": {document("large.csv", fitting[:most+1]), "",
			"UNPROCESSABLE"},
		"must have at most 50": {
			document("wider.csv", wide+"\n"+strings.Repeat("1,", 50)+"1\n"), "", "BAD_INPUT"},
		"columns must have at most 50": {hours, wide, "BAD_INPUT"},
		"has the same values as row 0: give one of the two rows a": {
			document("twice.csv", "day,hours\nMonday,1\nMonday,2\n"), "day", "BAD_INPUT"},
	} {
		var columns []string
		if refused.column != "" {
			columns = strings.Split(refused.column, ",")
		}
		a := given(refused.documentID, columns...)
		require.Equal(t, []string{refused.code}, a.codes(), text)
		require.Contains(t, a.Errors[0].Message, text)
	}
	var kept struct{ AgentTest struct{ Rows []row } }
	g.must(t, key, `query ($id: ID!) { agentTest(id: $id) { rows { name values } } }`, map[string]any{"id": test.ID},
		&kept)
	require.Len(t, kept.AgentTest.Rows, 2, "a refused change has no effect")
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

func TestKnowledgeCommandEvaluatesRetrieval(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, key := newCompany(t, dbtest.Open(t, address, dbtest.Options()), "House")
	served := serve(t, address, key, "--workers", "0")
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "House", ChunkMethod: new("table")})
	require.NoError(t, err)
	_, err = tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "House rules",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	base := knowledge.New(knowledge.Options{})
	document, err := base.AddDocument(t.Context(), tenant, model.AddDocumentInput{
		DatasetID: dataset.ID, Name: new("house.csv"), Text: new(",\nThe kettle is descaled with vinegar.,\nLampshades are " +
			"dusted.,\n"),
	})
	require.NoError(t, err)
	require.NoError(t, base.Index(t.Context(), tenant, document.IndexingID, 1))

	evaluate := func(in string, args ...string) outcome {
		var out, log bytes.Buffer
		line := []string{"knowledge", "evaluate", "--url", served.url, "--api-key", served.key, "--chat", "house"}
		code := run(t.Context(), append(line, args...), streams{in: strings.NewReader(in), out: &out, log: &log})
		return outcome{code, out.String(), log.String()}
	}
	none := evaluate("")
	require.Equal(t, 5, none.code, none.log)
	require.Contains(t, none.log, "the knowledge base chat has no questions yet")

	questions := `{"question": "How is a kettle descaled?", "document": "house.csv", "passage": "with vinegar"}
{"question": "lampshades and xylophones, trombones, accordions, saxophones, clarinets, trumpets, bassoons?", "document": "house.csv", "passage": "are dusted"}`
	asked := evaluate(questions, "-", "--threshold", "0.01")
	require.Zero(t, asked.code, asked.log)
	var shown map[string]struct {
		Asked                              int
		HitAt1, HitAt6, MeanReciprocalRank float64
		Missed                             []struct{ LabelledQuestion struct{ Question string } }
	}
	require.NoError(t, json.Unmarshal([]byte(asked.out), &shown))
	saved, tried := shown["saved"], shown["tried"]
	require.Equal(t, []float64{2, 0.5, 0.5, 0.5}, []float64{float64(saved.Asked), saved.HitAt1, saved.HitAt6,
		saved.MeanReciprocalRank})
	require.Contains(t, saved.Missed[0].LabelledQuestion.Question, "lampshades")
	require.Equal(t, []float64{2, 1, 1, 1}, []float64{float64(tried.Asked), tried.HitAt1, tried.HitAt6,
		tried.MeanReciprocalRank})
	require.Empty(t, tried.Missed)

	table := filepath.Join(t.TempDir(), "questions.CSV")
	require.NoError(t, os.WriteFile(table, []byte("\ufeffdocument,note,Question\nhouse.csv,,What is dusted?\n"), 0o600))
	require.NoError(t, json.Unmarshal([]byte(evaluate("", table).out), &shown))
	require.Equal(t, 3, shown["saved"].Asked)
	require.Len(t, shown["saved"].Missed, 1)

	require.NoError(t, os.WriteFile(table, []byte("question;document\n\"Lampshades, or what?\";house.csv\n"), 0o600))
	semicolons := evaluate("", table)
	require.Zero(t, semicolons.code, semicolons.log)
	require.NoError(t, json.Unmarshal([]byte(semicolons.out), &shown))
	require.Equal(t, 4, shown["saved"].Asked)

	wrong := evaluate("{\"question\": \"?\"}", "-")
	require.Equal(t, 2, wrong.code)
	require.Contains(t, wrong.log, "line 1 must be a JSON object with question and document")
	const most = 8 << 20
	require.NoError(t, json.Unmarshal([]byte(evaluate(strings.Repeat("\n", most), "-").out), &shown))
	require.Equal(t, 4, shown["saved"].Asked, "as large as a file may be")
	large := evaluate(strings.Repeat("\n", most+1), "-")
	require.Equal(t, 2, large.code)
	require.Contains(t, large.log, "-: has more than 8388608 bytes")
	require.Contains(t, evaluate("", "--dataset", "Garden").log, "--dataset must be one of House")
}

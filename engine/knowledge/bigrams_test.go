package knowledge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/engine/knowledge"
)

// unspaced has texts in scripts without spaces, each with a question that only this text answers.
var unspaced = map[string]string{
	"ร้านเปิดเก้าโมงเช้าทุกวัน":           "ร้านเปิดกี่โมง",
	"คืนสินค้าได้ภายในสามสิบวัน":          "คืนสินค้าได้กี่วัน",
	"退货可在三十天内办理，运费免费。":                    "三十天内可以退货吗？",
	"我们早上九点开门，水族馆十点开门。":                   "几点开门？",
	"コーヒーメーカーは二年間保証されます。":                 "コーヒーメーカーの保証は？",
	"ﾄﾞｱは夜十時に閉まります":                       "ドアはいつ閉まりますか",
	"ຮ້ານເປີດເກົ້າໂມງເຊົ້າ":               "ຮ້ານເປີດຈັກໂມງ",
	"ហាងបើកនៅម៉ោងប្រាំបួនព្រឹក":           "ហាងបើកម៉ោងប៉ុន្មាន",
	"ဆိုင်ကို မနက်ကိုးနာရီမှာ ဖွင့်ပါတယ်": "ဆိုင် ဘယ်အချိန် ဖွင့်ပါသလဲ",
}

func TestPairsOfCharactersAreFound(t *testing.T) {
	t.Parallel()
	var lines []string
	for text := range unspaced {
		lines = append(lines, text)
	}
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{strings.Join(lines, "\n")})
	l.chat.PromptSettings.SimilarityThreshold = 0.01
	for want, question := range unspaced {
		found := texts(l.ask(question))
		require.NotEmpty(t, found, question)
		require.Equal(t, want, found[0], question)
	}
	require.Len(t, l.ask("水"), 1, "a question of one character")
}

// Chunks that an earlier version indexed get the same pairs as new ones, without being indexed again.
func TestOlderChunksGetPairsOfCharacters(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	var lines []string
	for text := range unspaced {
		lines = append(lines, text+" 3 words")
	}
	newLibrary(t, knowledge.Options{}, dbtest.Open(t, address, db.Options{}),
		[]string{strings.Join(lines, "\n"), lines[0]})
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	read := func(query string) (rows []string) {
		found, err := conn.Query(t.Context(), query)
		require.NoError(t, err)
		rows, err = pgx.CollectRows(found, pgx.RowTo[string])
		require.NoError(t, err)
		return rows
	}
	// Compare only terms that Postgres keeps whole. It splits some pairs with marks in new chunks, and indexes their
	// characters, too.
	const whole = " WHERE length(term) > 1 AND tsvector_to_array(to_tsvector('pg_catalog.simple', term)) = ARRAY[term] "
	const chunks, terms = `SELECT document_id || position || ' ' || term || ' ' || coalesce(cardinality(positions), 0)
		FROM chunks CROSS JOIN LATERAL unnest(search) AS held (term, positions)` + whole + `ORDER BY 1`,
		`SELECT term || ' ' || chunks FROM dataset_terms` + whole + `ORDER BY 1`
	wantChunks, wantTerms := read(chunks), read(terms)
	migrator, err := schema.NewMigrator(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, migrator.Close()) })
	for current, err := migrator.Schema(t.Context()); current.Current >= 63; current, err = migrator.Schema(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, migrator.Down(t.Context()))
	}
	for _, statement := range []string{
		`UPDATE chunks SET search = ts_delete(search, ARRAY(SELECT term FROM unnest(tsvector_to_array(search)) AS term
			WHERE length(term) = 2 AND term > 'ก'))`,
		"DELETE FROM dataset_terms WHERE length(term) = 2 AND term > 'ก'",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.Less(t, len(read(terms)), len(wantTerms)/2)
	require.NoError(t, migrator.Up(t.Context()))
	require.Equal(t, wantChunks, read(chunks))
	require.Equal(t, wantTerms, read(terms))
}

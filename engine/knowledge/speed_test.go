package knowledge_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// chunksOfDocument and wordsOfChunk are the sizes of the documents and chunks of the speed test.
	chunksOfDocument, wordsOfChunk = 100, 100
	// questionsAtOnce is how many questions are in progress at once.
	questionsAtOnce = 8
)

// TestSpeed prints how long questions take, right after the chunks were written and later. BENCH_KNOWLEDGE lists the
// numbers of chunks of the datasets, such as 100000,1000000.
func TestSpeed(t *testing.T) {
	sizes := os.Getenv("BENCH_KNOWLEDGE")
	if sizes == "" {
		t.Skip("make bench-knowledge runs it")
	}
	for size := range strings.SplitSeq(sizes, ",") {
		chunks, err := strconv.Atoi(size)
		require.NoError(t, err)
		s := fill(t, chunks)
		fmt.Fprintf(t.Output(), "| %d chunks: questions | p50 | p99 | processor, here | processor, Postgres "+
			"|\n|---|---|---|---|---|\n", chunks)
		for _, moment := range []string{"at once", "later"} {
			if moment == "later" {
				_, err := s.conn.Exec(t.Context(), "ANALYZE")
				require.NoError(t, err)
			}
			for _, length := range []int{8, 60, 10_000} {
				for _, errors := range []string{"", ", misspelled"} {
					fmt.Fprintf(t.Output(), "| %d characters%s, %s | %s |\n", length, errors, moment,
						s.measure(t, s.questions(length, errors != "")))
				}
			}
		}
	}
}

// filled is a chat whose dataset has many chunks.
type filled struct {
	tenant *db.Tenant
	base   *knowledge.Base
	chat   *model.KnowledgeBaseChat
	conn   *pgx.Conn
	random *rand.Rand
	words  vocabulary
}

func fill(t *testing.T, chunks int) filled {
	t.Helper()
	address := dbtest.URL(t)
	// Checking each statement would take a large part of the time.
	store := dbtest.Open(t, address, db.Options{Tracer: dbtest.Unchecked{}})
	company, err := store.CreateCompany(t.Context(), "A company")
	require.NoError(t, err)
	s := filled{tenant: store.Tenant(company.ID), base: knowledge.New(knowledge.Options{}),
		random: rand.New(rand.NewPCG(1, 2))}
	s.words = newVocabulary(s.random, 50_000+chunks/10)
	dataset, err := s.tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "A dataset"})
	require.NoError(t, err)
	s.chat, err = s.tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "A chat",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	s.conn, err = pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.conn.Close(context.Background())) })
	s.copyChunks(t, company.ID, dataset.ID, chunks)
	return s
}

// terms returns the terms of each word in a text search vector.
func (s filled) terms(t *testing.T) map[string][]string {
	t.Helper()
	terms := map[string][]string{}
	for some := range slices.Chunk(s.words.words, 10_000) {
		asked := make([]model.Word, len(some))
		for i, word := range some {
			asked[i].Folded = word
		}
		tokens, err := s.tenant.Tokens(t.Context(), nil, []string{"en"}, asked)
		require.NoError(t, err)
		for _, token := range tokens {
			terms[token.Word] = token.Terms
		}
	}
	return terms
}

// copyChunks writes the documents, chunks and terms of a dataset, and then builds the index of terms. Adding them one
// by one would take hours.
func (s filled) copyChunks(t *testing.T, companyID, datasetID string, chunks int) {
	t.Helper()
	terms := s.terms(t)
	_, err := s.conn.Exec(t.Context(), "DROP INDEX chunks_search_idx")
	require.NoError(t, err)
	var documents, rows bytes.Buffer
	held := map[string]int{}
	for i := range chunks {
		document := fmt.Sprintf("document_%08d", i/chunksOfDocument)
		if i%chunksOfDocument == 0 {
			fmt.Fprintf(&documents, "%s\t%s\t%s\t%s.txt\ttext/plain\t1\tReady\t%d\t%s\t1\t0\t2026-01-01\t2026-01-01\t{en}\n",
				companyID, document, datasetID,
				document, min(chunksOfDocument, chunks-i), document)
		}
		text := s.words.text(wordsOfChunk)
		places := map[string][]string{}
		for place, word := range strings.Fields(text) {
			for _, term := range terms[word] {
				places[term] = append(places[term], strconv.Itoa(place+1))
			}
		}
		fmt.Fprintf(&rows, "%s\tchunk_%012d\t%s\t%s\t%d\t%s\t%d\t", companyID, i, datasetID, document, i%chunksOfDocument,
			text, 2*wordsOfChunk)
		for term, at := range places {
			held[term]++
			fmt.Fprintf(&rows, "'%s':%s ", term, strings.Join(at, ","))
		}
		rows.WriteString("\t2026-01-01\n")
		if i == chunks-1 || rows.Len() > 8<<20 {
			s.copy(t, "documents (company_id, id, dataset_id, name, content_type, size, status, chunk_count, indexing_id, "+
				"claim, waits, created_at, indexed_at, languages)", &documents)
			s.copy(t, "chunks (company_id, id, dataset_id, document_id, position, content, tokens, search, created_at)", &rows)
		}
	}
	var counts bytes.Buffer
	for term, holders := range held {
		fmt.Fprintf(&counts, "%s\t%s\t%s\t%d\n", companyID, datasetID, term, holders)
	}
	s.copy(t, "dataset_terms (company_id, dataset_id, term, chunks)", &counts)
	_, err = s.conn.Exec(t.Context(), "CREATE INDEX chunks_search_idx ON chunks USING gin (company_id, dataset_id, "+
		"search) WITH (fastupdate = off)")
	require.NoError(t, err)
}

func (s filled) copy(t *testing.T, to string, rows *bytes.Buffer) {
	t.Helper()
	_, err := s.conn.PgConn().CopyFrom(t.Context(), rows, "COPY "+to+" FROM STDIN")
	require.NoError(t, err)
	rows.Reset()
}

// questions returns questions of about the given length, in characters. If they are misspelled, every second word lacks
// a letter.
func (s filled) questions(length int, isMisspelled bool) []string {
	questions := make([]string, max(16, min(400, 40_000/length)))
	for i := range questions {
		var question strings.Builder
		for n := 0; question.Len() < max(length-8, 1); n++ {
			word := s.words.words[s.words.zipf.Uint64()]
			if isMisspelled && n%2 == 0 {
				word = word[:2] + word[3:]
			}
			question.WriteString(word + " ")
		}
		questions[i] = strings.TrimSpace(question.String()[:min(question.Len(), 10_000)])
	}
	return questions
}

// measure asks the questions. It returns p50, p99 and the processor time of one question, as cells of a table.
func (s filled) measure(t *testing.T, questions []string) string {
	t.Helper()
	took := make([]time.Duration, len(questions))
	next := make(chan int)
	here, there := processorTime(t), s.serverTime(t)
	var askers sync.WaitGroup
	for range questionsAtOnce {
		askers.Go(func() {
			for i := range next {
				began := time.Now()
				if _, err := s.base.Retrieve(t.Context(), s.tenant, s.chat, questions[i]); err != nil {
					t.Error(err)
				}
				took[i] = time.Since(began)
			}
		})
	}
	for i := range questions {
		next <- i
	}
	close(next)
	askers.Wait()
	here, there = processorTime(t)-here, s.serverTime(t)-there
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[int(math.Ceil(share*float64(len(took))))-1].Round(time.Millisecond / 10)
	}
	each := func(all time.Duration) time.Duration {
		return (all / time.Duration(len(questions))).Round(time.Millisecond / 10)
	}
	return fmt.Sprintf("%s | %s | %s | %s", at(0.5), at(0.99), each(here), each(there))
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// serverTime returns the processor time of the server's processes that are connected to the database.
func (s filled) serverTime(t *testing.T) (all time.Duration) {
	t.Helper()
	rows, err := s.conn.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
	require.NoError(t, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, ticks := range fields[11:13] {
			n, err := strconv.ParseInt(ticks, 10, 64)
			require.NoError(t, err)
			all += time.Duration(n) * time.Second / 100
		}
	}
	return all
}

package knowledge_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// vocabulary invents words. As in a language, few of them are frequent and most are rare.
type vocabulary struct {
	words []string
	zipf  *rand.Zipf
}

func newVocabulary(random *rand.Rand, size int) vocabulary {
	syllables := strings.Fields("ba re mi to lu ka ne so vi da pe ra mo ti gu sa le no chi fo ber lan tor min dal ver " +
		"son gar")
	seen := map[string]bool{}
	v := vocabulary{zipf: rand.NewZipf(random, 1.1, 20, uint64(size-1))}
	for len(v.words) < size {
		var word strings.Builder
		for range 2 + random.IntN(3) {
			word.WriteString(syllables[random.IntN(len(syllables))])
		}
		if !seen[word.String()] {
			seen[word.String()] = true
			v.words = append(v.words, word.String())
		}
	}
	return v
}

func (v vocabulary) text(words int) string {
	var text strings.Builder
	for range words {
		text.WriteString(v.words[v.zipf.Uint64()] + " ")
	}
	return text.String()
}

// BenchmarkRetrieve indexes 100,000 chunks of about 100 words in one dataset. It asks 8 questions at a time, and every
// tenth question has a misspelled word.
func BenchmarkRetrieve(b *testing.B) {
	const documents, chunksEach, atOnce = 1000, 100, 8
	random := rand.New(rand.NewPCG(1, 2))
	words := newVocabulary(random, 50_000)
	store := dbtest.New(b)
	company, err := store.CreateCompany(b.Context(), "A company")
	require.NoError(b, err)
	tenant := store.Tenant(company.ID)
	method := "table"
	dataset, err := tenant.CreateDataset(b.Context(), model.CreateDatasetInput{Name: "A dataset", ChunkMethod: &method})
	require.NoError(b, err)
	chat, err := tenant.CreateKnowledgeBaseChat(b.Context(), model.CreateKnowledgeBaseChatInput{Name: "A chat",
		DatasetIds: []string{dataset.ID}})
	require.NoError(b, err)
	base := knowledge.New(knowledge.Options{})

	pending := make(chan *model.Document)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for d := range pending {
				if err := base.Index(context.Background(), tenant, d.IndexingID, 1); err != nil {
					b.Error(err)
				}
			}
		})
	}
	var spent time.Duration
	for i := range documents {
		rows := "text,more\n"
		for range chunksEach {
			rows += words.text(90) + "," + words.text(10) + "\n"
		}
		d, err := base.AddDocument(b.Context(), tenant, model.AddDocumentInput{DatasetID: dataset.ID,
			Name: new(fmt.Sprintf("%d.csv", i)), Text: &rows})
		require.NoError(b, err)
		began := time.Now()
		pending <- d
		spent += time.Since(began)
	}
	began := time.Now()
	close(pending)
	workers.Wait()
	spent += time.Since(began)
	counts, err := tenant.CountsOfDatasets(b.Context(), []string{dataset.ID})
	require.NoError(b, err)
	require.EqualValues(b, documents*chunksEach, counts[dataset.ID].Chunks)
	b.Logf("indexed %.0f chunks a second with 4 workers", documents*chunksEach/spent.Seconds())

	questions := make([]string, 500)
	for i := range questions {
		asked := strings.Fields(words.text(6))
		asked = append(asked, words.words[random.IntN(2000)])
		if i%10 == 0 {
			asked[6] = asked[6][:2] + asked[6][3:]
		}
		questions[i] = "What is the " + strings.Join(asked, " ") + "?"
	}
	for b.Loop() {
		ask(b, base, tenant, chat, questions, atOnce)
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapAlloc>>20), "MB-heap")
}

func ask(b *testing.B, base *knowledge.Base, tenant *db.Tenant, chat *model.KnowledgeBaseChat, questions []string,
	atOnce int) {
	took := make([]time.Duration, len(questions))
	next := make(chan int)
	var askers sync.WaitGroup
	for range atOnce {
		askers.Go(func() {
			for i := range next {
				began := time.Now()
				found, err := base.Retrieve(context.Background(), tenant, chat, questions[i])
				if err != nil || len(found) == 0 {
					b.Errorf("%q: %d chunks, %v", questions[i], len(found), err)
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
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(math.Ceil(share*float64(len(took))))-1].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "ms-p50")
	b.ReportMetric(at(0.99), "ms-p99")
}

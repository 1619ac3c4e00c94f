package knowledge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	reading "github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// Every word that is similar enough must remain for the comparison of distances.
func TestSimilarWordsIncludeAllNearWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// A small alphabet makes words similar. Some letters share one of 32 bits (a and 1, b and â).
		word := rapid.StringMatching(`[abcâ]{4,10}`).Draw(t, "word")
		words := rapid.SliceOfDistinct(rapid.OneOf(rapid.StringMatching(`[abcâ1]{1,12}`),
			rapid.Custom(func(t *rapid.T) string {
				return misspelled(t, word)
			})), func(word string) string { return word }).Draw(t, "words")
		most := reading.MaxTypos(word)
		near := slices.DeleteFunc(slices.Clone(words),
			func(known string) bool { return reading.Distance(word, known, most) > most })
		found := knowledge.Alike(words, word)
		require.Subset(t, found, near)
		require.Subset(t, words, found)
		require.True(t, slices.IsSorted(found))
	})
}

// misspelled returns a word with up to two letters wrong.
func misspelled(t *rapid.T, word string) string {
	letters := []rune(word)
	for range rapid.IntRange(0, 2).Draw(t, "errors") {
		i := rapid.IntRange(0, len(letters)-2).Draw(t, "place")
		switch rapid.IntRange(0, 3).Draw(t, "error") {
		case 0:
			letters[i], letters[i+1] = letters[i+1], letters[i]
		case 1:
			letters = slices.Delete(letters, i, i+1)
		case 2:
			letters = slices.Insert(letters, i, 'c')
		default:
			letters[i] = 'x'
		}
	}
	return string(letters)
}

func TestVocabularyFindsSimilarWords(t *testing.T) {
	t.Parallel()
	words := []string{"", "refunded", "fund", "order", "orders", "a1b2", "12345678", "house"}
	require.Equal(t, []string{"refunded"}, knowledge.Alike(words, "refnuded"))
	require.Equal(t, []string{"order", "orders"}, knowledge.Alike(words, "ordes"))
	require.Empty(t, knowledge.Alike(words, "unknown"))
	require.Empty(t, knowledge.Alike(nil, "unknown"))
}

// When the documents change, so do the words that match a misspelled word.
func TestTypingErrorsAreCorrectedToKnownWords(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), shop[:1], shop[4:])
	datasets, err := l.tenant.SearchedDatasets(t.Context(), l.chat.ID)
	require.NoError(t, err)
	require.Len(t, datasets, 2)
	require.Empty(t, l.ask("refnuded"))
	added := l.add(datasets[0].ID, "more.csv", shop[1])
	require.Equal(t, shop[1:2], texts(l.ask("refnuded")))
	require.Equal(t, shop[4:], texts(l.ask("livrasion")), "the other dataset is unchanged")

	another := l.add(datasets[1].ID, "another.csv", "Damaged goods are refinded.")
	require.Equal(t, []string{"Damaged goods are refinded.", shop[1]}, sorted(texts(l.ask("refnded"))))
	for _, d := range []*model.Document{added, another} {
		require.NoError(t, l.tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: d.ID}))
	}
	require.Empty(t, l.ask("refnuded"))
	require.Equal(t, shop[:1], texts(l.ask("delivred")))
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

// A dataset's words are read once for all questions, until they change.
func TestWordsAreReadOnce(t *testing.T) {
	t.Parallel()
	counter := &statements{}
	l := newLibrary(t, knowledge.Options{}, dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: counter}), shop[:3], shop[3:])
	count := func() int64 {
		before := counter.n.Load()
		require.NotEmpty(t, l.ask("refnuded livrasion"))
		return counter.n.Load() - before
	}
	first := count()
	require.Equal(t, first-1, count())
	datasets, err := l.tenant.SearchedDatasets(t.Context(), l.chat.ID)
	require.NoError(t, err)
	// The new document has no matching chunk, because two chunks with the same score would take another statement.
	l.add(datasets[0].ID, "more.csv", shop[0])
	require.Equal(t, first, count())
	require.Equal(t, first-1, count())

	base := knowledge.New(knowledge.Options{})
	var askers sync.WaitGroup
	for range 8 {
		askers.Go(func() {
			found, err := base.Retrieve(context.Background(), l.tenant, l.chat, "refnuded")
			if err != nil || len(found) == 0 {
				t.Errorf("%d chunks, %v", len(found), err)
			}
		})
	}
	askers.Wait()
	require.Equal(t, 2, base.CachedVocabularies())
}

// A company that reads many vocabularies does not delay other companies.
func TestVocabulariesOfOneCompanyDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), shop[:3])
	base := knowledge.New(knowledge.Options{})
	leave, err := base.ReadVocabularies(t.Context(), "company_greedy")
	require.NoError(t, err)
	waiting, giveUp := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() {
			if _, err := base.ReadVocabularies(waiting, "company_greedy"); err == nil {
				t.Error("a company reads twice at a time")
			}
		})
	}
	found, err := base.Retrieve(t.Context(), l.tenant, l.chat, "refnuded")
	require.NoError(t, err)
	require.NotEmpty(t, found)
	giveUp()
	others.Wait()
	leave()
}

// A company guesses the words of a bounded number of questions at a time. Questions of known words do not wait for it.
func TestGuessesWaitForASlot(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), shop[:3])
	leave := l.base.TakeGuesses(l.tenant.CompanyID())
	require.NotEmpty(t, l.ask("refunded"))
	waiting, giveUp := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer giveUp()
	_, err := l.base.Retrieve(waiting, l.tenant, l.chat, "refnuded")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	leave()
	require.NotEmpty(t, l.ask("refnuded"))
}

// A question with many long unknown words compares only some of them with the known words.
func TestGuessesCompareABoundedNumberOfLetters(t *testing.T) {
	t.Parallel()
	word := func(n int) string { return strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%060b", n)) }
	last := strings.Repeat("z", 50)
	rows, unknown := []string{last}, make([]string, 25)
	for i := range 600 {
		rows = append(rows, word(i))
	}
	for i := range unknown {
		unknown[i] = word(1<<50 - 1 - i)
	}
	misspelled := last[1:] + "x"
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{strings.Join(rows, "\n")})
	l.chat.PromptSettings.SimilarityThreshold = 0.001
	require.Len(t, l.ask(strings.Join(unknown[:5], " ")+" "+misspelled), 1)
	require.Empty(t, l.ask(strings.Join(unknown, " ")+" "+misspelled))
}

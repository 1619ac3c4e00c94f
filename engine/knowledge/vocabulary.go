package knowledge

import (
	"context"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/singleflight"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/engine/read"
)

// A misspelled word is compared with every word of the datasets in memory. An index would find similar words by the
// parts that they share. But thousands of words share each part, and Postgres would read all their rows for one word.

// vocabulary has the words of a dataset's chunks at one version.
type vocabulary struct {
	version string
	// words are the candidates for unknown words, by their number of letters, sorted.
	words map[int][]knownWord
	// size is the memory of the words, in bytes.
	size int
}

type knownWord struct {
	text    string
	letters letters
}

// letters has a bit for each letter of a word, and another one for each repeated letter. Some letters share a bit. An
// inserted or deleted letter changes at most one bit, a replaced letter two.
type letters uint64

func lettersOf(word string) (letterBits letters) {
	for _, r := range word {
		bit := letters(1) << (r & 31)
		if letterBits&bit != 0 {
			bit <<= 32
		}
		letterBits |= bit
	}
	return letterBits
}

// lacks counts the bits of other that l does not have.
func (l letters) lacks(other letters) int { return bits.OnesCount64(uint64(other &^ l)) }

func vocabularyOf(v db.Vocabulary) *vocabulary {
	known := &vocabulary{version: v.Version, words: map[int][]knownWord{}, size: len(v.Terms)}
	for word := range strings.SplitSeq(v.Terms, "\n") {
		if !mayBeMeant(word) {
			continue
		}
		length := utf8.RuneCountInString(word)
		known.words[length] = append(known.words[length], knownWord{word, lettersOf(word)})
	}
	for length, words := range known.words {
		slices.SortFunc(words, func(a, b knownWord) int { return strings.Compare(a.text, b.text) })
		known.words[length] = slices.Clip(words)
		known.size += db.BytesPerTerm * len(words)
	}
	return known
}

// mayBeMeant reports whether the word can be the correct form of a misspelled word, which has no digits and at most two
// wrong letters. Numbers, which are most of the words in some vocabularies, are excluded.
func mayBeMeant(word string) bool {
	digits := 0
	for i := range len(word) {
		if '0' <= word[i] && word[i] <= '9' {
			digits++
		}
	}
	return word != "" && digits <= 2
}

// alike returns the known words whose length and letters are close enough to a misspelled word, without repetitions,
// sorted.
func alike(known []*vocabulary, word string) []string {
	most, length, letterBits := read.MaxTypos(word), utf8.RuneCountInString(word), lettersOf(word)
	var found []string
	for _, vocabulary := range known {
		for n := length - most; n <= length+most; n++ {
			for _, k := range vocabulary.words[n] {
				if letterBits.lacks(k.letters) <= most && k.letters.lacks(letterBits) <= most {
					found = append(found, k.text)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

const (
	// maxVocabularies bounds the cached vocabularies, in bytes.
	maxVocabularies = 64 << 20
	// maxRead bounds the vocabularies of one read, in bytes, and readsAtATime the concurrent reads. Together they bound
	// memory, however many words are uploaded.
	maxRead      = maxVocabularies / 2
	readsAtATime = 2
	// readTimeout bounds a read, which continues when its callers leave.
	readTimeout = 30 * time.Second
)

type vocabularyCache struct {
	// known has the vocabularies by dataset id.
	known *cache.Cache[string, *vocabulary]
	// The group reads lets concurrent questions share a read.
	reads singleflight.Group
	// gate limits the concurrent reads to one per company, so that others wait for at most one read.
	gate *fair.Gate
}

func newVocabularyCache() *vocabularyCache {
	known := cache.New(maxVocabularies, func(_ string, v *vocabulary) int { return v.size })
	return &vocabularyCache{known: known, gate: fair.New(readsAtATime, 1)}
}

// load returns the vocabularies of datasets at these versions or later ones. It reads missing ones in one statement.
func (c *vocabularyCache) load(
	ctx context.Context, t *db.Tenant, datasetIDs, versions []string,
) ([]*vocabulary, error) {
	var known []*vocabulary
	var missing, names []string
	for i, id := range datasetIDs {
		if cached, isCached := c.known.Get(id); isCached && cached.version == versions[i] {
			known = append(known, cached)
			continue
		}
		missing, names = append(missing, id), append(names, id+" "+versions[i])
	}
	if len(missing) == 0 {
		return known, nil
	}
	// The first caller may leave while others wait.
	reading := c.reads.DoChan(strings.Join(names, "\n"), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return c.readVocabularies(ctx, t, missing)
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case read := <-reading:
		if read.Err != nil {
			return nil, read.Err
		}
		return append(known, read.Val.([]*vocabulary)...), nil
	}
}

func (c *vocabularyCache) readVocabularies(ctx context.Context, t *db.Tenant, datasetIDs []string) (
	[]*vocabulary, error) {
	if err := c.gate.Enter(ctx, t.CompanyID()); err != nil {
		return nil, err
	}
	defer c.gate.Leave(t.CompanyID())
	rows, err := t.Vocabularies(ctx, datasetIDs, maxRead)
	if err != nil {
		return nil, err
	}
	read := make([]*vocabulary, len(rows))
	for i, row := range rows {
		read[i] = vocabularyOf(row)
		c.known.Put(row.DatasetID, read[i])
	}
	return read, nil
}

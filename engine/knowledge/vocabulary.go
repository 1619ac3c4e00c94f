package knowledge

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"

	"github.com/agentgraph/agentgraph/db"
)

// A misspelled word is compared with every word that the datasets hold. These are kept in memory: an index finds what has
// a few letters wrong by parts that are the same, and so many words share each of them that Postgres would read
// thousands for one.

// vocabulary is what a dataset's chunks hold, at one version.
type vocabulary struct {
	version string
	// words are those that a misspelled one may stand for, by how many letters they have.
	words map[int][]knownWord
	// size is what they take, in bytes.
	size int
}

type knownWord struct {
	text    string
	letters letters
}

// letters has a bit for each letter that a word holds, and another one for each that it holds more than once. Letters
// may share theirs. A letter that is put in or left out changes one bit at most, one that is replaced two.
type letters uint64

func lettersOf(word string) (held letters) {
	for _, r := range word {
		bit := letters(1) << (r & 31)
		if held&bit != 0 {
			bit <<= 32
		}
		held |= bit
	}
	return held
}

// lacks is how many of the other's bits are not among these.
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
		known.words[length] = slices.Clip(words)
		known.size += db.BytesPerTerm * len(words)
	}
	return known
}

// mayBeMeant reports whether a misspelled word, which has no digits and at most two letters wrong, may be this one.
// Numbers are most of some vocabularies.
func mayBeMeant(word string) bool {
	digits := 0
	for i := range len(word) {
		if '0' <= word[i] && word[i] <= '9' {
			digits++
		}
	}
	return word != "" && digits <= 2
}

// alike are the known words that have as many letters as the word, and the same ones, as far as it may be misspelled,
// each once and in order.
func alike(known []*vocabulary, word string) []string {
	most, length, held := maxDistance(word), utf8.RuneCountInString(word), lettersOf(word)
	var found []string
	for _, vocabulary := range known {
		for n := length - most; n <= length+most; n++ {
			for _, k := range vocabulary.words[n] {
				if held.lacks(k.letters) <= most && k.letters.lacks(held) <= most {
					found = append(found, k.text)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

const (
	// maxVocabularies bounds the vocabularies that are kept in memory, in bytes.
	maxVocabularies = 64 << 20
	// maxRead bounds those that are read together, in bytes, however many words somebody has uploaded, and so many are
	// read at a time: what the process takes for them is bounded.
	maxRead      = maxVocabularies / 2
	readsAtATime = 2
	// readTime bounds a read that those who asked for it may have left.
	readTime = 30 * time.Second
)

// vocabularyCache keeps the vocabularies of the datasets that were used last.
type vocabularyCache struct {
	mu    sync.Mutex
	known *simplelru.LRU[string, *vocabulary]
	size  int
	// reads are under way: questions that come at the same time read once.
	reads singleflight.Group
	// places have one for each read that is under way.
	places chan struct{}
}

func newVocabularyCache() *vocabularyCache {
	// The size of the vocabularies is bounded, not their number.
	known, _ := simplelru.NewLRU[string, *vocabulary](math.MaxInt, nil)
	return &vocabularyCache{known: known, places: make(chan struct{}, readsAtATime)}
}

// get returns the cached vocabulary of a dataset, if it has the version.
func (c *vocabularyCache) get(datasetID, version string) *vocabulary {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.known.Get(datasetID); ok && kept.version == version {
		return kept
	}
	return nil
}

func (c *vocabularyCache) put(datasetID string, v *vocabulary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.known.Peek(datasetID); ok {
		c.known.Remove(datasetID)
		c.size -= before.size
	}
	if v.size > maxVocabularies {
		return // all others would have to go, and then this one
	}
	c.known.Add(datasetID, v)
	for c.size += v.size; c.size > maxVocabularies; {
		_, oldest, _ := c.known.RemoveOldest()
		c.size -= oldest.size
	}
}

// of returns the vocabularies of datasets that have the versions, or later ones. What is not kept is read in one
// statement.
func (c *vocabularyCache) of(ctx context.Context, t *db.Tenant, datasetIDs, versions []string) ([]*vocabulary, error) {
	var known []*vocabulary
	var missing, names []string
	for i, id := range datasetIDs {
		if kept := c.get(id, versions[i]); kept != nil {
			known = append(known, kept)
			continue
		}
		missing, names = append(missing, id), append(names, id+" "+versions[i])
	}
	if len(missing) == 0 {
		return known, nil
	}
	// The first caller may leave while others wait.
	reading := c.reads.DoChan(strings.Join(names, "\n"), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
		defer cancel()
		return c.read(ctx, t, missing)
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

func (c *vocabularyCache) read(ctx context.Context, t *db.Tenant, datasetIDs []string) ([]*vocabulary, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	}
	rows, err := t.Vocabularies(ctx, datasetIDs, maxRead)
	if err != nil {
		return nil, err
	}
	read := make([]*vocabulary, len(rows))
	for i, row := range rows {
		read[i] = vocabularyOf(row)
		c.put(row.DatasetID, read[i])
	}
	return read, nil
}

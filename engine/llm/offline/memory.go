package offline

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/agentgraph/agentgraph/cache"
)

const (
	// maxRemembered bounds the memory, in bytes, by an estimate.
	maxRemembered = 32 << 20
	// bytesPerByte is the memory for what is read of a byte of text: up to 10 were measured.
	bytesPerByte = 10
	// bytesPerEntry is the overhead of an entry.
	bytesPerEntry = 512
)

// memory keeps what was read of texts that come with every message: instructions, tools, excerpts. The key is the hash
// of everything that the reading depends on, so no entry is ever stale, or of another text. Entries never change.
type memory = cache.Cache[[sha256.Size]byte, recollection]

type recollection struct {
	value any
	bytes int
}

func newMemory() *memory {
	return cache.New(maxRemembered, func(_ [sha256.Size]byte, r recollection) int { return r.bytes })
}

// kind distinguishes different readings of equal texts.
type kind string

// recall returns what read makes of the texts, and remembers it. Without a memory it reads each time.
func recall[V any](m *memory, of kind, read func() V, texts ...string) V {
	if m == nil {
		return read()
	}
	all := newTexts(of)
	for _, text := range texts {
		addText(all, text)
	}
	return recallBy(m, all, func(string) V { return read() })
}

// recallBy is recall for readers that need the hash of the texts.
func recallBy[V any](m *memory, all *texts, read func(key string) V) V {
	key, bytes := all.key()
	if m == nil {
		return read(string(key[:]))
	}
	known, _ := m.Load(key, func(key [sha256.Size]byte) (recollection, error) {
		return recollection{read(string(key[:])), bytes}, nil
	})
	return known.value.(V)
}

// texts are the texts to read, joined, each after its length.
type texts struct {
	joined []byte
	bytes  int
}

// spare are texts for reuse, because they are long and every turn needs some.
var spare = sync.Pool{New: func() any { return &texts{} }}

func newTexts(of kind) *texts {
	t := spare.Get().(*texts)
	t.joined, t.bytes = append(t.joined[:0], of...), bytesPerEntry
	return t
}

func addText[T ~string | ~[]byte](t *texts, text T) {
	t.joined = append(t.joined, 0) // no kind has a zero byte
	t.joined = binary.BigEndian.AppendUint64(t.joined, uint64(len(text)))
	t.joined = append(t.joined, text...)
	t.bytes += bytesPerByte * len(text)
}

// key returns the hash of the texts, and the memory of what is read of them, in bytes. The texts must not be used
// afterwards.
func (t *texts) key() (key [sha256.Size]byte, bytes int) {
	key, bytes = sha256.Sum256(t.joined), t.bytes
	spare.Put(t)
	return key, bytes
}

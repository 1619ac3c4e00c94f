package offline

import (
	"crypto/sha256"
	"encoding/binary"

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

// recall returns what read makes of the texts, and remembers it.
func recall[V any](m *memory, of kind, read func() V, texts ...string) V {
	key, bytes := keyOf(of, texts)
	return recallBy(m, key, bytes, read)
}

// recallBy is recall for a key of keyOf. Without a memory it reads each time.
func recallBy[V any](m *memory, key [sha256.Size]byte, bytes int, read func() V) V {
	if m == nil {
		return read()
	}
	known, _ := m.Load(key, func([sha256.Size]byte) (recollection, error) { return recollection{read(), bytes}, nil })
	return known.value.(V)
}

// keyOf returns the hash of texts, and the memory of what is read of them, in bytes.
func keyOf(of kind, texts []string) (key [sha256.Size]byte, bytes int) {
	joined, bytes := []byte(of), bytesPerEntry
	for _, text := range texts {
		joined = append(joined, 0) // no kind has a zero byte
		joined = binary.BigEndian.AppendUint64(joined, uint64(len(text)))
		joined = append(joined, text...)
		bytes += bytesPerByte * len(text)
	}
	return sha256.Sum256(joined), bytes
}

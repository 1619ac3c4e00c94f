package offline

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxRemembered bounds, in bytes, what is remembered, by an estimate.
	maxRemembered = 32 << 20
	// bytesPerByte is the memory of what is read of a text for each byte of it: up to 10 were measured.
	bytesPerByte = 10
	// bytesPerEntry is what an entry has beside.
	bytesPerEntry = 512
)

// memory keeps what was read of texts that come again with every message: instructions, tools, excerpts. What is
// read of a text depends on nothing else, and the text's hash is the key, so that nothing remembered is ever
// out of date or another text's. Nobody changes what is remembered.
type memory struct {
	mu    sync.Mutex
	kept  *simplelru.LRU[[sha256.Size]byte, recollection]
	bytes int
}

type recollection struct {
	value any
	bytes int
}

func newMemory() *memory {
	m := &memory{}
	// The only error is a size below one.
	m.kept, _ = simplelru.NewLRU(maxRemembered/bytesPerEntry, func(_ [sha256.Size]byte, r recollection) { m.bytes -= r.bytes })
	return m
}

// kind tells apart what is read of equal texts.
type kind string

// recall returns what read makes of the texts, and remembers it; without a memory it reads each time.
func recall[V any](m *memory, of kind, read func() V, texts ...string) V {
	return recallByKey(m, of, func(string) V { return read() }, texts...)
}

// recallByKey is recall for what keeps the hash of the texts.
func recallByKey[V any](m *memory, of kind, read func(key string) V, texts ...string) V {
	key, bytes := keyOf(of, texts)
	if m == nil {
		return read(string(key[:]))
	}
	m.mu.Lock()
	known, ok := m.kept.Get(key)
	m.mu.Unlock()
	if ok {
		return known.value.(V)
	}
	value := read(string(key[:]))
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.kept.Contains(key) {
		m.kept.Add(key, recollection{value, bytes})
		m.bytes += bytes
	}
	for m.bytes > maxRemembered {
		m.kept.RemoveOldest()
	}
	return value
}

// keyOf is the hash of the texts, each with its length, and the memory of what is read of them.
func keyOf(of kind, texts []string) (key [sha256.Size]byte, bytes int) {
	hash := sha256.New()
	hash.Write([]byte(of))
	bytes = bytesPerEntry
	for _, text := range texts {
		var length [9]byte // the first is what no kind has
		binary.BigEndian.PutUint64(length[1:], uint64(len(text)))
		hash.Write(length[:])
		hash.Write([]byte(text))
		bytes += bytesPerByte * len(text)
	}
	hash.Sum(key[:0])
	return key, bytes
}

package static

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/rivo/uniseg"
)

// charsMap replaces sequences of characters, as the library SentencePiece prepares it: the size of a trie in bytes, the
// trie as a double array, and the replacements, each with a byte 0 at its end.
type charsMap struct {
	units        []uint32
	replacements string
}

// maxReplaced is the length in bytes below which a grapheme cluster is looked up as a whole.
const maxReplaced = 6

func readCharsMap(data []byte) (normalizer, error) {
	if len(data) == 0 {
		return func(text string) string { return text }, nil
	}
	if len(data) < 4 {
		return nil, errors.New("normalizer: precompiled_charsmap is too short")
	}
	size := int(binary.LittleEndian.Uint32(data))
	data = data[4:]
	if size%4 != 0 || size > len(data) {
		return nil, errors.New("normalizer: precompiled_charsmap is damaged")
	}
	m := &charsMap{replacements: string(data[size:])}
	for ; size > 0; size -= 4 {
		m.units = append(m.units, binary.LittleEndian.Uint32(data))
		data = data[4:]
	}
	return m.normalize, nil
}

func (m *charsMap) normalize(text string) string {
	var b strings.Builder
	for rest, state := text, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(cluster) < maxReplaced {
			if by, ok := m.replacement(cluster); ok {
				b.WriteString(by)
				continue
			}
		}
		for _, r := range cluster {
			by, ok := m.replacement(string(r))
			if !ok {
				by = string(r)
			}
			b.WriteString(by)
		}
	}
	return b.String()
}

// replacement returns the replacement of the shortest beginning of a text that has one.
func (m *charsMap) replacement(text string) (string, bool) {
	at, ok := uint32(0), false
	unit := func() uint32 {
		if int64(at) >= int64(len(m.units)) {
			return 1 << 31
		}
		return m.units[at]
	}
	// A unit has a label in its lowest byte, a flag in bit 8 for a value that follows, and the offset of the children.
	at ^= offsetOf(unit())
	for i := range len(text) {
		at ^= uint32(text[i])
		u := unit()
		if u&(1<<31|0xff) != uint32(text[i]) {
			return "", false
		}
		if at ^= offsetOf(u); u>>8&1 == 1 {
			ok = true
			break
		}
	}
	start := int64(unit() &^ (1 << 31))
	if !ok || start >= int64(len(m.replacements)) {
		return "", false
	}
	by, _, _ := strings.Cut(m.replacements[start:], "\x00")
	return by, true
}

func offsetOf(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

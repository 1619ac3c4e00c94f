package model

import "errors"

const (
	// maxRequestDepth bounds how deeply objects and lists in a request may be nested.
	maxRequestDepth = 64
	// maxKeys bounds the members of one object.
	maxKeys = 10_000
)

var (
	errJSONDepth = errors.New("objects and lists are nested more than 64 levels deep")
	errJSONKeys  = errors.New("an object has more than 10,000 members")
)

// CheckJSON returns an error if objects of a JSON text have too many members, or are nested too deeply. Decoding them
// would take many times the memory of the text, and walking through the result a stack as deep. Its errors are sentences.
// Invalid JSON is left to the decoder.
func CheckJSON(text []byte) error {
	var members [maxRequestDepth]int
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth == maxRequestDepth {
				return errJSONDepth
			}
			members[depth] = 0
			depth++
		case '}', ']':
			depth = max(0, depth-1)
		case ':':
			if depth == 0 {
				continue
			}
			if members[depth-1]++; members[depth-1] > maxKeys {
				return errJSONKeys
			}
		}
	}
	return nil
}

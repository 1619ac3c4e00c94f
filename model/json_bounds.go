package model

import "errors"

const (
	// maxRequestDepth bounds how deeply objects and lists in a request may be nested.
	maxRequestDepth = 64
	// maxKeys bounds the members of one object, and the elements of one list.
	maxKeys = 10_000
	// maxContainers bounds the objects and lists of a request. Each takes about a thousand bytes when decoded. maxValues
	// bounds their members, which take about half as much each.
	maxContainers = 10_000
	maxValues     = 50_000
)

var (
	errJSONDepth = errors.New("objects and lists are nested more than 64 levels deep")
	errJSONKeys  = errors.New("an object or a list has more than 10,000 elements")
	errJSONMany  = errors.New("there are more than 10,000 objects and lists")
	errJSONLarge = errors.New("objects and lists have more than 50,000 members and elements together")
)

// CheckJSON returns an error if a JSON text is nested too deeply, or has too many objects, or objects with too many
// members. Decoding such a text would take many times its size in memory, and walking the result would need a deep
// stack. The errors are sentences. It leaves invalid JSON to the decoder.
func CheckJSON(text []byte) error {
	var members [maxRequestDepth]int
	depth, containers, values := 0, 0, 0
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
			if containers++; containers > maxContainers {
				return errJSONMany
			}
			members[depth] = 0
			depth++
		case '}', ']':
			depth = max(0, depth-1)
		case ',':
			if values++; values >= maxValues {
				return errJSONLarge
			}
			if depth == 0 {
				continue
			}
			if members[depth-1]++; members[depth-1] >= maxKeys {
				return errJSONKeys
			}
		}
	}
	return nil
}

package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// thoughtsBegin and thoughtsEnd match the tags around the thoughts of reasoning models. Some templates omit the opening
// tag.
var (
	thoughtsBegin = regexp.MustCompile(`(?i)<think(?:ing)?(?:\s[^<>]*)?>`)
	thoughtsEnd   = regexp.MustCompile(`(?i)</think(?:ing)?\s*>`)
)

// withoutThoughts returns the text of an answer after the model's thoughts. Thoughts without an end tag are dropped.
func withoutThoughts(text string) string {
	text = afterThoughts(text)
	if begins := thoughtsBegin.FindStringIndex(text); begins != nil {
		text = text[:begins[0]]
	}
	return strings.TrimSpace(text)
}

// afterThoughts returns the text after the last end tag of thoughts.
func afterThoughts(text string) string {
	if ends := thoughtsEnd.FindAllStringIndex(text, -1); len(ends) > 0 {
		text = text[ends[len(ends)-1][1]:]
	}
	return text
}

// objectIn returns the last complete JSON object in a text, or the list that contains it. It drops thoughts, drafts,
// surrounding words and code fences. Objects within other objects do not count. If the text has no object, or ends
// within one, objectIn returns the whole text.
func objectIn(text string) []byte {
	objects := objectsIn(text)
	return objects[len(objects)-1]
}

// objectsIn returns the complete JSON objects in a text, like objectIn. There is at least one: the text itself if it
// has no object or ends within one.
func objectsIn(text string) [][]byte {
	text = strings.TrimSpace(text)
	// In an answer that starts with JSON or a code block, an end tag is part of a string.
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "`") {
		text = strings.TrimSpace(afterThoughts(text))
	}
	objects := [][]byte{[]byte(text)}
	for at := 0; at < len(text); {
		begins := strings.IndexAny(text[at:], "{[")
		if begins < 0 || thoughtsBegin.MatchString(text[at:at+begins]) {
			break // thoughts without an end follow
		}
		at += begins
		decoder := json.NewDecoder(strings.NewReader(text[at:]))
		var value json.RawMessage
		var syntax *json.SyntaxError
		switch err := decoder.Decode(&value); {
		case err == nil:
			if bytes.IndexByte(value, '{') >= 0 { // exclude lists such as "[1]"
				objects = append(objects, value)
			}
			at += len(value)
		case errors.As(err, &syntax):
			at += max(int(syntax.Offset)-1, 1)
		default: // the text ends within the object
			return append(objects, []byte(text))
		}
	}
	if len(objects) > 1 {
		return objects[1:]
	}
	return objects
}

// readObject decodes a JSON object. The names of its members, and of objects within it, must match exactly and not
// repeat: encoding/json alone would ignore case and take the last of several.
func readObject(object []byte, into any, names ...string) error {
	if err := json.Unmarshal(object, into); err != nil {
		return malformed(err)
	}
	return checkNames(json.NewDecoder(bytes.NewReader(object)), names)
}

// checkNames checks the names of the members of the decoder's next value, which must be valid JSON.
func checkNames(decoder *json.Decoder, names []string) error {
	token, _ := decoder.Token()
	opened, isDelimiter := token.(json.Delim)
	if !isDelimiter {
		return nil
	}
	var seen []string
	for decoder.More() {
		if opened == '{' {
			key, _ := decoder.Token()
			name, _ := key.(string)
			isSame := func(other string) bool { return strings.EqualFold(name, other) }
			switch wanted := slices.IndexFunc(names, isSame); {
			case slices.ContainsFunc(seen, isSame):
				return unusablef("%q occurs more than once", name)
			case wanted >= 0 && names[wanted] != name:
				return unusablef("it has %q instead of %q", name, names[wanted])
			}
			seen = append(seen, name)
		}
		if err := checkNames(decoder, names); err != nil {
			return err
		}
	}
	_, _ = decoder.Token() // the closing delimiter
	return nil
}

// malformed returns the error for an answer that is not the requested JSON.
func malformed(err error) error {
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return unusablef("it is not the JSON object that is asked for (%q cannot be a JSON %s)", mistyped.Field,
			mistyped.Value)
	}
	return unusablef("it is not the JSON object that is asked for (%v)", err)
}

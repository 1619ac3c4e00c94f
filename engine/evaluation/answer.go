package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// thoughtsBegin and thoughtsEnd match what reasoning models write around their thoughts. Some templates leave out the
// beginning.
var (
	thoughtsBegin = regexp.MustCompile(`(?i)<think(?:ing)?(?:\s[^<>]*)?>`)
	thoughtsEnd   = regexp.MustCompile(`(?i)</think(?:ing)?\s*>`)
)

// withoutThoughts returns what a model says after its thoughts. Of thoughts that never end, nothing is an answer.
func withoutThoughts(text string) string {
	text = afterThoughts(text)
	if begins := thoughtsBegin.FindStringIndex(text); begins != nil {
		text = text[:begins[0]]
	}
	return strings.TrimSpace(text)
}

// afterThoughts returns what follows the end of the last thoughts in a text.
func afterThoughts(text string) string {
	if ends := thoughtsEnd.FindAllStringIndex(text, -1); len(ends) > 0 {
		text = text[ends[len(ends)-1][1]:]
	}
	return text
}

// objectIn returns the last complete JSON object in a text, without thoughts, drafts, the words or the code fence
// around it. What is within another object or a list does not count. A text without such an object is returned whole.
func objectIn(text string) []byte {
	objects := objectsIn(text)
	return objects[len(objects)-1]
}

// objectsIn returns the complete JSON objects in a text, as objectIn does. There is at least one: the text itself, if
// it has none, or breaks off within one.
func objectsIn(text string) [][]byte {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "`") { // else a quote in it may look like that
		text = strings.TrimSpace(afterThoughts(text))
	}
	objects := [][]byte{[]byte(text)}
	for at := 0; at < len(text); {
		begins := strings.IndexAny(text[at:], "{[")
		if begins < 0 || thoughtsBegin.MatchString(text[at:at+begins]) {
			break // what follows are thoughts that never end
		}
		at += begins
		decoder := json.NewDecoder(strings.NewReader(text[at:]))
		var value json.RawMessage
		var syntax *json.SyntaxError
		switch err := decoder.Decode(&value); {
		case err == nil:
			if bytes.IndexByte(value, '{') >= 0 { // and not "[1]"
				objects = append(objects, value)
			}
			at += len(value)
		case errors.As(err, &syntax):
			at += max(int(syntax.Offset)-1, 1)
		default: // the text ends within it
			return append(objects, []byte(text))
		}
	}
	if len(objects) > 1 {
		return objects[1:]
	}
	return objects
}

// readObject reads a JSON object into a value. Its members, and those of objects within it, are named exactly, each at
// most once: encoding/json alone would take the last of several, in whatever case.
func readObject(object []byte, into any, names ...string) error {
	if err := json.Unmarshal(object, into); err != nil {
		return malformed(err)
	}
	return checkNames(json.NewDecoder(bytes.NewReader(object)), names)
}

// checkNames checks the names of the members of the next value of a decoder, which is valid JSON.
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
				return unusablef("%q is there more than once", name)
			case wanted >= 0 && names[wanted] != name:
				return unusablef("it has %q instead of %q", name, names[wanted])
			}
			seen = append(seen, name)
		}
		if err := checkNames(decoder, names); err != nil {
			return err
		}
	}
	_, _ = decoder.Token() // the end of it
	return nil
}

// malformed says that an answer is not the requested JSON, because of err.
func malformed(err error) error {
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return unusablef("it is not the JSON object that is asked for (%q cannot be a JSON %s)", mistyped.Field,
			mistyped.Value)
	}
	return unusablef("it is not the JSON object that is asked for (%v)", err)
}

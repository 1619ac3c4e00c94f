package endpoint

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/model"
)

// minSecret is the minimum length of a text to hide, in characters. Shorter texts are part of too many words.
const minSecret = 4

// schemes are schemes of Authorization. They are not secret, and frequent in ordinary responses.
var schemes = []string{"basic", "bearer", "digest", "token"}

// secrets are texts to hide, in lower case, longest first.
type secrets []string

// newSecrets returns the values of headers and their parts, such as the token after "Bearer" or the value of a cookie.
func newSecrets(headers map[string]string) secrets {
	var s secrets
	for name, value := range headers {
		if model.IsReservedHeader(name) {
			continue // never sent, so no answer repeats it
		}
		switch http.CanonicalHeaderKey(name) {
		case "Accept", "Accept-Language", "Content-Type", "User-Agent":
			continue // public, and frequent in ordinary responses
		}
		s.addSecret(value)
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" \t,;=", r) }) {
			if !slices.Contains(schemes, lower(part)) {
				s.addSecret(part)
			}
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return s
}

// addSecret adds a text, and its JSON escaping if that differs.
func (s *secrets) addSecret(text string) {
	if utf8.RuneCountInString(text) < minSecret {
		return
	}
	*s = append(*s, lower(text))
	if quoted, err := json.Marshal(text); err == nil && string(quoted[1:len(quoted)-1]) != text {
		*s = append(*s, lower(string(quoted[1:len(quoted)-1])))
	}
}

func (s secrets) longest() int {
	if len(s) == 0 {
		return 0
	}
	return len(s[0])
}

// redact replaces the secrets in a text, ignoring the case of A to Z. Overlapping secrets are replaced together.
func (s secrets) redact(text string) string { return s.redactPrefix(text, len(text)) }

// redactPrefix does the same as redact, but returns only the first bytes of the text, up to the limit. It also replaces
// a secret that begins in them and ends later.
func (s secrets) redactPrefix(text string, limit int) string {
	spelled := lower(text)
	var found [][2]int
	for _, secret := range s {
		for from := 0; ; {
			at := strings.Index(spelled[from:], secret)
			if at < 0 {
				break
			}
			found = append(found, [2]int{from + at, from + at + len(secret)})
			from += at + len(secret)
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var shown strings.Builder
	rest := 0
	for _, secret := range found {
		begin, end := secret[0], secret[1]
		if begin >= limit {
			break
		}
		if begin >= rest {
			shown.WriteString(text[rest:begin] + "[hidden]")
		}
		rest = max(rest, end)
	}
	if limit = min(limit, len(text)); rest < limit {
		shown.WriteString(text[rest:limit])
	}
	return shown.String()
}

// lower returns a text of the same length with the letters A to Z in lower case.
func lower(text string) string {
	spelled := []byte(text)
	for i, c := range spelled {
		if 'A' <= c && c <= 'Z' {
			spelled[i] = c + 'a' - 'A'
		}
	}
	return string(spelled)
}

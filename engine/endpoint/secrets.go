package endpoint

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// minSecret is the length from which on a text is hidden: shorter ones are in too many words.
const minSecret = 8

// secrets are texts that must not be repeated, the longest first.
type secrets []string

// newSecrets returns the values of headers, and their parts: the token after "Bearer", the value of a cookie.
func newSecrets(headers map[string]string) secrets {
	var s secrets
	for name, value := range headers {
		switch http.CanonicalHeaderKey(name) {
		case "Accept", "Accept-Language", "Content-Type", "User-Agent":
			continue // known to everybody, and frequent in honest answers
		}
		s.add(value)
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" \t,;=", r) }) {
			s.add(part)
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return s
}

// add adds a text as it is and as JSON spells it.
func (s *secrets) add(text string) {
	if len(text) < minSecret {
		return
	}
	*s = append(*s, text)
	if quoted, err := json.Marshal(text); err == nil && string(quoted[1:len(quoted)-1]) != text {
		*s = append(*s, string(quoted[1:len(quoted)-1]))
	}
}

// hide replaces the secrets in a text.
func (s secrets) hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "[hidden]")
	}
	return text
}

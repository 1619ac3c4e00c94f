package endpoint

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/model"
)

// minSecret is the minimum length of a text to hide, in characters. Shorter texts are part of too many words.
const minSecret = 4

// schemes are schemes of Authorization. They are not secret, and frequent in ordinary responses.
var schemes = []string{"basic", "bearer", "digest", "token"}

// secrets are texts to hide, in lower case, longest first.
type secrets []string

// newSecrets returns the values of headers and their parts, such as the token after "Bearer", the password in "Basic"
// or the value of a cookie.
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
		s.addBasic(value)
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" \t,;=", r) }) {
			if !slices.Contains(schemes, lower(part)) {
				s.addSecret(part)
			}
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(s)
}

func (s *secrets) addSecret(text string) {
	if utf8.RuneCountInString(text) >= minSecret {
		*s = append(*s, lower(text))
	}
}

// addBasic adds the user with the password, and the password alone, if the value has the scheme Basic.
func (s *secrets) addBasic(value string) {
	scheme, encoded, _ := strings.Cut(value, " ")
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(encoded), "="))
	if err != nil || lower(scheme) != "basic" {
		return
	}
	s.addSecret(string(decoded))
	if _, password, isPair := strings.Cut(string(decoded), ":"); isPair {
		s.addSecret(password)
	}
}

// longest returns the length in bytes that the longest secret has if each of its bytes is escaped.
func (s secrets) longest() int {
	if len(s) == 0 {
		return 0
	}
	return len(s[0]) * len(`\\u0000`)
}

// maxEscapes bounds how often a text is unescaped: JSON, and JSON in a string of JSON.
const maxEscapes = 2

// redact replaces the secrets in a text, ignoring the case of A to Z and the escapes of JSON. Overlapping secrets are
// replaced together.
func (s secrets) redact(text string) string { return s.redactPrefix(text, len(text)) }

// redactPrefix does the same as redact, but returns only the first bytes of the text, up to the limit. It also replaces
// a secret that begins in them and ends later.
func (s secrets) redactPrefix(text string, limit int) string {
	var shown strings.Builder
	rest := 0
	for begin, end := range s.find(text) {
		if begin >= limit {
			break
		}
		if end == 0 {
			continue
		}
		if begin >= rest {
			shown.WriteString(text[rest:begin] + "[hidden]")
		}
		rest = max(rest, int(end))
	}
	if limit = min(limit, len(text)); rest < limit {
		shown.WriteString(text[rest:limit])
	}
	return shown.String()
}

// find returns, for each byte of a text, the end of the longest secret that begins there, or 0. It returns nil if there
// is none. Its size does not depend on how often secrets overlap.
func (s secrets) find(text string) (ends []int32) {
	var positions []int32 // of the bytes of spelled in the text; nil while both are equally long
	spelled := lower(text)
	for level := 0; ; level++ {
		for _, secret := range s {
			for from := 0; ; {
				at := strings.Index(spelled[from:], secret)
				if at < 0 {
					break
				}
				begin := from + at
				from = begin + len(secret)
				end := int32(from)
				if positions != nil {
					begin, end = int(positions[begin]), positions[from]
				}
				if ends == nil {
					ends = make([]int32, len(text))
				}
				ends[begin] = max(ends[begin], end)
			}
		}
		if level == maxEscapes || len(s) == 0 || !strings.Contains(spelled, `\`) {
			return ends
		}
		spelled, positions = unescape(spelled, positions)
	}
}

// unescape returns a text in lower case without the escapes of JSON strings, and the position of each of its bytes and
// of its end. The positions refer to the text or, if the text has positions itself, to the earlier text that these
// refer to.
func unescape(text string, earlier []int32) (string, []int32) {
	plain, positions := make([]byte, 0, len(text)), make([]int32, 0, len(text)+1)
	for at := 0; at < len(text); {
		r, size := escapedRune(text[at:])
		position := int32(at)
		if earlier != nil {
			position = earlier[at]
		}
		if size == 0 {
			plain, size = append(plain, text[at]), 1
		} else {
			plain = utf8.AppendRune(plain, r)
		}
		for len(positions) < len(plain) {
			positions = append(positions, position)
		}
		at += size
	}
	end := int32(len(text))
	if earlier != nil {
		end = earlier[len(text)]
	}
	return lower(string(plain)), append(positions, end)
}

// escapedRune returns the character of the escape of a JSON string at the beginning of a text, and the length of the
// escape, or 0 if there is none.
func escapedRune(text string) (rune, int) {
	if len(text) < 2 || text[0] != '\\' {
		return 0, 0
	}
	if at := strings.IndexByte(`"\/bfnrt`, text[1]); at >= 0 {
		return rune("\"\\/\b\f\n\r\t"[at]), 2
	}
	first := codeUnit(text)
	if second := codeUnit(text[min(6, len(text)):]); utf16.IsSurrogate(first) && second >= 0 {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, 12
		}
	}
	if first < 0 {
		return 0, 0
	}
	return first, 6
}

// codeUnit returns the number in the escape \uXXXX at the beginning of a text, or -1.
func codeUnit(text string) rune {
	if len(text) < 6 || text[:2] != `\u` {
		return -1
	}
	unit, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
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

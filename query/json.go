package query

import "bytes"

// The functions in this file require valid JSON. Postgres returns only valid JSON.

func skipSpace(src []byte, at int) int {
	for at < len(src) && (src[at] == ' ' || src[at] == '\n' || src[at] == '\t' || src[at] == '\r') {
		at++
	}
	return at
}

// skipString returns the index after the string whose opening quote is at the index.
func skipString(src []byte, at int) int {
	for at++; at < len(src); {
		end := bytes.IndexByte(src[at:], '"')
		if end < 0 {
			break
		}
		at += end
		backslashes := 0
		for src[at-1-backslashes] == '\\' {
			backslashes++
		}
		at++
		if backslashes%2 == 0 {
			return at
		}
	}
	return len(src)
}

// skipValue returns the index after the value that starts at the index.
func skipValue(src []byte, at int) int {
	switch src[at] {
	case '"':
		return skipString(src, at)
	case '{', '[':
		depth := 0
		for at < len(src) {
			switch src[at] {
			case '"':
				at = skipString(src, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			at++
			if depth == 0 {
				return at
			}
		}
		return at
	}
	for at < len(src) {
		switch src[at] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return at
		}
		at++
	}
	return at
}

// reader iterates over the members of an object or the elements of an array.
type reader struct {
	src []byte
	at  int
	// name is the raw name of the member, without quotes.
	name, value []byte
}

// open starts reading src, and reports whether it starts with the bracket.
func (r *reader) open(src []byte, bracket byte) bool {
	r.src, r.at = src, skipSpace(src, 0)
	if r.at >= len(src) || src[r.at] != bracket {
		return false
	}
	r.at = skipSpace(src, r.at+1)
	return true
}

// member moves to the next member of an object, and returns false at its end.
func (r *reader) member() bool {
	if r.at >= len(r.src) || r.src[r.at] != '"' {
		return false
	}
	end := skipString(r.src, r.at)
	r.name = r.src[r.at+1 : end-1]
	r.at = skipSpace(r.src, skipSpace(r.src, end)+1) // after the colon
	r.takeValue()
	return true
}

// element moves to the next element of an array, and returns false at its end.
func (r *reader) element() bool {
	if r.at >= len(r.src) || r.src[r.at] == ']' {
		return false
	}
	r.takeValue()
	return true
}

func (r *reader) takeValue() {
	end := skipValue(r.src, r.at)
	r.value = r.src[r.at:end]
	r.at = skipSpace(r.src, end)
	if r.at < len(r.src) && r.src[r.at] == ',' {
		r.at = skipSpace(r.src, r.at+1)
	}
}

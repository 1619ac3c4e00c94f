package static

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter splits the pieces of a text further. Tokens do not cross the ends of pieces.
type splitter func([]string) []string

// readSplitter returns the splitter that the pre_tokenizer of tokenizer.json describes. Without one, a text is one
// piece.
func readSplitter(text json.RawMessage) (splitter, error) {
	if isNull(text) {
		return func(pieces []string) []string { return pieces }, nil
	}
	var part struct {
		Type          string            `json:"type"`
		PreTokenizers []json.RawMessage `json:"pretokenizers"`
		Behavior      string            `json:"behavior"`
		Individual    bool              `json:"individual_digits"`
		Replacement   string            `json:"replacement"`
		Scheme        string            `json:"prepend_scheme"`
		AddPrefix     *bool             `json:"add_prefix_space"`
		Split         *bool             `json:"split"`
	}
	if err := json.Unmarshal(text, &part); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	switch part.Type {
	case "Sequence":
		return splitInTurn(part.PreTokenizers)
	case "BertPreTokenizer":
		return splitEach(fields(bertClass)), nil
	case "Whitespace":
		return splitEach(fields(wordClass)), nil
	case "WhitespaceSplit":
		return splitEach(strings.Fields), nil
	case "Punctuation":
		if part.Behavior == "" || part.Behavior == "Isolated" {
			return splitEach(fields(punctuationClass)), nil
		}
		return nil, fmt.Errorf("pre_tokenizer: Punctuation with the behavior %q is not supported", part.Behavior)
	case "Digits":
		return splitEach(fields(digitClass(part.Individual))), nil
	case "Metaspace":
		m := metaspace{part.Replacement, part.Scheme, part.Split == nil || *part.Split}
		if m.scheme == "" && (part.AddPrefix == nil || *part.AddPrefix) {
			m.scheme = "always"
		}
		return m.splitPieces, nil
	}
	return nil, fmt.Errorf("pre_tokenizer: the type %q is not supported", part.Type)
}

func splitInTurn(parts []json.RawMessage) (splitter, error) {
	all, err := readParts(parts, readSplitter)
	return func(pieces []string) []string {
		for _, split := range all {
			pieces = split(pieces)
		}
		return pieces
	}, err
}

func splitEach(split func(string) []string) splitter {
	return func(pieces []string) []string {
		var parts []string
		for _, piece := range pieces {
			parts = append(parts, split(piece)...)
		}
		return parts
	}
}

// These are the classes of characters. Neighbors of one class stay together, except in the class alone, whose
// characters are pieces of their own. A character of the class omitted ends a piece and belongs to none.
const (
	omitted = iota
	alone
	other
	word
	digit
)

// fields returns a function that splits a text where the class of characters changes.
func fields(class func(rune) int) func(string) []string {
	return func(text string) []string {
		var parts []string
		start, previous := 0, omitted
		end := func(at int) {
			if previous != omitted && at > start {
				parts = append(parts, text[start:at])
			}
			start = at
		}
		for at, r := range text {
			c := class(r)
			if c != previous || c == alone {
				end(at)
			}
			previous = c
		}
		end(len(text))
		return parts
	}
}

func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) || r < utf8.RuneSelf && r > ' ' && r != 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

func bertClass(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return omitted
	case isPunctuation(r):
		return alone
	}
	return word
}

func punctuationClass(r rune) int {
	if isPunctuation(r) {
		return alone
	}
	return word
}

// wordClass separates words from other characters, as the regular expression \w+|[^\w\s]+ does.
func wordClass(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return omitted
	case unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic):
		return word
	}
	return other
}

func digitClass(areAlone bool) func(rune) int {
	return func(r rune) int {
		switch {
		case !unicode.IsNumber(r):
			return word
		case areAlone:
			return alone
		}
		return digit
	}
}

// metaspace marks spaces with a character, so that tokens contain them.
type metaspace struct {
	mark string
	// scheme says which pieces get a mark at their beginning even without a space there: "always" means all pieces,
	// "first" the first piece, and "never" none.
	scheme string
	splits bool
}

func (m metaspace) splitPieces(pieces []string) []string {
	var parts []string
	for i, piece := range pieces {
		piece = strings.ReplaceAll(piece, " ", m.mark)
		if (m.scheme == "always" || m.scheme == "first" && i == 0) && !strings.HasPrefix(piece, m.mark) {
			piece = prepended(piece, m.mark)
		}
		if !m.splits {
			parts = append(parts, piece)
			continue
		}
		for piece != "" {
			_, size := utf8.DecodeRuneInString(piece)
			end := strings.Index(piece[size:], m.mark) + size
			if end < size {
				end = len(piece)
			}
			parts = append(parts, piece[:end])
			piece = piece[end:]
		}
	}
	return parts
}

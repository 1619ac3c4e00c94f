package static

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// tokenizer cuts texts into tokens as a tokenizer.json of Hugging Face describes it. Special tokens are never added,
// and their names in a text are read as text.
type tokenizer struct {
	// tokens is one more than the highest id.
	tokens    int
	normalize normalizer
	split     splitter
	// cut appends the ids of a piece's tokens. A token that is not in the vocabulary has no id.
	cut func(ids []int, piece string) []int
}

// readTokenizer returns the tokenizer that a tokenizer.json describes. If a part has an unsupported type, the error
// names the part.
func readTokenizer(text []byte) (*tokenizer, error) {
	var file struct {
		Normalizer   json.RawMessage `json:"normalizer"`
		PreTokenizer json.RawMessage `json:"pre_tokenizer"`
		Model        json.RawMessage `json:"model"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	t := &tokenizer{}
	var err error
	if t.normalize, err = readNormalizer(file.Normalizer); err != nil {
		return nil, err
	}
	if t.split, err = readSplitter(file.PreTokenizer); err != nil {
		return nil, err
	}
	var model struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(file.Model, &model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	switch model.Type {
	case "WordPiece":
		err = t.readWordPiece(file.Model)
	case "Unigram":
		err = t.readUnigram(file.Model)
	default:
		err = fmt.Errorf("the type %q is not supported, only WordPiece and Unigram are", model.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return t, nil
}

// encode returns the ids of a text's known tokens.
func (t *tokenizer) encode(text string) []int {
	var ids []int
	for _, piece := range t.split([]string{t.normalize(text)}) {
		if piece != "" {
			ids = t.cut(ids, piece)
		}
	}
	return ids
}

// readWordPiece sets cut to a function that takes the longest token at each position of a word. If a part of the
// word matches no token, the word has no tokens.
func (t *tokenizer) readWordPiece(text []byte) error {
	var model struct {
		Vocabulary map[string]int `json:"vocab"`
		Prefix     *string        `json:"continuing_subword_prefix"`
		MaxLetters int            `json:"max_input_chars_per_word"`
		Unknown    string         `json:"unk_token"`
	}
	if err := json.Unmarshal(text, &model); err != nil {
		return err
	}
	prefix, longest := "##", 0
	if model.Prefix != nil {
		prefix = *model.Prefix
	}
	for token, id := range model.Vocabulary {
		if id < 0 || id > math.MaxInt32 {
			return fmt.Errorf("the token %q has the id %d", token, id)
		}
		t.tokens, longest = max(t.tokens, id+1), max(longest, len(token))
	}
	unknown, hasUnknown := model.Vocabulary[model.Unknown]
	t.cut = func(ids []int, word string) []int {
		if model.MaxLetters > 0 && utf8.RuneCountInString(word) > model.MaxLetters {
			return ids
		}
		before, start := len(ids), ""
		for rest := word; rest != ""; start = prefix {
			end := min(len(rest), longest)
			id, known := 0, false
			for ; end > 0; end-- {
				if id, known = model.Vocabulary[start+rest[:end]]; known {
					break
				}
			}
			if !known {
				return ids[:before]
			}
			if rest = rest[end:]; !hasUnknown || id != unknown {
				ids = append(ids, id)
			}
		}
		return ids
	}
	return nil
}

// unknownCost is how much less likely an unknown letter is than the least likely token, as a logarithm.
const unknownCost = 10

// readUnigram sets cut to a function that takes the tokens of a piece that are the most likely together.
func (t *tokenizer) readUnigram(text []byte) error {
	var model struct {
		Vocabulary [][2]any `json:"vocab"`
		Unknown    *int     `json:"unk_id"`
		Bytes      bool     `json:"byte_fallback"`
	}
	if err := json.Unmarshal(text, &model); err != nil {
		return err
	}
	if model.Bytes {
		return errors.New("byte_fallback is not supported")
	}
	v := vocabulary{ids: make(map[string]int, len(model.Vocabulary)), unknown: -1}
	least := 0.0
	for id, entry := range model.Vocabulary {
		token, isText := entry[0].(string)
		score, isNumber := entry[1].(float64)
		if !isText || !isNumber {
			return fmt.Errorf("entry %d of the vocabulary is not a token with a score", id)
		}
		v.ids[token] = id
		v.scores, v.longest, least = append(v.scores, score), max(v.longest, len(token)), min(least, score)
	}
	if model.Unknown != nil {
		v.unknown = *model.Unknown
	}
	v.unknownScore = least - unknownCost
	t.tokens, t.cut = len(model.Vocabulary), v.cut
	return nil
}

// vocabulary has the tokens of a Unigram model with their scores, which are logarithms of probabilities.
type vocabulary struct {
	ids          map[string]int
	scores       []float64
	longest      int
	unknown      int
	unknownScore float64
}

// step is the best way to a position of a piece: where its last token begins, and the token's id or -1.
type step struct {
	score float64
	from  int
	id    int
}

// cut finds the most likely tokens with the Viterbi algorithm.
func (v *vocabulary) cut(ids []int, piece string) []int {
	steps := make([]step, len(piece)+1)
	for i := range steps[1:] {
		steps[i+1].score = math.Inf(-1)
	}
	for from, letter := range piece {
		if math.IsInf(steps[from].score, -1) {
			continue
		}
		isLetterKnown, size := false, utf8.RuneLen(letter)
		for end := from + size; end <= min(len(piece), from+v.longest); end++ {
			id, known := v.ids[piece[from:end]]
			if !known {
				continue
			}
			isLetterKnown = isLetterKnown || end == from+size
			steps[end].improve(step{steps[from].score + v.scores[id], from, id})
		}
		if !isLetterKnown {
			steps[from+size].improve(step{steps[from].score + v.unknownScore, from, -1})
		}
	}
	before := len(ids)
	for end := len(piece); end > 0; end = steps[end].from {
		if id := steps[end].id; id >= 0 && id != v.unknown {
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids[before:])
	return ids
}

func (s *step) improve(other step) {
	if other.score > s.score {
		*s = other
	}
}

// readParts reads the parts of a Sequence.
func readParts[T any](parts []json.RawMessage, read func(json.RawMessage) (T, error)) ([]T, error) {
	all := make([]T, 0, len(parts))
	for _, part := range parts {
		one, err := read(part)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// isNull reports whether a part of the file is missing.
func isNull(part json.RawMessage) bool {
	text := strings.TrimSpace(string(part))
	return text == "" || text == "null"
}

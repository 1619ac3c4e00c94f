package knowledge

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/abadojack/whatlanggo"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// A language is recognized from samples. A sample has at most sampleBytes bytes of each chunk. It has more than one
	// chunk if the first is shorter than that. maxSamples bounds the chunks of a document in all its samples.
	sampleBytes, maxSamples = 1_000, 100
	// minSampleBytes is the length of the shortest text whose language is recognized.
	minSampleBytes = 150
	// minShare is the minimum share of a language in the samples whose language is recognized. maxLanguages bounds a
	// document's languages.
	minShare, maxLanguages = 0.2, 3
)

// languagesOf returns the main languages of a document that have a stemmer, the most frequent first, at most
// maxLanguages. It returns nil if none is recognized.
func languagesOf(chunks []*model.Chunk) []string {
	shares := map[string]float64{}
	var text strings.Builder
	every := 1 + len(chunks)/maxSamples
	for i := 0; i < len(chunks); i += every {
		content := chunks[i].Content
		text.WriteString(strings.ToValidUTF8(content[:min(len(content), sampleBytes)], "") + "\n")
		if text.Len() < sampleBytes && i+every < len(chunks) {
			continue
		}
		shares[languageOf(text.String())] += float64(text.Len())
		text.Reset()
	}
	delete(shares, "")
	all := 0.0
	for _, share := range shares {
		all += share
	}
	known := slices.DeleteFunc(slices.Collect(maps.Keys(shares)), func(language string) bool {
		return shares[language] < minShare*all || !slices.Contains(model.Languages, language)
	})
	if len(known) == 0 {
		return nil
	}
	slices.SortFunc(known, func(a, b string) int { return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b)) })
	return known[:min(len(known), maxLanguages)]
}

// languageOf returns the language of a text, or "" if it is not recognized. If the text is too
// short or ambiguous to be sure, a script with one dominant language counts as that language.
func languageOf(text string) string {
	if len(text) < minSampleBytes {
		return ""
	}
	switch detected := whatlanggo.Detect(text); {
	case detected.IsReliable() && (detected.Lang == whatlanggo.Nob || detected.Lang == whatlanggo.Nno):
		return "no" // both forms of Norwegian have the same stemmer
	case detected.IsReliable():
		return detected.Lang.Iso6391()
	case detected.Script == unicode.Cyrillic:
		return "ru"
	case detected.Script == unicode.Arabic:
		return "ar"
	case detected.Script == unicode.Devanagari:
		return "hi"
	}
	return ""
}

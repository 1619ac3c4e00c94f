package db

import "strings"

// configurations are the text search configurations by which the words of languages are stemmed. Stop words of English
// and of French are stemmed by neither.
var configurations = map[string]string{
	"ar": "pg_catalog.arabic", "ca": "pg_catalog.catalan", "da": "pg_catalog.danish", "de": "pg_catalog.german",
	"el": "pg_catalog.greek",
	"en": "knowledge_english", "es": "pg_catalog.spanish", "eu": "pg_catalog.basque", "fi": "pg_catalog.finnish",
	"fr": "knowledge_french",
	"ga": "pg_catalog.irish", "hi": "pg_catalog.hindi", "hu": "pg_catalog.hungarian", "hy": "pg_catalog.armenian",
	"id": "pg_catalog.indonesian", "it": "pg_catalog.italian", "lt": "pg_catalog.lithuanian", "ne": "pg_catalog.nepali",
	"nl": "pg_catalog.dutch", "no": "pg_catalog.norwegian", "pt": "pg_catalog.portuguese", "ro": "pg_catalog.romanian",
	"ru": "pg_catalog.russian", "sr": "pg_catalog.serbian", "sv": "pg_catalog.swedish", "ta": "pg_catalog.tamil",
	"tr": "pg_catalog.turkish",
	"yi": "pg_catalog.yiddish",
}

// searchTerms is an expression for the terms of words in the languages, from expressions for these words as they are
// folded and as they are written, both parted by spaces. Chunks and questions have theirs from here. A stem of a folded
// word is one more term, so that what is typed without accents is found too. Stems of the first language have the
// places of their words, which tell how often a text says them.
func searchTerms(languages []string, folded, written string) string {
	terms := "strip(to_tsvector('pg_catalog.simple', " + folded + "))"
	for i, language := range languages {
		if i == 0 {
			terms += " || " + stems(language, folded) + " || strip(" + stems(language, written) + ")"
			continue
		}
		terms += " || strip(" + stems(language, folded+" || ' ' || "+written) + ")"
	}
	return terms
}

// stems is an expression for the stems of words. It is empty for stop words, and for languages that Postgres does not
// know.
func stems(language, words string) string {
	configuration, isKnown := configurations[language]
	switch {
	case !isKnown:
		return "''::tsvector"
	case language == "fr":
		// The stemmer finds "é" and "ée" by their accents: without these they are made the same.
		words = "replace(replace(" + words + " || ' ', 'ees ', 'es '), 'ee ', 'e ')"
	}
	return "to_tsvector('" + configuration + "', " + words + ")"
}

// isStopWord is an expression for whether one of the languages drops a word.
func isStopWord(languages []string, folded, written string) string {
	each := []string{"false"}
	for _, language := range languages {
		if configurations[language] != "" {
			each = append(each, stems(language, folded)+" = ''", "("+written+" <> '' AND "+stems(language, written)+" = '')")
		}
	}
	return strings.Join(each, " OR ")
}

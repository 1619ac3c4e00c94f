package db

import "strings"

// configurations are the text search configurations that stem the words of languages. Those for English and French
// leave out the stop words of both languages.
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

// searchTerms returns an expression for the terms of words in the languages. Its arguments are expressions for the
// folded words and for the words as written, each separated by spaces. Chunks and questions both use it. The stem of
// a folded word is an additional term, so that words typed without accents are found. Stems of the first language
// keep the positions of their words, which give term frequencies.
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

// stems returns an expression for the stems of words. The result is empty for stop words, and for languages that
// Postgres does not know.
func stems(language, words string) string {
	configuration, isKnown := configurations[language]
	switch {
	case !isKnown:
		return "''::tsvector"
	case language == "fr":
		// The stemmer recognizes "é" and "ée" by their accents. The replacement makes both endings equal without accents.
		words = "replace(replace(" + words + " || ' ', 'ees ', 'es '), 'ee ', 'e ')"
	}
	return "to_tsvector('" + configuration + "', " + words + ")"
}

// isStopWord returns an expression that is true if a word is a stop word in one of the languages.
func isStopWord(languages []string, folded, written string) string {
	each := []string{"false"}
	for _, language := range languages {
		if configurations[language] != "" {
			each = append(each, stems(language, folded)+" = ''", "("+written+" <> '' AND "+stems(language, written)+" = '')")
		}
	}
	return strings.Join(each, " OR ")
}

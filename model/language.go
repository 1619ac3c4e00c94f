package model

// AnyLanguage means that the languages of a dataset's documents are detected.
const AnyLanguage = "auto"

// Languages are the languages with stemming, as ISO 639-1 codes.
var Languages = []string{
	"ar", "ca", "da", "de", "el", "en", "es", "eu", "fi", "fr", "ga", "hi", "hu", "hy", "id", "it", "lt", "ne", "nl", "no",
	"pt", "ro",
	"ru", "sr", "sv", "ta", "tr", "yi",
}

// UnknownLanguages are the languages of documents in which no language with stemming was detected, or that an older
// version indexed.
var UnknownLanguages = []string{"en", "fr"}

package model

// AnyLanguage says that the languages of a dataset's documents are detected.
const AnyLanguage = "auto"

// Languages are those whose words are stemmed, as ISO 639-1 has them.
var Languages = []string{
	"ar", "ca", "da", "de", "el", "en", "es", "eu", "fi", "fr", "ga", "hi", "hu", "hy", "id", "it", "lt", "ne", "nl", "no",
	"pt", "ro",
	"ru", "sr", "sv", "ta", "tr", "yi",
}

// UnknownLanguages are those of documents that tell too little, or were indexed before languages were detected.
var UnknownLanguages = []string{"en", "fr"}

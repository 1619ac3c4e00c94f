package rest

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// isJSON reports whether a Content-Type is JSON in UTF-8.
func isJSON(contentType string) bool {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	if charset, given := parameters["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	suffixed, ok := strings.CutPrefix(media, "application/")
	return media == "application/json" || media == "text/json" ||
		ok && len(suffixed) > len("+json") && strings.HasSuffix(suffixed, "+json")
}

// acceptsJSON reports whether the Accept headers allow a JSON response. Only a weight of 0 for JSON forbids it: v1 sent
// JSON even to clients that accepted only other types. Malformed ranges are skipped.
func acceptsJSON(h http.Header) bool {
	weight, isNamed := weightOf(h, "application/json", "text/json", "application/problem+json")
	return !isNamed || weight > 0
}

// prefersCSV reports whether the Accept headers give CSV a higher weight than JSON.
func prefersCSV(h http.Header) bool {
	csv, _ := weightOf(h, "text/csv")
	json, _ := weightOf(h, "application/json", "text/json", "application/*", "*/*")
	return csv > json
}

// weightOf returns the highest weight of the media types in the Accept headers. isNamed is false if the headers name
// none of them.
func weightOf(h http.Header, types ...string) (weight float64, isNamed bool) {
	for _, header := range h.Values("Accept") {
		for text := range strings.SplitSeq(header, ",") {
			media, parameters, err := mime.ParseMediaType(text)
			if err != nil || !slices.Contains(types, media) {
				continue
			}
			one, err := strconv.ParseFloat(parameters["q"], 64)
			if err != nil {
				one = 1
			}
			weight, isNamed = max(weight, one), true
		}
	}
	return weight, isNamed
}

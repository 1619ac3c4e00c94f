package rest

import (
	"mime"
	"net/http"
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
	refused := false
	for _, header := range h.Values("Accept") {
		for text := range strings.SplitSeq(header, ",") {
			media, parameters, err := mime.ParseMediaType(text)
			if err != nil {
				continue
			}
			switch media {
			case "application/json", "text/json", "application/problem+json":
				weight, err := strconv.ParseFloat(parameters["q"], 64)
				if err != nil || weight > 0 {
					return true
				}
				refused = true
			}
		}
	}
	return !refused
}

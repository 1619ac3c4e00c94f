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

// acceptsJSON reports whether the Accept headers allow a response in JSON. The most specific matching range decides.
// Malformed ranges are skipped.
func acceptsJSON(h http.Header) bool {
	accepted, decisive, readable := false, 0, 0
	for _, header := range h.Values("Accept") {
		for text := range strings.SplitSeq(header, ",") {
			media, parameters, err := mime.ParseMediaType(text)
			if err != nil {
				continue
			}
			readable++
			specific := specificity(media)
			weight, err := strconv.ParseFloat(parameters["q"], 64)
			wanted := err != nil || weight > 0
			switch {
			case specific == 0 || specific < decisive:
			case specific > decisive:
				accepted, decisive = wanted, specific
			default:
				accepted = accepted || wanted
			}
		}
	}
	return accepted || readable == 0
}

// specificity is how exactly a media range names JSON, or 0 if it does not.
func specificity(media string) int {
	switch media {
	case "application/json", "text/json", "application/problem+json":
		return 3
	case "application/*", "text/*":
		return 2
	case "*/*":
		return 1
	default:
		return 0
	}
}

package read

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter parses Retry-After, as seconds or a date. It returns at most a day. It returns 0 if the header is missing,
// invalid or in the past.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int((24*time.Hour).Seconds()))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(at), 0), 24*time.Hour)
	}
	return 0
}

package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// v1PageSize is the largest page of a list that a v1 server returns.
	v1PageSize = 100
	// v1Tries is how often a failing request is sent in total.
	v1Tries = 7
	// v1Answer bounds a response, in bytes. v1AnswerTime bounds the duration of one try.
	v1Answer     = 64 << 20
	v1AnswerTime = time.Minute
	// v1LongestWait bounds the wait that a server may ask for before the next try.
	v1LongestWait = 5 * time.Minute
)

// v1Object is a JSON object of a v1 server. Case is ignored in the names of its members.
type v1Object map[string]json.RawMessage

// raw returns a member, or nil if it is absent or null.
func (o v1Object) raw(name string) json.RawMessage {
	value, isGiven := o[name]
	for other := range o {
		if !isGiven && strings.EqualFold(other, name) {
			value = o[other]
		}
	}
	if string(value) == "null" {
		return nil
	}
	return value
}

func (o v1Object) text(name string) (text string) {
	_ = json.Unmarshal(o.raw(name), &text) // "" if it is not a string
	return text
}

func (o v1Object) number(name string) (number int64, isGiven bool) {
	return number, json.Unmarshal(o.raw(name), &number) == nil
}

func (o v1Object) objects(name string) (objects []v1Object) {
	_ = json.Unmarshal(o.raw(name), &objects)
	return objects
}

// v1Error is a failed response of a v1 server.
type v1Error struct {
	path, detail string
	status       int
}

func (e *v1Error) Error() string {
	text := fmt.Sprintf("GET %s: the v1 server answered %d %s", e.path, e.status, http.StatusText(e.status))
	if e.detail != "" {
		text += ": " + e.detail
	}
	return text
}

// hasStatus reports whether the error is a v1Error with one of the statuses.
func hasStatus(err error, statuses ...int) bool {
	var answered *v1Error
	return errors.As(err, &answered) && slices.Contains(statuses, answered.status)
}

// v1Client reads from a v1 server.
type v1Client struct {
	address, key string
	http         *http.Client
	// pause is the wait before the second try. It doubles for each further try, up to v1AnswerTime.
	pause time.Duration
}

// get decodes the response to a request. It sends the request again if the server is busy, fails, breaks the connection
// or sends a response that cannot be decoded.
func (c *v1Client) get(ctx context.Context, path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	pause := c.pause
	for try := 1; ; try++ {
		wait, err := c.once(ctx, path, into)
		isFinal := wait < 0 || ctx.Err() != nil
		if err == nil || isFinal || try == v1Tries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(pause, min(wait, v1LongestWait))):
		}
		pause = min(2*pause, v1AnswerTime)
	}
}

// once sends a request once. After an error, wait is how long the server asks to wait before the next try. It is
// negative if the request must not be sent again.
func (c *v1Client) once(ctx context.Context, path string, into any) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, v1AnswerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.address, "/")+path, nil)
	if err != nil {
		return -1, err
	}
	request.Header.Set("X-Api-Key", c.key)
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("GET %s: the v1 server cannot be reached: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, v1Answer))
	if response.StatusCode != http.StatusOK {
		problem := v1Object{}
		_ = json.Unmarshal(text, &problem) // not all errors have a body
		answered := &v1Error{path, cmp.Or(problem.text("detail"), problem.text("title")), response.StatusCode}
		if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
			return -1, answered
		}
		return retryAfter(response.Header.Get("Retry-After")), answered
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return 0, fmt.Errorf("GET %s: the response cannot be read: %w", path, err)
	}
	return 0, nil
}

// retryAfter parses the Retry-After header, which has seconds or a time.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, time.Until(at))
}

// list reads all pages of a list, and calls progress after each page. An entry that moves to another page between two
// requests is returned once. total is the count that the server reports, or the number of entries if that is higher.
func (c *v1Client) list(ctx context.Context, path string, query url.Values,
	progress func(read, total int64)) (all []v1Object, total int64, err error) {
	seen := map[string]bool{}
	for number := 1; ; number++ {
		paged := url.Values{"pageNumber": {strconv.Itoa(number)}, "pageSize": {strconv.Itoa(v1PageSize)}}
		maps.Copy(paged, query)
		var answer json.RawMessage
		if err := c.get(ctx, path, paged, &answer); err != nil {
			return all, total, err
		}
		page, some := v1Object{}, []v1Object{}
		isUnpaged := json.Unmarshal(answer, &some) == nil // a list without pages
		if !isUnpaged {
			if err := json.Unmarshal(answer, &page); err != nil {
				return all, total, fmt.Errorf("GET %s: the response is not a list", path)
			}
			some = page.objects("data")
		}
		added := 0
		for _, one := range some {
			id := one.text("id")
			if id == "" || !seen[id] {
				all, added = append(all, one), added+1
			}
			seen[id] = true
		}
		reported, isReported := page.number("total")
		total = max(reported, int64(len(all)))
		progress(int64(len(all)), total)
		if isUnpaged || added == 0 || isReported && int64(len(all)) >= reported || !isReported && len(some) < v1PageSize {
			return all, total, nil
		}
	}
}

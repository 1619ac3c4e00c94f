package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// envelope returns the response's JSON before and after response.Data. A response without data, to a request that was
// not executed, has no "data" entry.
func envelope(response *graphql.Response) (head, tail []byte) {
	head = append(head, '{')
	if len(response.Errors) > 0 {
		head = append(head, `"errors":`...)
		head = append(head, errorsJSON(response.Errors)...)
	}
	if len(response.Data) > 0 {
		if len(head) > 1 {
			head = append(head, ',')
		}
		head = append(head, `"data":`...)
	}
	if len(response.Extensions) > 0 {
		if extensions, err := json.Marshal(response.Extensions); err == nil {
			tail = append(tail, `,"extensions":`...)
			tail = append(tail, extensions...)
		}
	}
	return head, append(tail, '}')
}

// dataHead precedes the data of a response that has only data.
const dataHead = `{"data":`

// completeInPlace returns the JSON of a response that has only data. The data must already be in the buffer after
// dataHead.
func completeInPlace(buffer []byte, response *graphql.Response) (body []byte, ok bool) {
	data := response.Data
	if len(response.Errors) > 0 || len(response.Extensions) > 0 || len(data) == 0 ||
		len(buffer) != len(dataHead)+len(data) || &buffer[len(dataHead)] != &data[0] {
		return nil, false
	}
	return append(buffer, '}'), true
}

func appendResponse(buffer []byte, response *graphql.Response) []byte {
	head, tail := envelope(response)
	buffer = append(buffer, head...)
	buffer = append(buffer, response.Data...)
	return append(buffer, tail...)
}

// Bounds of a response's errors: their number, and the bytes of each message.
const (
	maxErrors  = 10
	maxMessage = 2_000
)

// limitErrors returns the first errors with shortened messages, and an error that counts the omitted ones. A short
// document can cause thousands of errors that quote it.
func limitErrors(errs gqlerror.List) gqlerror.List {
	isLong := func(err *gqlerror.Error) bool { return len(err.Message) > maxMessage }
	if len(errs) <= maxErrors && !slices.ContainsFunc(errs, isLong) {
		return errs
	}
	cut := slices.Clone(errs[:min(len(errs), maxErrors)])
	for i, err := range cut {
		if isLong(err) {
			short := *err
			short.Message = strings.ToValidUTF8(err.Message[:maxMessage], "") + "…"
			cut[i] = &short
		}
	}
	if left := len(errs) - maxErrors; left > 0 {
		cut = append(cut, &gqlerror.Error{Message: fmt.Sprintf("and %d more errors", left),
			Extensions: errs[maxErrors].Extensions})
	}
	return cut
}

// errorsJSON encodes the presenter's errors. They hold only texts, numbers and lists, so encoding cannot fail.
func errorsJSON(errs gqlerror.List) []byte {
	text, _ := json.Marshal(limitErrors(errs))
	return text
}

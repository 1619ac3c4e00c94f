package gateway

import (
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// envelope returns what stands before and behind response.Data in the response's JSON. A response
// without data, which is a request that was not executed, has no "data" entry.
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

// appendResponse appends a whole response to buffer.
func appendResponse(buffer []byte, response *graphql.Response) []byte {
	head, tail := envelope(response)
	buffer = append(buffer, head...)
	buffer = append(buffer, response.Data...)
	return append(buffer, tail...)
}

// errorsJSON encodes errors that the presenter made: texts, numbers and lists, which cannot fail.
func errorsJSON(errs gqlerror.List) []byte {
	text, err := json.Marshal(errs)
	if err != nil {
		return []byte(`[{"message":"internal error","extensions":{"code":"INTERNAL"}}]`)
	}
	return text
}

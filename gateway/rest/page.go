package rest

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// page is the part of a list that a request asks for.
type page struct {
	// number counts from 1; size is 1 to 100.
	number, size int64
}

// pageParameter is a paging parameter of the query string, a number from 1 to limit. standard is its default.
type pageParameter struct {
	name, description string
	standard, limit   int64
}

var (
	pageNumber = pageParameter{"pageNumber", "The number of the page, from 1.", 1, math.MaxInt32}
	pageSize   = pageParameter{"pageSize", "The number of items on a page.", model.DefaultPageSize, model.MaxPageSize}
)

// readPage sets the variables of the page from pageNumber and pageSize. Case is ignored in their names.
func (t *Transport) readPage(given url.Values, variables map[string]any) (page, *problem) {
	var faults model.Fields
	p := page{number: pageNumber.readNumber(given, &faults), size: pageSize.readNumber(given, &faults)}
	// No list is longer than the largest Int, so all pages that start beyond it are empty.
	variables["first"], variables["offset"] = p.size, min((p.number-1)*p.size, math.MaxInt32)
	return p, t.invalid(faults, model.BadInput)
}

func (p pageParameter) readNumber(values url.Values, faults *model.Fields) int64 {
	var given []string
	for key, texts := range values {
		if strings.EqualFold(key, p.name) {
			given = append(given, texts...)
		}
	}
	if len(given) == 0 {
		return p.standard
	}
	if len(given) > 1 {
		faults.Add(p.name, "must be given once")
		return p.standard
	}
	n, err := strconv.ParseInt(given[0], 10, 32)
	if err != nil || n < 1 || n > p.limit {
		faults.Add(p.name, "must be a whole number between 1 and %d", p.limit)
	}
	return n
}

// close returns the end of the list's JSON, which replaces its closing brace.
func (p page) close() []byte {
	return fmt.Appendf(nil, `,"pageNumber":%d,"pageSize":%d}`, p.number, p.size)
}

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

// pageOf reads pageNumber and pageSize, whose names are matched ignoring case.
func pageOf(query string) (page, model.Fields) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return page{}, model.Fields{"query": {"is not a well-formed query string"}}
	}
	var faults model.Fields
	p := page{
		number: number(values, "pageNumber", 1, math.MaxInt32, &faults),
		size:   number(values, "pageSize", model.DefaultPageSize, model.MaxPageSize, &faults),
	}
	return p, faults
}

func number(values url.Values, name string, standard, most int64, faults *model.Fields) int64 {
	var given []string
	for key, texts := range values {
		if strings.EqualFold(key, name) {
			given = append(given, texts...)
		}
	}
	if len(given) == 0 {
		return standard
	}
	if len(given) > 1 {
		faults.Add(name, "must be given once")
		return standard
	}
	n, err := strconv.ParseInt(given[0], 10, 32)
	if err != nil || n < 1 || n > most {
		faults.Add(name, "must be a whole number between 1 and %d", most)
	}
	return n
}

// first and offset express the page in the schema's terms. No list is longer than an Int can count, so any page that
// begins beyond that is just as empty.
func (p page) first() int64  { return p.size }
func (p page) offset() int64 { return min((p.number-1)*p.size, math.MaxInt32) }

// close returns the end of the page's list, in place of its closing brace.
func (p page) close() []byte {
	return fmt.Appendf(nil, `,"pageNumber":%d,"pageSize":%d}`, p.number, p.size)
}

package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
)

// deprecation is the notice that a route, an input or a part of its response will be removed.
type deprecation struct {
	// since is the date of the deprecation, and sunset the date of the removal.
	since, sunset string
}

// leastNotice is the least number of months from the deprecation to the sunset.
const leastNotice = 6

// deprecate sets the headers of the notice. The schema marks what is @deprecated, and the table has the dates. One
// without the other is an error.
func (e *endpoint) deprecate() error {
	e.isDeprecated = deprecates(ast.SelectionSet{e.operation.Fields[0]})
	for _, variable := range e.operation.Variables {
		e.isDeprecated = e.isDeprecated || variable.Directives.ForName("deprecated") != nil
	}
	switch {
	case !e.isDeprecated && e.deprecated == deprecation{}:
		return nil
	case !e.isDeprecated:
		return errors.New("it has the date of a deprecation, but the schema marks none of its fields as @deprecated")
	case e.deprecated == deprecation{}:
		return errors.New("the schema marks one of its fields as @deprecated, but it has no date of the deprecation")
	}
	since, err := time.Parse(time.DateOnly, e.deprecated.since)
	if err != nil {
		return err
	}
	sunset, err := time.Parse(time.DateOnly, e.deprecated.sunset)
	if err != nil {
		return err
	}
	if sunset.Before(since.AddDate(0, leastNotice, 0)) {
		return fmt.Errorf("its sunset is less than %d months after its deprecation", leastNotice)
	}
	e.notice = http.Header{
		"Deprecation": {"@" + strconv.FormatInt(since.Unix(), 10)},
		"Sunset":      {sunset.Format(http.TimeFormat)},
	}
	return nil
}

func deprecates(set ast.SelectionSet) bool {
	return slices.ContainsFunc(stored.FieldsOf(set), func(f *ast.Field) bool {
		return f.Definition.Directives.ForName("deprecated") != nil || deprecates(f.SelectionSet)
	})
}

package provider

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// detailPattern matches names in the errors of providers, such as BadRequestError and messages[0].content. It does not
// match sentences, which could quote a prompt.
var detailPattern = regexp.MustCompile(`^[\w.\[\]-]{1,100}$`)

// detail returns what the provider's error names, for the log: "type=invalid_request_error param=stream_options". It is
// nil if the error names nothing. It never has the provider's message.
func (a *attempt) detail(r providerError) error {
	var named []string
	for _, each := range []struct {
		name  string
		value any
	}{{"type", r.Type}, {"code", r.Code}, {"status", r.Status}, {"param", r.Param}} {
		text := ""
		switch value := each.value.(type) {
		case string, float64:
			text = fmt.Sprint(value)
		}
		key := a.model.config.Key
		if detailPattern.MatchString(text) && (key == "" || !strings.Contains(text, key)) {
			named = append(named, each.name+"="+text)
		}
	}
	if len(named) == 0 {
		return nil
	}
	return errors.New(strings.Join(named, " "))
}

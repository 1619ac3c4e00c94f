package provider

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// codePattern matches the error codes of providers. Messages of providers are not repeated, because they quote keys and
// prompts.
var codePattern = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// providerError is the error of a provider. OpenAI has a code or a type, and a parameter, Anthropic a type, Google a
// status and details.
type providerError struct {
	Code, Type, Status, Param any
	Details                   []struct{ Reason, RetryDelay string }
}

// errorOf returns the error in a response or an event. It is zero if there is none.
func errorOf(body []byte) providerError {
	var within struct {
		Error    providerError
		Code     any // in error events of the format Responses, and of vLLM and llama.cpp, which also have a type
		Type     string
		Param    any
		Response struct{ Error providerError }
	}
	body = bytes.TrimLeft(body, " \t\r\n[")                    // Google may send a list with one error
	_ = json.NewDecoder(bytes.NewReader(body)).Decode(&within) // members of other types are skipped
	if within.Response.Error.Code != nil {
		return within.Response.Error
	}
	if within.Error.Code == nil {
		within.Error.Code = within.Code
	}
	if within.Error.Type == nil && within.Type != "error" {
		within.Error.Type = within.Type
	}
	if within.Error.Param == nil {
		within.Error.Param = within.Param
	}
	return within.Error
}

// cause returns the class of an error within a stream. Some providers report the status that the response should have.
func (r providerError) cause() llm.Cause {
	for _, each := range []any{r.Code, r.Type} {
		switch each {
		case "rate_limit_exceeded", "rate_limit_error", quotaSpent:
			return llm.RateLimited
		case "invalid_request_error":
			return llm.Rejected
		}
	}
	if status := r.status(); status >= http.StatusBadRequest && status < 600 {
		return causeOf(status)
	}
	return llm.Unavailable
}

// isSpent reports whether the account's quota or balance is used up.
func (r providerError) isSpent() bool {
	return r.Code == any(quotaSpent) || r.Type == any(quotaSpent) || r.status() == http.StatusPaymentRequired
}

const quotaSpent = "insufficient_quota"

// status returns the code of an error if it is a number, or else 0.
func (r providerError) status() int {
	switch code := r.Code.(type) {
	case float64:
		return int(code)
	case string:
		number, _ := strconv.Atoi(code)
		return number
	}
	return 0
}

// isOfKey reports whether Google refuses the key. The status of that refusal is 400.
func (r providerError) isOfKey() bool {
	return slices.ContainsFunc(r.Details, func(d struct{ Reason, RetryDelay string }) bool {
		return d.Reason == "API_KEY_INVALID"
	})
}

// retryAfter returns the wait that Google asks for, at most a day, or 0.
func (r providerError) retryAfter() time.Duration {
	for _, detail := range r.Details {
		if delay, err := time.ParseDuration(detail.RetryDelay); err == nil {
			return min(max(delay, 0), 24*time.Hour)
		}
	}
	return 0
}

// code returns the code of the provider's error as " (invalid_api_key)", or "".
func (a *attempt) code(r providerError) string {
	for _, each := range []any{r.Code, r.Type, r.Status} {
		code, _ := each.(string)
		code = strings.ToLower(code)
		if _, err := strconv.Atoi(code); code == "" || err == nil {
			continue
		}
		if len(code) > 40 || !codePattern.MatchString(code) || strings.EqualFold(code, a.model.config.Key) {
			return ""
		}
		return " (" + code + ")"
	}
	if status := r.status(); status >= http.StatusBadRequest && status < 600 && status != a.status {
		return " (" + strconv.Itoa(status) + ")"
	}
	return ""
}

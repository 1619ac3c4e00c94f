package agenttest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// usageShown has the tokens, times and credits of the agent's answers, as the server sends them.
type usageShown struct {
	Answers      int          `json:"answers"`
	Fallbacks    int          `json:"fallbacks"`
	Models       []string     `json:"models"`
	InputTokens  float64      `json:"inputTokens"`
	CachedTokens float64      `json:"cachedTokens"`
	OutputTokens float64      `json:"outputTokens"`
	Credits      float64      `json:"credits"`
	FirstTokenMs *percentiles `json:"firstTokenMs"`
	TookMs       *percentiles `json:"tookMs"`
}

type percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

const usageFields = `usage { answers fallbacks models inputTokens cachedTokens outputTokens credits
	firstTokenMs { p50 p90 p95 p99 max } tookMs { p50 p90 p95 p99 max } }`

// offlineModel is the name of the model that answers by rules. Its times and tokens mean nothing.
const offlineModel = "offline"

// isMeasured reports whether a language model wrote some of the answers.
func (u *usageShown) isMeasured() bool {
	return u != nil && u.Answers > 0 && u.TookMs != nil &&
		slices.ContainsFunc(u.Models, func(name string) bool { return name != offlineModel })
}

// summary returns lines about the answers of language models, or "".
func (u *usageShown) summary() string {
	if !u.isMeasured() {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s by %s: %.0f tokens read (%.0f cached), %.0f written, %s credits\n",
		client.Pluralize(u.Answers, "answer"), client.Printable(strings.Join(u.Models, ", ")), u.InputTokens, u.CachedTokens,
		u.OutputTokens, formatCredits(u.Credits))
	if u.Fallbacks > 0 {
		fmt.Fprintf(&text, "Fallback: %s, because the agent's own model was unavailable\n",
			client.Pluralize(u.Fallbacks, "answer"))
	}
	if first := u.FirstTokenMs; first != nil {
		fmt.Fprintf(&text, "First text: median %s, 90 %% within %s. Whole answer: median %s, 90 %% within %s\n",
			seconds(first.P50), seconds(first.P90), seconds(u.TookMs.P50), seconds(u.TookMs.P90))
	}
	return text.String()
}

// formatCredits returns credits with four digits, so that small prices can be compared.
func formatCredits(n float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 4, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// fallback returns how many of the answers a fallback wrote. It returns "" if none.
func (u *usageShown) fallback() string {
	if u == nil || u.Fallbacks == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s by a fallback", u.Fallbacks, client.Pluralize(u.Answers, "answer"))
	if u.Fallbacks == u.Answers {
		text += " (" + client.Printable(strings.Join(u.Models, ", ")) + ")"
	}
	return text + ", because the chosen model was unavailable"
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s" }

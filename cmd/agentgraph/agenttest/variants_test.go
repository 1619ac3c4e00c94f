package agenttest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVariantsShowExactCreditsAndFallbacks(t *testing.T) {
	t.Parallel()
	variant := func(label, by string, credits float64, fallbacks int) variantShown {
		return variantShown{Label: label, Usage: &usageShown{Answers: 12, Fallbacks: fallbacks, Models: []string{by},
			Credits: credits, TookMs: &percentiles{}}}
	}
	text := variantsSummary([]variantShown{variant("now", "large", 0.1402, 0), variant("small", "small", 0.1334, 0),
		variant("away", "small", 123456.7, 12)})
	require.Regexp(t, `(?m)^now .* 0\.1402 `, text)
	require.Regexp(t, `(?m)^small .* 0\.1334 `, text)
	require.Regexp(t, `(?m)^away .* 123500 `, text)
	require.Contains(t, text, "away: 12 of 12 answers by a fallback (small), because the chosen model was unavailable\n")
	require.NotContains(t, text, "small: ")
	require.Equal(t, "0.000012", formatCredits(0.000012))
}

package agenttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
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

func TestVariantFlagsSetSettings(t *testing.T) {
	t.Parallel()
	got, err := parseVariant("cold:  model=small temperature=0 topN=3 showQuote=false rerankModel= topP=0.5")
	require.NoError(t, err)
	require.Equal(t, client.Variables{"label": "cold", "model": "small",
		"llmSettings":    client.Variables{"temperature": 0.0, "topP": 0.5},
		"promptSettings": client.Variables{"topN": int64(3), "showQuote": false, "rerankModel": ""}}, got)
	for text, want := range map[string]string{
		"a:temperature=hot": `temperature must be a number, not "hot"`,
		"a:topP=NaN":        `topP must be a number, not "NaN"`,
		"a:topN=3 topN=4":   "topN must be given only once",
		"a:topN=1.5":        `topN must be a whole number, not "1.5"`,
		"a:showQuote=yes":   `showQuote must be true or false, not "yes"`,
		"a:top_n=1":         "one of frequencyPenalty, keywordsSimilarityWeight, presencePenalty",
	} {
		_, err := parseVariant(text)
		require.ErrorContains(t, err, want)
	}
}

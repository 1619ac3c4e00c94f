package agenttest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// variantShown is a variant of an execution with its results, as the server sends it.
type variantShown struct {
	Label           string             `json:"label"`
	IsDraft         bool               `json:"isDraft"`
	PromptVersion   *int               `json:"promptVersion"`
	Model           *string            `json:"model"`
	Counts          countsShown        `json:"counts"`
	DurationMs      *percentiles       `json:"durationMs"`
	Usage           *usageShown        `json:"usage"`
	Conclusion      *string            `json:"conclusion"`
	PValue          *float64           `json:"pValue"`
	Adjusted        *float64           `json:"adjustedPValue"`
	DecidingRepeats *int               `json:"decidingRepeats"`
	Tests           []variantTestShown `json:"tests"`
}

type variantTestShown struct {
	TestID     string       `json:"testId"`
	TestName   string       `json:"testName"`
	RowNumber  *int         `json:"rowNumber,omitempty"`
	RowName    *string      `json:"rowName,omitempty"`
	Counts     countsShown  `json:"counts"`
	DurationMs *percentiles `json:"durationMs"`
	Usage      *usageShown  `json:"usage"`
	Change     *string      `json:"change"`
	PValue     *float64     `json:"pValue"`
	Adjusted   *float64     `json:"adjustedPValue"`
	Conclusion *string      `json:"conclusion"`
}

const variantsDocument = countsFields + `query ($id: ID!) { agentTestExecution(id: $id) { variants {
	label isDraft promptVersion model counts { ...counts } durationMs { p50 p90 p95 p99 max } ` + usageFields + `
	conclusion pValue adjustedPValue decidingRepeats
	tests { testId testName rowNumber rowName counts { ...counts } durationMs { p50 p90 p95 p99 max } ` + usageFields + `
		change pValue adjustedPValue conclusion }
} } }`

// readVariants returns the variants of an execution. Only executions of drafts have variants.
func readVariants(ctx context.Context, server *client.Client, execution executionShown) ([]variantShown, error) {
	if !execution.IsDraft {
		return nil, nil
	}
	var read struct{ AgentTestExecution executionShown }
	err := server.Query(ctx, variantsDocument, client.Variables{"id": execution.ID}, &read)
	return read.AgentTestExecution.Variants, err
}

// triedSettings names the input of each setting that a variant can change.
var triedSettings = map[string]string{
	"temperature": "llmSettings", "topP": "llmSettings", "presencePenalty": "llmSettings",
	"frequencyPenalty": "llmSettings", "similarityThreshold": "promptSettings",
	"keywordsSimilarityWeight": "promptSettings", "topN": "promptSettings", "rerankModel": "promptSettings",
	"showQuote": "promptSettings",
}

var variantMember = regexp.MustCompile(`(?:^|\s)(model|prompt|version|` +
	strings.Join(slices.Sorted(maps.Keys(triedSettings)), "|") + `)=`)

// parseVariant parses the variant that a flag describes: LABEL alone, or LABEL: followed by one or more of model=NAME,
// version=N, prompt=@FILE and SETTING=VALUE.
func parseVariant(text string) (client.Variables, error) {
	label, changeText, _ := strings.Cut(text, ":")
	changeText = strings.TrimSpace(changeText)
	variant := client.Variables{"label": label}
	wrong := func(format string, args ...any) error {
		return client.Exit(client.ExitUsage, fmt.Errorf("--variant %q: "+format, append([]any{text}, args...)...))
	}
	members := variantMember.FindAllStringSubmatchIndex(changeText, -1)
	if changeText != "" && (len(members) == 0 || members[0][0] != 0) {
		return nil, wrong("expected LABEL:model=NAME, LABEL:version=N, LABEL:prompt=@FILE or LABEL:SETTING=VALUE, where "+
			"SETTING is one of %s", strings.Join(slices.Sorted(maps.Keys(triedSettings)), ", "))
	}
	given := map[string]bool{}
	for i, at := range members {
		end := len(changeText)
		if i+1 < len(members) {
			end = members[i+1][0]
		}
		name, value := changeText[at[2]:at[3]], strings.TrimSpace(changeText[at[1]:end])
		if given[name] {
			return nil, wrong("%s must be given only once", name)
		}
		given[name] = true
		switch name {
		case "model":
			variant["model"] = value
		case "version":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return nil, wrong("version must be a whole number, not %q", value)
			}
			variant["promptVersion"] = n
		case "prompt":
			file, isFile := strings.CutPrefix(value, "@")
			if !isFile {
				return nil, wrong("prompt must be @ and the path of a file")
			}
			prompt, err := cli.ReadFile(file)
			if err != nil {
				return nil, wrong("%w", err)
			}
			variant["prompt"] = strings.TrimSuffix(string(prompt), "\n")
		default:
			setting, err := parseSetting(name, value)
			if err != nil {
				return nil, wrong("%w", err)
			}
			group, _ := variant[triedSettings[name]].(client.Variables)
			if group == nil {
				group = client.Variables{}
				variant[triedSettings[name]] = group
			}
			group[name] = setting
		}
	}
	return variant, nil
}

// parseSetting returns the value of a setting. The server checks its bounds.
func parseSetting(name, text string) (any, error) {
	switch name {
	case "rerankModel":
		return text, nil
	case "showQuote":
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("showQuote must be true or false, not %q", text)
		}
		return text == "true", nil
	case "topN":
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("topN must be a whole number, not %q", text)
		}
		return n, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, fmt.Errorf("%s must be a number, not %q", name, text)
	}
	return n, nil
}

func parseVariants(texts []string) (variants []client.Variables, err error) {
	for _, text := range texts {
		variant, err := parseVariant(text)
		if err != nil {
			return nil, err
		}
		variants = append(variants, variant)
	}
	return variants, nil
}

func nameWithVariant(name string, label *string) string {
	if label == nil {
		return name
	}
	return name + " · " + client.Printable(*label)
}

// variantTables describes variants in two tables: their results, and the passed runs of each test. It returns nil if
// there are no variants.
func variantTables(variants []variantShown) [][][]string {
	if len(variants) == 0 {
		return nil
	}
	results := [][]string{{"VARIANT", "PASSED", "AGAINST " + client.Printable(variants[0].Label), "CREDITS", "TOKENS",
		"RUN P50", "P95", "FIRST TEXT P50", "P95"}}
	tests := [][]string{{"TEST"}}
	for _, v := range variants {
		results = append(results, v.row())
		tests[0] = append(tests[0], client.Printable(v.Label))
	}
	for i, test := range variants[0].Tests {
		row := []string{nameWithRow(test.TestName, test.RowName, test.RowNumber)}
		for _, v := range variants {
			row = append(row, v.Tests[i].cell())
		}
		tests = append(tests, row)
	}
	return [][][]string{results, tests}
}

// variantsSummary describes variants as tables. It returns "" if there are none.
func variantsSummary(variants []variantShown) string {
	var text strings.Builder
	for i, table := range variantTables(variants) {
		if i > 0 {
			text.WriteString("\n")
		}
		_ = cli.WriteTable(&text, table)
	}
	for _, v := range variants {
		if fallback := v.Usage.fallback(); fallback != "" {
			fmt.Fprintf(&text, "%s: %s\n", client.Printable(v.Label), fallback)
		}
		if v.DecidingRepeats != nil {
			fmt.Fprintf(&text, "%s: about %d runs of each test in both variants would decide which is better\n",
				client.Printable(v.Label), *v.DecidingRepeats)
		}
	}
	return text.String()
}

func (v variantShown) row() []string {
	against := "–"
	if v.Conclusion != nil {
		against = conclusions[*v.Conclusion] + pValue(v.Adjusted)
	}
	row := []string{client.Printable(v.Label), v.Counts.rate(), against}
	measured := v.Usage.isMeasured()
	if measured {
		row = append(row, formatCredits(v.Usage.Credits), fmt.Sprintf("%.0f", v.Usage.InputTokens+v.Usage.OutputTokens))
	} else {
		row = append(row, "–", "–")
	}
	row = append(row, v.DurationMs.medianAnd95th()...)
	if measured {
		return append(row, v.Usage.FirstTokenMs.medianAnd95th()...)
	}
	return append(row, "–", "–")
}

func (p *percentiles) medianAnd95th() []string {
	if p == nil {
		return []string{"–", "–"}
	}
	return []string{seconds(p.P50), seconds(p.P95)}
}

// cell describes the runs of a test in a variant, and what they show.
func (t variantTestShown) cell() string {
	text := fmt.Sprintf("%d/%d", t.Counts.Passed, t.Counts.Passed+t.Counts.Failed)
	if t.Counts.Error > 0 {
		text += ", " + client.Pluralize(t.Counts.Error, "error")
	}
	if t.Conclusion != nil && slices.Contains([]string{"Regressed", "Improved"}, *t.Conclusion) {
		text += " " + conclusions[*t.Conclusion]
	}
	return text
}

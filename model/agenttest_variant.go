package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of the variants of an execution.
const (
	minVariants  = 2
	MaxVariants  = 12
	maxLabelText = 60
	// maxVariantPrompts bounds the unsaved prompts of all variants together, in characters.
	maxVariantPrompts = 100_000
)

// TestVariant is a change of the tests' agents that an execution tries. With only a label, the agents are unchanged.
type TestVariant struct {
	Label         string  `json:"label"`
	Prompt        *string `json:"prompt,omitempty"`
	PromptVersion *int32  `json:"promptVersion,omitempty"`
	// Model is the name of a language model, or empty for the server's default.
	Model *string `json:"model,omitempty"`
	TriedSettings
}

// TriedSettings replace settings of an agent's knowledge base chat. Nil keeps the chat's settings.
type TriedSettings struct {
	LlmSettings    *LlmSettingsInput    `json:"llmSettings,omitempty"`
	PromptSettings *PromptSettingsInput `json:"promptSettings,omitempty"`
}

// Apply returns a copy of the chat with the settings, or nil without a chat.
func (s TriedSettings) Apply(chat *KnowledgeBaseChat) *KnowledgeBaseChat {
	if chat == nil {
		return nil
	}
	tried, unused := *chat, Fields{}
	tried.mergeSettings(&unused, "", s.LlmSettings, s.PromptSettings)
	return &tried
}

// validate records the faults that the settings alone show.
func (s TriedSettings) validate(f *Fields, path string) {
	any := KnowledgeBaseChat{}
	any.mergeSettings(f, path, s.LlmSettings, s.PromptSettings)
	if s.PromptSettings != nil && s.PromptSettings.Prompt != nil && !any.usesKnowledge() {
		f.Add(path+"promptSettings.prompt", "must contain {knowledge}")
	}
}

// CheckSettings records why the prompt settings cannot be tried. chatless is the id of a tested agent without a
// knowledge base chat, or "".
func (s TriedSettings) CheckSettings(f *Fields, path string, rerankModels []string, chatless string) {
	switch {
	case s.PromptSettings == nil:
	case chatless != "":
		f.Add(path, "must not be given, because agent %q has no knowledge base chat", chatless)
	case s.PromptSettings.RerankModel != nil:
		f.rerankModel(path, *s.PromptSettings.RerankModel, rerankModels)
	}
}

// IsVariantID reports whether a text may be the id of an agent in a variant: the agent's id, a slash and the label.
func IsVariantID(text string) bool {
	agentID, label, _ := strings.Cut(text, "/")
	return IsID(agentID) && label != "" && utf8.RuneCountInString(label) <= maxLabelText
}

// ChangesPrompt reports whether the variant replaces the agent's prompt. Then all tests must belong to that agent.
func (v TestVariant) ChangesPrompt() bool { return v.Prompt != nil || v.PromptVersion != nil }

// Apply returns a copy of the agent as the variant changes it. saved is the prompt of PromptVersion.
func (v TestVariant) Apply(agent *Agent, saved string) *Agent {
	tried := *agent.Trying(v.Prompt)
	if v.PromptVersion != nil {
		tried.Prompt, tried.PromptVersion = saved, *v.PromptVersion
	}
	setText(&tried.Model, v.Model)
	tried.Tried = v.TriedSettings
	return &tried
}

// ComparedVariants names the variants that a comparison is limited to. A nil label stands for an execution without
// variants. If both are nil, all runs are compared.
type ComparedVariants struct{ Base, Head *string }

// Check returns UNPROCESSABLE unless the executions can be compared in these variants.
func (c ComparedVariants) Check(base, head *AgentTestExecution) error {
	if c.Base == nil && c.Head == nil {
		return checkLabels(base, head)
	}
	return cmp.Or(base.checkVariant("baseVariant", c.Base), head.checkVariant("headVariant", c.Head))
}

// checkVariant returns UNPROCESSABLE unless the execution has the variant, or no variants if the label is nil.
func (e *AgentTestExecution) checkVariant(name string, label *string) error {
	labels := labelsOf(e.Tried)
	switch {
	case label == nil && len(labels) > 0:
		return Errorf(Unprocessable, "execution %q has %s: name one of them as %s", e.ID, variantsNamed(labels), name)
	case label != nil && !slices.Contains(labels, *label):
		return Errorf(Unprocessable, "%s: execution %q has %s, not %q", name, e.ID, variantsNamed(labels), *label)
	}
	return nil
}

// LimitTests returns the tests that ran in the variant, with only its runs. Without a label it returns all tests.
func LimitTests(tests []*AgentTestExecutionTest, label *string) []*AgentTestExecutionTest {
	if label == nil {
		return tests
	}
	own, _ := filterVariant(*label, tests)
	return slices.DeleteFunc(own, func(test *AgentTestExecutionTest) bool { return len(test.Runs) == 0 })
}

// checkLabels returns UNPROCESSABLE unless the executions have variants of the same labels. Otherwise a comparison
// would find the difference between the variants, instead of between the executions.
func checkLabels(base, head *AgentTestExecution) error {
	was, is := labelsOf(base.Tried), labelsOf(head.Tried)
	if slices.Equal(was, is) {
		return nil
	}
	return Errorf(Unprocessable, "execution %q has %s, but execution %q has %s: compare executions with the same "+
		"variants, or name one variant of each", base.ID, variantsNamed(was), head.ID, variantsNamed(is))
}

// labelsOf returns the sorted labels of variants.
func labelsOf(variants []TestVariant) []string {
	labels := Map(variants, func(v TestVariant) string { return v.Label })
	slices.Sort(labels)
	return labels
}

func variantsNamed(labels []string) string {
	if len(labels) == 0 {
		return "no variants"
	}
	return "the variants " + strings.Join(labels, ", ")
}

func (f *Fields) variants(path string, variants []*TestVariant, prompt *string) {
	if variants == nil {
		return
	}
	if len(variants) < minVariants || len(variants) > MaxVariants {
		f.Add(path, "must have %d to %d entries, not %d: the others are compared with the first", minVariants, MaxVariants,
			len(variants))
		return
	}
	if prompt != nil {
		f.Add("prompt", "must not be given together with variants, which have their own prompts")
	}
	labels, characters := map[string]bool{}, 0
	for i, v := range variants {
		at := fmt.Sprintf("%s.%d.", path, i)
		f.name(at+"label", v.Label, maxLabelText)
		if labels[v.Label] {
			f.Add(at+"label", "must be unique among the variants")
		}
		labels[v.Label] = true
		f.draft(at+"prompt", v.Prompt)
		if v.Prompt != nil && v.PromptVersion != nil {
			f.Add(at+"promptVersion", "must not be given together with prompt")
		}
		f.count(at+"promptVersion", v.PromptVersion, 1, math.MaxInt32)
		v.validate(f, at)
		if v.Prompt != nil {
			characters += utf8.RuneCountInString(*v.Prompt)
		}
		if v.PromptSettings != nil && v.PromptSettings.Prompt != nil {
			characters += utf8.RuneCountInString(*v.PromptSettings.Prompt)
		}
	}
	if characters > maxVariantPrompts {
		f.Add(path, "must have prompts of at most %d characters together, not %d: save some of them as versions",
			maxVariantPrompts, characters)
	}
}

// Choose returns BAD_INPUT when a variant names a model that the server does not have.
func (in StartAgentTestExecutionInput) Choose(models []string) error {
	var faults Fields
	for i, v := range in.Variants {
		faults.modelChoice(fmt.Sprintf("variants.%d.model", i), v.Model, models)
	}
	return faults.Err()
}

// UsageOfVariant is the usage of the agents' answers in runs of a variant: in the runs of one test, or of one of its
// rows. If TestedID is nil, it is the usage in all runs.
type UsageOfVariant struct {
	Variant          string
	TestedID, RowKey *string
	*UsageSummary
}

// AgentTestVariant is a variant of an execution with its results. Conclusion, the p-values, DecidingRepeats and the
// changes of tests compare it with the first variant. In the first variant they are empty.
type AgentTestVariant struct {
	TestVariant
	Counts     *AgentTestRunCounts
	DurationMs *Percentiles
	Usage      *UsageSummary
	Conclusion *AgentTestConclusion
	PValue     *float64
	// AdjustedPValue is corrected for the number of variants.
	AdjustedPValue  *float64
	DecidingRepeats *int32
	Tests           []*AgentTestVariantTest
}

// AgentTestVariantTest is a test, or one row of a test, in a variant.
type AgentTestVariantTest struct {
	TestID     string
	TestName   string
	RowNumber  *int32
	RowName    *string
	Counts     *AgentTestRunCounts
	DurationMs *Percentiles
	Usage      *UsageSummary
	Change     *AgentTestChange
	PValue     *float64
	// AdjustedPValue is corrected for the number of tests and variants.
	AdjustedPValue *float64
	Conclusion     *AgentTestConclusion
	Runs           []*AgentTestRun
}

// IsDraft reports whether the variant tries an unsaved prompt.
func (v *AgentTestVariant) IsDraft() bool { return v.Prompt != nil }

// Settings are the settings that the variant tries, or nil if it has none.
func (v *AgentTestVariant) Settings() (*JSONObject, error) {
	tried := v.TriedSettings
	if tried.LlmSettings != nil && *tried.LlmSettings == (LlmSettingsInput{}) {
		tried.LlmSettings = nil
	}
	if tried.PromptSettings != nil && *tried.PromptSettings == (PromptSettingsInput{}) {
		tried.PromptSettings = nil
	}
	if tried == (TriedSettings{}) {
		return nil, nil
	}
	settings, err := ObjectOf(tried)
	return &settings, err
}

// CompareVariants returns the variants with their results in the tests of an execution. It compares each with the first
// one. All variants have all tests, in the same order.
func CompareVariants(variants []TestVariant, tests []*AgentTestExecutionTest,
	usage []UsageOfVariant) []*AgentTestVariant {
	type key struct {
		variant string
		sample
	}
	usageByKey := map[key]*UsageSummary{}
	for _, u := range usage {
		k := key{variant: u.Variant}
		if u.TestedID != nil {
			k.sample = sample{*u.TestedID, *u.RowKey}
		}
		usageByKey[k] = u.UsageSummary
	}
	results := make([]*AgentTestVariant, len(variants))
	var comparisons []*AgentTestComparison
	var base []*AgentTestExecutionTest
	for i, variant := range variants {
		own, runs := filterVariant(variant.Label, tests)
		v := &AgentTestVariant{TestVariant: variant, Counts: countsOf(runs), DurationMs: durationsOf(runs),
			Usage: usageByKey[key{variant: variant.Label}].OrZero()}
		for _, test := range own {
			v.Tests = append(v.Tests, &AgentTestVariantTest{
				TestID: test.TestID, TestName: test.TestName, RowNumber: test.RowNumber, RowName: test.RowName,
				Counts: test.Counts(), DurationMs: durationsOf(test.Runs), Runs: test.Runs,
				Usage: usageByKey[key{variant.Label, test.sample()}].OrZero(),
			})
		}
		results[i] = v
		if i == 0 {
			base = own
			continue
		}
		comparisons = append(comparisons, compareTests(base, own))
	}
	conclude(AgentTestCorrectionHolm, comparisons...)
	for i, c := range comparisons {
		results[i+1].differ(c)
	}
	return results
}

// differ sets the differences from the first variant.
func (v *AgentTestVariant) differ(c *AgentTestComparison) {
	v.Conclusion, v.PValue, v.AdjustedPValue, v.DecidingRepeats = &c.Conclusion, c.StratifiedPValue, c.AdjustedPValue,
		c.DecidingRepeats
	for i, test := range c.Tests {
		cell := v.Tests[i]
		cell.Change, cell.PValue, cell.AdjustedPValue, cell.Conclusion = &test.Change, test.PValue, test.AdjustedPValue,
			&test.Conclusion
	}
}

// filterVariant returns all tests with only the variant's runs, and these runs.
func filterVariant(
	label string, tests []*AgentTestExecutionTest,
) (own []*AgentTestExecutionTest, runs []*AgentTestRun) {
	for _, test := range tests {
		only := *test
		only.Runs = []*AgentTestRun{}
		for _, run := range test.Runs {
			if run.Variant != nil && *run.Variant == label {
				only.Runs = append(only.Runs, run)
			}
		}
		own, runs = append(own, &only), append(runs, only.Runs...)
	}
	return own, runs
}

// durationsOf returns the percentiles of how long runs took, or nil if none has ended.
func durationsOf(runs []*AgentTestRun) *Percentiles {
	var took []float64
	for _, run := range runs {
		if run.DurationMs != nil {
			took = append(took, float64(*run.DurationMs))
		}
	}
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	at := Map(Ranks, func(rank float64) float64 { return took[max(0, int(math.Ceil(rank*float64(len(took))))-1)] })
	return NewPercentiles(at)
}

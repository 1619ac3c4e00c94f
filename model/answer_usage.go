package model

// AnswerUsage has the tokens, times and cost of an agent's answer, including its calls and delegations.
type AnswerUsage struct {
	// Model is the name of the model that wrote the answer, or nil if no model did. IsFallback is set if the agent's own
	// model was unavailable.
	Model      *string `json:"model,omitempty"`
	IsFallback bool    `json:"isFallback,omitempty"`
	// InputTokens include CachedTokens.
	InputTokens  int32 `json:"inputTokens"`
	CachedTokens int32 `json:"cachedTokens"`
	OutputTokens int32 `json:"outputTokens"`
	// FirstTokenMs is the time to the first text, and TookMs the whole time, in milliseconds.
	FirstTokenMs *float64 `json:"firstTokenMs,omitempty"`
	TookMs       float64  `json:"tookMs"`
	// Credits is the price.
	Credits Credits `json:"credits"`
}

// UsageSummary sums up the usage of several answers. FirstTokenMs is nil if no answer has text, and TookMs is nil if
// there are no answers.
type UsageSummary struct {
	Answers, Fallbacks                      int32
	Models                                  []string `bun:"type:jsonb"`
	InputTokens, CachedTokens, OutputTokens float64
	Credits                                 Credits
	FirstTokenMs, TookMs                    *Percentiles `bun:"-"`
}

// OrZero returns the summary, or an empty summary if it is nil.
func (s *UsageSummary) OrZero() *UsageSummary {
	if s == nil {
		return &UsageSummary{Models: []string{}}
	}
	return s
}

// Ranks has the rank of each field of Percentiles, in order. A rank is the share of all values that do not exceed the
// field.
var Ranks = []float64{0.5, 0.9, 0.95, 0.99, 1}

// Percentiles are values by nearest rank: P50 is the smallest value that half of all values do not exceed.
type Percentiles struct{ P50, P90, P95, P99, Max float64 }

// NewPercentiles returns the percentiles with the given values, one for each of Ranks, or nil if there are none.
func NewPercentiles(values []float64) *Percentiles {
	if len(values) == 0 {
		return nil
	}
	return &Percentiles{values[0], values[1], values[2], values[3], values[4]}
}

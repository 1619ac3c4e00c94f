package main

import (
	"testing"
	"time"
)

func TestAnswersAreComparedValueByValue(t *testing.T) {
	t.Parallel()
	const wanted = `{"data": {"agent": {"id": "a", "at": "2026-01-01T00:00:00.5Z", "share": 0.10,
		"chat": {"name": "c"}, "tests": {"nodes": [{"id": "t"}], "pageInfo": {"hasNextPage": true}}}}}`
	for name, c := range map[string]struct{ answer, at string }{
		"the same":  {wanted, ""},
		"other way": {`{"data": {"agent": {"tests": [{"edge": {"id": "t"}}], "chat": [{"name": "c", "more": 1}], "share": 0.1, "at": "2026-01-01T01:00:00.500+01:00", "id": "a"}}}`, ""},
		"a value": {`{"data": {"agent": {"at": "2026-01-01T00:00:00.5Z", "chat": {"name": "d"}}}}`,
			"answer.data.agent.chat.name is d, not c"},
		"a list": {`{"data": {"agent": {"at": "2026-01-01T00:00:00.5Z", "chat": {"name": "c"}, "id": "a", "share": 0.1, "tests": []}}}`, "answer.data.agent.tests is [], not a list of 1"},
		"a name": {`{"data": {}}`, "answer.data.agent is missing"},
		"a null": {`{"data": {"agent": null}}`, "answer.data.agent is <nil>, not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := parse([]byte(wanted))
			if err != nil {
				t.Fatal(err)
			}
			got, err := parse([]byte(c.answer))
			if err != nil {
				t.Fatal(err)
			}
			if at := differs("answer", want, got); at != c.at {
				t.Errorf("got %q, want %q", at, c.at)
			}
		})
	}
}

func TestQuantileOfSortedDurations(t *testing.T) {
	t.Parallel()
	var sorted []time.Duration
	for i := range 100 {
		sorted = append(sorted, time.Duration(i+1))
	}
	for part, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := quantile(sorted, part); got != want {
			t.Errorf("%v: got %d, want %d", part, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: got %d", got)
	}
}

func TestSpreadHasMedianAndExtremes(t *testing.T) {
	t.Parallel()
	if got, want := spreadOf([]float64{5, 1, 3}), (spread{median: 3, min: 1, max: 5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := spreadOf([]float64{4, 1, 3, 2}), (spread{median: 2.5, min: 1, max: 4}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// parse parses an answer. It normalizes numbers and times, and turns each way to write a list into an array, so that
// answers can be compared value by value.
func parse(answer []byte) (any, error) {
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
		return nil, fmt.Errorf("%w in %.200s", err, answer)
	}
	return normal(value), nil
}

func normal(value any) any {
	switch value := value.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, value); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case []any:
		for i := range value {
			value[i] = normal(value[i])
		}
	case map[string]any:
		if edge, ok := value["edge"]; ok && len(value) == 1 {
			return normal(edge)
		}
		if nodes, ok := value["nodes"]; ok {
			return normal(nodes)
		}
		for name := range value {
			value[name] = normal(value[name])
		}
	}
	return value
}

// differs returns the path of the first wanted value that is missing or different in an answer, or "". The answer may
// have additional values, because some servers cannot select within JSON. A list with one object equals that object.
func differs(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		if list, ok := got.([]any); ok && len(list) == 1 {
			got = list[0]
		}
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, not an object", path, got)
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			value, ok := object[name]
			if !ok {
				return fmt.Sprintf("%s.%s is missing", path, name)
			}
			if at := differs(path+"."+name, want[name], value); at != "" {
				return at
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is %v, not a list of %d", path, got, len(want))
		}
		for i := range want {
			if at := differs(fmt.Sprintf("%s.%d", path, i), want[i], list[i]); at != "" {
				return at
			}
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s is %v, not %v", path, got, want)
	}
	return ""
}

// refused reports whether the answer has errors.
func refused(answer []byte) bool { return bytes.Contains(answer, []byte(`"errors"`)) }

// quantile returns the quantile of the sorted values at the given fraction.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

// spread summarizes the values of several rounds.
type spread struct{ median, min, max float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return spread{median: median, min: sorted[0], max: sorted[len(sorted)-1]}
}

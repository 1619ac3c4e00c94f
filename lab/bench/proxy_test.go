package main

import "testing"

func TestMessagesAreReadFromAnyFragments(t *testing.T) {
	t.Parallel()
	// A log-in, then a statement that is parsed, bound, executed and synchronized, and a simple query.
	stream := []byte("\x00\x00\x00\x08\x00\x03\x00\x00" +
		"P\x00\x00\x00\x0aSELECT" + "B\x00\x00\x00\x06E\x00" + "E\x00\x00\x00\x04" + "S\x00\x00\x00\x04" +
		"Q\x00\x00\x00\x07S\x00\x00")
	for size := 1; size <= len(stream); size++ {
		var seen []byte
		m := &messages{startup: true, seen: func(kind byte) { seen = append(seen, kind) }}
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			if _, err := m.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if string(seen) != "PBESQ" {
			t.Errorf("in pieces of %d: got %q", size, seen)
		}
	}
}

package read

import "unicode/utf8"

// MaxTypos is the maximum number of wrong letters in a misspelled word.
func MaxTypos(word string) int {
	switch letters := utf8.RuneCountInString(word); {
	case letters < 4:
		return 0
	case letters < 8:
		return 1
	}
	return 2
}

// Distance is the number of letters to insert, delete, replace or swap with a neighbor to turn one word into the other.
// If the number exceeds the limit, Distance returns a larger number than the limit.
func Distance(from, to string, limit int) int {
	a, b := []rune(from), []rune(to)
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

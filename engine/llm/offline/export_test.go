package offline

// Pieces are the pieces of a text.
func Pieces(text string) (all []string) {
	for _, piece := range pieces(text) {
		all = append(all, piece)
	}
	return all
}

package llm

import "context"

// Embedder turns texts into vectors that are near each other when the texts are alike. It is safe for
// concurrent use.
type Embedder interface {
	// Name is the model's: only vectors of one model can be compared.
	Name() string
	// Embed returns a vector for each text, in order, all of one length. Failures of the provider are *Error,
	// and no text is too long: what does not fit is cut off.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

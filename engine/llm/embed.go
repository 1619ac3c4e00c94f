package llm

import "context"

// Embedder turns texts into vectors, which are near each other if the texts are alike. It is safe for concurrent use.
type Embedder interface {
	// Name is the name of the model. Only vectors of the same model can be compared.
	Name() string
	// Embed returns a vector for each text, in order, all of the same length. Failures of the provider are *Error. No
	// text is too long, because what does not fit is cut off.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

package llm

import "context"

// Embedder turns texts into vectors. The vectors of similar texts are close. It is safe for concurrent use.
type Embedder interface {
	// Name is the name of the model. Vectors of different models cannot be compared.
	Name() string
	// Embed returns a vector for each text, in order, all of the same length. Failures of the provider are *Error.
	// Texts that are too long for the model are cut.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

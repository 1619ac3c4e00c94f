package model

// Server is the public information about the program.
type Server struct {
	Version   string
	Model     string
	IsOffline bool
	// JudgeModels can judge tests, the first unless another is asked for.
	JudgeModels []string
	// EmbeddingModel is nil without one.
	EmbeddingModel *string
	// Workers is how many jobs this process works on at once.
	Workers int32
}

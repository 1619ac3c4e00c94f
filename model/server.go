package model

// Server is the public information about the program.
type Server struct {
	Version   string
	Model     string
	IsOffline bool
	// JudgeModels are the models that can judge tests. The first is the default.
	JudgeModels []string
	// EmbeddingModel is nil if none is configured.
	EmbeddingModel *string
	// Workers is how many jobs this process runs at the same time.
	Workers int32
}

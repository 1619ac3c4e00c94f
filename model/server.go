package model

// Server is the public information about the program.
type Server struct {
	Version   string
	Model     string
	IsOffline bool
	// JudgeModels are the models that can judge tests. The first is the default.
	JudgeModels []string
	// Models are the models that agents can choose, by name.
	Models []ServerModel
	// EmbeddingModel is nil if none is configured.
	EmbeddingModel *string
	// Workers is how many jobs this process runs at the same time.
	Workers int32
}

// ServerModel is a model that agents can choose. The prices are in credits, of a message and of a thousand tokens.
type ServerModel struct {
	Name, Provider                                     string
	Fallback                                           *string
	MessagePrice, InputPrice, CachedPrice, OutputPrice Credits
}

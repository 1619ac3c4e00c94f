package model

import (
	"slices"
	"strings"
	"time"
)

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

// ServerModel is a model that agents can choose. The prices are in credits: per message, and per thousand tokens.
type ServerModel struct {
	Name, Provider                                     string
	Fallback                                           *string
	MessagePrice, InputPrice, CachedPrice, OutputPrice Credits
}

// Choose returns BAD_INPUT when the input names a model that the server does not have. The error also lists all other
// faults of the input. An empty name means the default.
func (in CreateAgentInput) Choose(models []string) error {
	err := checkModel(in.Model, models)
	if err != nil {
		_, others := NewAgent(in, time.Time{})
		err = JoinFaults(err, others)
	}
	return err
}

// Choose returns BAD_INPUT when the input names a model that the server does not have. An empty name means the
// default.
func (in UpdateAgentInput) Choose(models []string) error { return checkModel(in.Model, models) }

func checkModel(name *string, models []string) error {
	var faults Fields
	faults.modelChoice("model", name, models)
	return faults.Err()
}

func (f *Fields) modelChoice(path string, name *string, models []string) {
	switch {
	case name == nil || *name == "" || slices.Contains(models, *name):
	case len(models) == 0:
		f.Add(path, "must be empty, because this server has no models to choose from: its operator lists them "+
			"with AGENTGRAPH_MODELS")
	default:
		f.Add(path, "must be one of %s, or empty for the default", strings.Join(models, ", "))
	}
}

package server

import (
	"log/slog"

	"github.com/agentgraph/agentgraph/app"
)

// engine returns a problem if serve could not make its engine, for example because the folder of a static embedding
// model does not exist.
func (c *Doctor) engine() []finding {
	_, _, release, err := app.NewEngine(c.options(nil, slog.New(slog.DiscardHandler)))
	if err != nil {
		return []finding{problem("engine", err.Error(), "correct the settings of the models: serve does not start with them")}
	}
	release()
	return nil
}

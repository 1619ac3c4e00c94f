// Package demo holds two complete companies for a first run, and puts them into a database.
package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/goccy/go-yaml"

	"github.com/agentgraph/agentgraph/model"
)

// Each folder is one company. Each of its files holds a part of it.
//
//go:embed merrowby tansy_lane
var files embed.FS

// company is the content of a folder. Its parts are the inputs that a client would send, except that nothing has an id
// yet: keys of objects stand for ids. The key of a tool is its technical name.
type company struct {
	Name               string                  `json:"name"`
	Tools              []model.CreateToolInput `json:"tools"`
	Datasets           []dataset               `json:"datasets"`
	KnowledgeBaseChats []knowledgeBaseChat     `json:"knowledgeBaseChats"`
	Agents             []agent                 `json:"agents"`
	AgentTests         []agentTests            `json:"agentTests"`
	History            history                 `json:"history"`
	months
}

type dataset struct {
	Key string `json:"key"`
	model.CreateDatasetInput
	// Documents are names of files in the folder knowledge.
	Documents []string `json:"documents"`
}

type knowledgeBaseChat struct {
	Key string `json:"key"`
	model.CreateKnowledgeBaseChatInput
}

type agent struct {
	Key string `json:"key"`
	model.CreateAgentInput
	// EarlierPrompts are the agent's previous prompts, oldest first.
	EarlierPrompts      []string                 `json:"earlierPrompts"`
	ToolIDs             []string                 `json:"toolIds"`
	KnowledgeBaseChatID string                   `json:"knowledgeBaseChatId"`
	SubAgents           []model.AddSubAgentInput `json:"subAgents"`
}

// prompts returns every prompt of the agent, oldest first and the present one last.
func (a agent) prompts() []string {
	return append(append([]string{}, a.EarlierPrompts...), a.Prompt)
}

// read returns the company of a folder.
func read(folder string) (company, error) {
	var whole company
	names, err := fs.Glob(files, folder+"/*.yaml")
	if err != nil {
		return company{}, err
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return company{}, err
		}
		// These lists are in several files each. The others are in one.
		before := whole
		whole.Tools, whole.Agents, whole.AgentTests = nil, nil, nil
		if err := decode(text, &whole); err != nil {
			return company{}, fmt.Errorf("read %s: %w", name, err)
		}
		whole.Tools = append(before.Tools, whole.Tools...)
		whole.Agents = append(before.Agents, whole.Agents...)
		whole.AgentTests = append(before.AgentTests, whole.AgentTests...)
	}
	return whole, nil
}

// decode adds a part to a company. It goes through JSON, which the inputs are made for, and refuses unknown fields.
func decode(text []byte, into *company) error {
	object, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// Package demo has two complete companies for a first run, and writes them into a database. Start reading at Seed.
package demo

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// Each folder is one company, split into files.
//
//go:embed merrowby tansy_lane
var files embed.FS

// company is the content of a folder, as the inputs that a client would send. Objects have no ids yet, so keys refer to
// them. The key of a tool is its technical name.
type company struct {
	Name               string                  `json:"name"`
	Tools              []model.CreateToolInput `json:"tools"`
	Datasets           []dataset               `json:"datasets"`
	KnowledgeBaseChats []knowledgeBaseChat     `json:"knowledgeBaseChats"`
	Agents             []agent                 `json:"agents"`
	AgentTests         []agentTests            `json:"agentTests"`
	// Samples answer tool calls, by technical name.
	Samples map[string]*model.Mock `json:"samples"`
	History history                `json:"history"`
	companyHistory
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
	EarlierPrompts []string `json:"earlierPrompts"`
	// examples are the example exchanges at the end of each of its prompts.
	examples            string
	ToolIDs             []string                 `json:"toolIds"`
	KnowledgeBaseChatID string                   `json:"knowledgeBaseChatId"`
	SubAgents           []model.AddSubAgentInput `json:"subAgents"`
}

// prompts returns every prompt of the agent with its examples, oldest first.
func (a agent) prompts() []string {
	prompts := append(append([]string{}, a.EarlierPrompts...), a.Prompt)
	for i := range prompts {
		prompts[i] += "\n\n# Examples\n" + a.examples
	}
	return prompts
}

func readCompany(folder string) (company, error) {
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
		// These lists are split over several files. Each other list is in one file.
		before := whole
		whole.Tools, whole.Agents, whole.AgentTests = nil, nil, nil
		if err := decode(text, &whole); err != nil {
			return company{}, fmt.Errorf("read %s: %w", name, err)
		}
		whole.Tools = append(before.Tools, whole.Tools...)
		whole.Agents = append(before.Agents, whole.Agents...)
		whole.AgentTests = append(before.AgentTests, whole.AgentTests...)
	}
	for i := range whole.Agents {
		a := &whole.Agents[i]
		text, err := files.ReadFile(folder + "/examples/" + a.Key + ".txt")
		if err != nil {
			return company{}, fmt.Errorf("read the examples of agent %s: %w", a.Key, err)
		}
		a.examples = strings.TrimSpace(string(text))
	}
	return whole, nil
}

// decode adds the content of a file to a company. It decodes through JSON, because the inputs have JSON tags, and
// refuses unknown fields.
func decode(text []byte, into *company) error {
	object, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// text returns the content of a file in a company's knowledge folder.
func text(folder, name string) (string, error) {
	content, err := files.ReadFile(folder + "/knowledge/" + name)
	return string(content), err
}

// documents adds the documents of every dataset. Workers index them after the commit.
func (s seeding) documents(ctx context.Context, folder string, datasets []dataset) error {
	base := knowledge.New(knowledge.Options{})
	for _, d := range datasets {
		for _, name := range d.Documents {
			content, err := text(folder, name)
			if err != nil {
				return err
			}
			in := model.AddDocumentInput{DatasetID: s.datasets[d.Key], Name: &name, Text: &content}
			if _, err := base.AddDocument(ctx, s.tenant, in); err != nil {
				return fmt.Errorf("document %s: %w", name, err)
			}
		}
	}
	return nil
}

// Samples returns the results of the demo companies' tools, by method and address of the endpoint. No server answers at
// these addresses. The results depend on the arguments.
func Samples() (map[string]*model.Mock, error) {
	samples := map[string]*model.Mock{}
	for _, folder := range folders {
		c, err := readCompany(folder)
		if err != nil {
			return nil, err
		}
		for _, tool := range c.Tools {
			sample, ok := c.Samples[tool.TechnicalName]
			if !ok || tool.Endpoint == nil {
				return nil, fmt.Errorf("the tool %s has no endpoint with a sample", tool.TechnicalName)
			}
			samples[string(tool.Endpoint.Method)+" "+tool.Endpoint.URL] = sample
		}
	}
	return samples, nil
}

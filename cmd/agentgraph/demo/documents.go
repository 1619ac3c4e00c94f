package demo

import (
	"context"
	"fmt"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

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

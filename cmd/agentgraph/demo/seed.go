package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Companies are the demo companies, as described in their files.
type Companies []content

// content is a company with its recording.
type content struct {
	folder string
	company
	recorded recording
}

// Read reads the companies from the embedded files.
func Read() (Companies, error) {
	var companies Companies
	for _, folder := range folders {
		c, err := readCompany(folder)
		if err != nil {
			return nil, err
		}
		recorded, err := readRecording(folder)
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", folder, err)
		}
		companies = append(companies, content{folder: folder, company: c, recorded: recorded})
	}
	return companies, nil
}

// shownFolder is the folder of the company that dev shows.
const shownFolder = "merrowby"

// folders are the folders of all companies.
var folders = []string{shownFolder, "tansy_lane"}

// CompanyName returns the name of the company that Seed returns.
func CompanyName() (string, error) {
	text, err := files.ReadFile(shownFolder + "/company.yaml")
	if err != nil {
		return "", err
	}
	var part company
	err = decode(text, &part)
	return part.Name, err
}

// Seed reads the demo companies, creates them in one transaction, and returns the one to show.
func Seed(ctx context.Context, store *db.Store) (*model.Company, error) {
	companies, err := Read()
	if err != nil {
		return nil, err
	}
	var shown *model.Company
	err = store.Tx(ctx, func(ctx context.Context, tx *db.Tx) error {
		shown, err = companies.Seed(ctx, tx)
		return err
	})
	return shown, err
}

// Seed creates the companies, and returns the one to show. The second company demonstrates the isolation of companies.
// Seed does not check what exists: a second call creates everything again.
func (c Companies) Seed(ctx context.Context, tx *db.Tx) (*model.Company, error) {
	created := make([]*model.Company, len(c))
	for i, content := range c {
		var err error
		if created[i], err = content.seed(ctx, tx); err != nil {
			return nil, fmt.Errorf("seed company %q: %w", content.Name, err)
		}
	}
	return created[0], nil
}

func (c content) seed(ctx context.Context, tx *db.Tx) (*model.Company, error) {
	company, err := tx.CreateCompany(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	s := newSeeding(tx.Tenant(company.ID))
	if err := s.all(ctx, c.company, c.recorded); err != nil {
		return nil, err
	}
	return company, s.documents(ctx, c.folder, c.Datasets)
}

// seeding is a company that is being created, with the ids of everything created so far.
type seeding struct {
	tenant                         *db.Tenant
	tools, datasets, chats, agents ids
	// subAgents are keyed by the key of the agent, a dot and the technical name.
	subAgents ids
}

func newSeeding(tenant *db.Tenant) seeding {
	return seeding{tenant: tenant, tools: ids{}, datasets: ids{}, chats: ids{}, agents: ids{}, subAgents: ids{}}
}

func (s seeding) all(ctx context.Context, c company, recorded recording) error {
	for _, in := range c.Tools {
		tool, err := s.tenant.CreateTool(ctx, in)
		if err != nil {
			return fmt.Errorf("tool %s: %w", in.TechnicalName, err)
		}
		s.tools[in.TechnicalName] = tool.ID
	}
	for _, in := range c.Datasets {
		dataset, err := s.tenant.CreateDataset(ctx, in.CreateDatasetInput)
		if err != nil {
			return fmt.Errorf("dataset %s: %w", in.Key, err)
		}
		s.datasets[in.Key] = dataset.ID
	}
	for _, in := range c.KnowledgeBaseChats {
		if err := s.chat(ctx, in); err != nil {
			return fmt.Errorf("knowledge base chat %s: %w", in.Key, err)
		}
	}
	for _, in := range slices.Concat(c.Agents, c.DeletedAgents) {
		if err := s.agent(ctx, in); err != nil {
			return fmt.Errorf("agent %s: %w", in.Key, err)
		}
	}
	agents, err := s.agentsByKey(ctx)
	if err != nil {
		return err
	}
	// Inventing the past takes as long as the next writes, so both run concurrently.
	past := sync.OnceValues(func() (pastMonths, error) {
		return c.invent(agents, time.Now().UTC().Truncate(time.Microsecond))
	})
	go func() { _, _ = past() }()
	// The graph may have cycles, so agents are connected once all of them have ids.
	for _, in := range c.Agents {
		if err := s.connect(ctx, in); err != nil {
			return fmt.Errorf("agent %s: %w", in.Key, err)
		}
	}
	if err := s.agentTests(ctx, c, recorded); err != nil {
		return err
	}
	written, err := past()
	if err != nil {
		return err
	}
	return s.writeHistory(ctx, c.companyHistory, written)
}

func (s seeding) chat(ctx context.Context, c knowledgeBaseChat) error {
	in := c.CreateKnowledgeBaseChatInput
	in.DatasetIds = nil
	for _, key := range c.DatasetIds {
		id, err := s.datasets.lookup(key)
		if err != nil {
			return err
		}
		in.DatasetIds = append(in.DatasetIds, id)
	}
	chat, err := s.tenant.CreateKnowledgeBaseChat(ctx, in)
	if err != nil {
		return err
	}
	s.chats[c.Key] = chat.ID
	return nil
}

// agent creates an agent with its first prompt, and then adds the later prompts as new versions.
func (s seeding) agent(ctx context.Context, a agent) error {
	prompts := a.prompts()
	in := a.CreateAgentInput
	in.Prompt = prompts[0]
	created, err := s.tenant.CreateAgent(ctx, in)
	if err != nil {
		return err
	}
	s.agents[a.Key] = created.ID
	for _, prompt := range prompts[1:] {
		if _, err := s.tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: created.ID,
			Prompt: prompt}); err != nil {
			return err
		}
	}
	return nil
}

// connect gives an agent its tools, its knowledge base chat and its sub-agents.
func (s seeding) connect(ctx context.Context, a agent) error {
	agentID := s.agents[a.Key]
	tools := make([]string, len(a.ToolIDs))
	for i, key := range a.ToolIDs {
		var err error
		if tools[i], err = s.tools.lookup(key); err != nil {
			return err
		}
	}
	if _, err := s.tenant.ConnectTools(ctx, agentID, tools...); err != nil {
		return err
	}
	if a.KnowledgeBaseChatID != "" {
		id, err := s.chats.lookup(a.KnowledgeBaseChatID)
		if err != nil {
			return err
		}
		in := model.ConnectKnowledgeBaseChatInput{AgentID: agentID, ChatID: id}
		if _, err := s.tenant.ConnectKnowledgeBaseChat(ctx, in); err != nil {
			return err
		}
	}
	for _, in := range a.SubAgents {
		var err error
		in.AgentID = agentID
		if in.DelegateAgentID, err = s.agents.lookup(in.DelegateAgentID); err != nil {
			return err
		}
		edge, _, err := s.tenant.AddSubAgent(ctx, in)
		if err != nil {
			return err
		}
		s.subAgents[a.Key+"."+in.TechnicalName] = edge.ID
	}
	return nil
}

// ids maps keys to the ids of created objects.
type ids map[string]string

func (m ids) lookup(key string) (string, error) {
	id, known := m[key]
	if !known {
		return "", fmt.Errorf("there is nothing with the key %q", key)
	}
	return id, nil
}

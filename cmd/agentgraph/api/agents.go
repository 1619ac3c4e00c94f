package api

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type agentsCommand struct {
	client.Flags
	outputFlag
	Name    *string
	Channel string
}

func newAgents() *cobra.Command {
	c := &agentsCommand{}
	return cli.New(c, &cobra.Command{
		Use: "agents", Short: "List agents.",
		Example: `agentgraph agents
agentgraph agents --channel Phone --name clinic`,
	}, nil, &c.Flags, &c.outputFlag, cli.Flags{
		{Into: &c.Name, Name: "name", Placeholder: "TEXT", Help: "Only agents with this text in the name."},
		{Into: &c.Channel, Name: "channel", Enum: []string{"", "Phone", "SMS", "Web", "WhatsApp"}, Placeholder: "CHANNEL",
			Help: "Only agents of this channel: Phone, SMS, Web or WhatsApp."},
	})
}

const agentsDocument = `query ($filter: AgentFilter, $after: String) {
	page: agents(filter: $filter, orderBy: Name, first: 100, after: $after) {
		nodes { id name channel direction language tags updatedAt tools { technicalName } subAgents { name }
			knowledgeBaseChatName }
		pageInfo { hasNextPage endCursor }
	}
}`

// agentShown has the columns of the table.
type agentShown struct {
	ID, Name, Channel string
	Tags              []string
	Tools, SubAgents  []struct{}
}

func (c *agentsCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	filter := client.Variables{}
	if c.Name != nil {
		filter["nameContains"] = *c.Name
	}
	if c.Channel != "" {
		filter["channel"] = c.Channel
	}
	agents, err := client.ReadAll[json.RawMessage](ctx, server, agentsDocument, client.Variables{"filter": filter}, 0)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	if !c.isHumanReadable(cmd.OutOrStdout()) {
		return cli.WriteJSON(cmd.OutOrStdout(), agents)
	}
	rows := [][]string{{"ID", "NAME", "CHANNEL", "TOOLS", "SUB-AGENTS", "TAGS"}}
	for _, text := range agents {
		var a agentShown
		if err := json.Unmarshal(text, &a); err != nil {
			return err
		}
		rows = append(rows, []string{
			a.ID, truncate(client.Printable(a.Name), maxName), a.Channel, fmt.Sprint(len(a.Tools)), fmt.Sprint(len(a.SubAgents)),
			client.Printable(strings.Join(a.Tags, ", ")),
		})
	}
	return writeTable(cmd.OutOrStdout(), rows)
}

// maxName is how many characters of a name a table shows.
const maxName = 30

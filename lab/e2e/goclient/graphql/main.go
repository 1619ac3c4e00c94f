// Command graphql tests a gateway with the Go client that genqlient generates from its schema. Its arguments are the
// address, an API key and the id of an agent. It prints what differs from the expectation, and then exits with 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/Khan/genqlient/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/lab/e2e/goclient/queries"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// keyed sends requests with an API key.
type keyed string

func (k keyed) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Api-Key", string(k))
	return http.DefaultClient.Do(r)
}

func run(ctx context.Context, address, key, agentID string) error {
	client := graphql.NewClient(address, keyed(key))
	name := "genqlient's"
	renamed, err := queries.Rename(ctx, client, agentID, name)
	if err != nil {
		return err
	}
	if renamed.UpdateAgent.Agent.Name != name {
		return fmt.Errorf("the agent is called %q", renamed.UpdateAgent.Agent.Name)
	}
	if err := pages(ctx, client, agentID); err != nil {
		return err
	}
	_, err = queries.Rename(ctx, client, "agent_none", name)
	var errs gqlerror.List
	if !errors.As(err, &errs) || errs[0].Extensions["code"] != "NOT_FOUND" {
		return fmt.Errorf("an agent that does not exist: %v", err)
	}
	return nil
}

// pages pages through the list from the end until it finds the agent.
func pages(ctx context.Context, client graphql.Client, agentID string) error {
	size := 2
	for before := (*string)(nil); ; {
		page, err := queries.Agents(ctx, client, nil, &size, before)
		if err != nil {
			return err
		}
		for _, agent := range page.Agents.Nodes {
			if agent.Id == agentID {
				if agent.Channel != queries.ChannelWeb || agent.CreatedAt.IsZero() {
					return fmt.Errorf("the agent: %v", agent)
				}
				return nil
			}
		}
		if !page.Agents.PageInfo.HasPreviousPage {
			return errors.New("the agent is not in the list")
		}
		before = page.Agents.PageInfo.StartCursor
	}
}

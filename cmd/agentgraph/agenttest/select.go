package agenttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// testsDocument reads a page of tests.
const testsDocument = `query ($agent: ID, $folder: ID, $after: String) {
	page: agentTests(agentId: $agent, folderId: $folder, first: 100, after: $after) {
		nodes { id kind name agent { id name } folder { id name } lastRunId lastRunStatus lastRunAt }
		pageInfo { hasNextPage endCursor }
	}
}`

// readTests reads the tests of one agent, in one folder, or both. An empty id means all.
func readTests(ctx context.Context, server *client.Client, agentID, folderID string) ([]listedTest, error) {
	with := client.Variables{}
	if agentID != "" {
		with["agent"] = agentID
	}
	if folderID != "" {
		with["folder"] = folderID
	}
	return client.ReadAll[listedTest](ctx, server, testsDocument, with, 0)
}

// target returns the member of an execution's input that selects its tests. Several agents or folders are replaced by
// the ids of their tests. If agents are given, only their folders and tests are searched.
func (c *runCommand) target(ctx context.Context, server *client.Client) (name string, value any, err error) {
	agents, err := server.FindAll(ctx, client.Agents, c.Agent)
	if err != nil {
		return "", nil, err
	}
	texts, ids, name := c.Agent, agents, "agentId"
	switch {
	case len(c.Folder) > 0:
		texts, name = c.Folder, "folderId"
		ids, err = server.FindAll(ctx, client.Folders, texts, agents...)
	case len(c.Test) > 0:
		ids, err = server.FindAll(ctx, client.Tests, c.Test, agents...)
		return "testIds", ids, err
	}
	switch {
	case err != nil:
		return "", nil, err
	case len(ids) == 0:
		return "", nil, client.Exit(client.ExitUsage, errors.New("use --agent, --folder or --test to name the tests"))
	case len(ids) == 1:
		return name, ids[0], nil
	}
	var testIDs []string
	for i, id := range ids {
		agentID, folderID := id, ""
		if name == "folderId" {
			agentID, folderID = "", id
		}
		tests, err := readTests(ctx, server, agentID, folderID)
		if err != nil {
			return "", nil, err
		}
		if len(tests) == 0 {
			return "", nil, client.NotFound(fmt.Sprintf("%q has no tests", texts[i]))
		}
		for _, test := range tests {
			testIDs = append(testIDs, test.ID)
		}
	}
	return "testIds", testIDs, nil
}

// nameEmpty replaces the server's error about an agent or a folder without tests. The new error has the name of that
// agent or folder.
func (c *runCommand) nameEmpty(err error) error {
	switch {
	case len(c.Agent) == 1 && err.Error() == "agentId has no tests":
		return client.NotFound(fmt.Sprintf("agent %q has no tests", c.Agent[0]))
	case len(c.Folder) == 1 && err.Error() == "folderId has no tests":
		return client.NotFound(fmt.Sprintf("test folder %q has no tests", c.Folder[0]))
	}
	return err
}

package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func folderInput(agentID, name string) model.CreateAgentTestFolderInput {
	return model.CreateAgentTestFolderInput{AgentID: agentID, Name: name, Color: "#1A2b3C", Body: "*What* it's for"}
}

func newFolder(t *testing.T, tenant *db.Tenant, agentID, name string) *model.AgentTestFolder {
	t.Helper()
	folder, err := tenant.CreateAgentTestFolder(t.Context(), folderInput(agentID, name))
	require.NoError(t, err)
	return folder
}

func TestFolderNamesAreUniquePerAgent(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other := newAgent(t, tenant), newAgent(t, tenant)
	smoke, booking := newFolder(t, tenant, agent.ID, "smoke"), newFolder(t, tenant, agent.ID, "Booking")
	newFolder(t, tenant, other.ID, "Smoke")

	folders, err := dbtest.Find[*model.AgentTestFolder](t.Context(), tenant, db.FoldersOfAgents,
		[]string{agent.ID, "agent_none"}, "name")
	require.NoError(t, err)
	require.Equal(t, []string{booking.ID, smoke.ID}, idsOf(folders))
	require.Equal(t, agent.ID, folders[0].Parent())

	_, err = tenant.CreateAgentTestFolder(t.Context(), folderInput(agent.ID, "SMOKE"))
	faults(t, err, model.Unprocessable, "name", "another folder")
	name, color := "Smoke", "red"
	_, err = tenant.UpdateAgentTestFolder(t.Context(), model.UpdateAgentTestFolderInput{FolderID: booking.ID, Name: &name})
	faults(t, err, model.Unprocessable, "name", "another folder")
	_, err = tenant.UpdateAgentTestFolder(t.Context(), model.UpdateAgentTestFolderInput{FolderID: booking.ID,
		Color: &color})
	faults(t, err, model.BadInput, "color", "#")
	updated, err := tenant.UpdateAgentTestFolder(t.Context(), model.UpdateAgentTestFolderInput{FolderID: smoke.ID,
		Name: &name})
	require.NoError(t, err)
	stored, err := dbtest.Find[*model.AgentTestFolder](t.Context(), tenant, db.AgentTestFolderRows, []string{smoke.ID})
	require.NoError(t, err)
	require.Equal(t, "Smoke", stored[0].Name)
	require.Equal(t, updated.Body, stored[0].Body)

	_, err = tenant.CreateAgentTestFolder(t.Context(), folderInput("agent_none", "A"))
	fails(t, err, model.NotFound)
	_, err = tenant.UpdateAgentTestFolder(t.Context(), model.UpdateAgentTestFolderInput{FolderID: "folder_none"})
	fails(t, err, model.NotFound)
	fails(t, tenant.DeleteAgentTestFolder(t.Context(), "folder_none"), model.NotFound)
}

func TestTestsOfADeletedFolderMoveToTheRoot(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	folder, kept := newFolder(t, tenant, agent.ID, "Smoke"), newFolder(t, tenant, agent.ID, "Kept")
	test := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) { in.FolderID = &folder.ID })
	elsewhere := newSimulationTest(t, tenant, agent.ID,
		func(in *model.CreateSimulationTestInput) { in.FolderID = &kept.ID })
	require.NoError(t, tenant.DeleteAgentTestFolder(t.Context(), folder.ID))
	moved := testByID(t, tenant, test.ID).Row()
	require.Nil(t, moved.FolderID)
	require.True(t, moved.UpdatedAt.After(test.UpdatedAt))
	require.Equal(t, &kept.ID, testByID(t, tenant, elsewhere.ID).Row().FolderID)
	fails(t, tenant.DeleteAgentTestFolder(t.Context(), folder.ID), model.NotFound)
}

func TestFolderIsDeletedWhileTestsMoveIntoIt(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	folder := newFolder(t, tenant, agent.ID, "Smoke")
	tests := make([]*model.SimulationTest, 8)
	for i := range tests {
		tests[i] = newSimulationTest(t, tenant, agent.ID)
	}
	for _, err := range together(len(tests)+1, func(i int) error {
		if i == len(tests) {
			return tenant.DeleteAgentTestFolder(t.Context(), folder.ID)
		}
		_, err := tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: tests[i].ID,
			FolderID: &folder.ID})
		return err
	}) {
		fails(t, err, model.NotFound)
	}
	for _, test := range tests {
		require.Nil(t, testByID(t, tenant, test.ID).Row().FolderID)
	}
}

func TestFoldersOfAnAgentAreBounded(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	for i := range model.MaxFolders - 1 {
		newFolder(t, tenant, agent.ID, fmt.Sprint(i))
	}
	errs := together(8, func(i int) error {
		_, err := tenant.CreateAgentTestFolder(t.Context(), folderInput(agent.ID, fmt.Sprint("Last ", i)))
		return err
	})
	require.Len(t, errs, 7)
	for _, err := range errs {
		require.Contains(t, fails(t, err, model.Unprocessable), "200 test folders")
	}
}

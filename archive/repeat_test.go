package archive_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

const numbered = `{"format": "agentgraph-company", "version": 1, "id": "a-1", "company": {"id": "acme", "name": "Acme", "createdAt": "2026-01-02T03:04:05Z"}}`

// An archive with the id of an imported archive counts as imported only if its contents are the same.
func TestCorrectedArchiveIsImported(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	first := packed(t, entry{"manifest.json", numbered},
		entry{"datasets.jsonl", line(t, map[string]any{"id": "42", "name": "Manuals"})})
	require.NoError(t, take(t, store, first))
	require.ErrorIs(t, take(t, store, first), db.ErrImportedBefore)
	repacked := packed(t, entry{"./manifest.json", numbered},
		entry{"datasets.jsonl", line(t, map[string]any{"id": "42", "name": "Manuals"})})
	require.ErrorIs(t, take(t, store, repacked), db.ErrImportedBefore, "the packing does not matter")
	for name, file := range map[string][]byte{
		"a row changed": packed(t, entry{"manifest.json", numbered},
			entry{"datasets.jsonl", line(t, map[string]any{"id": "42", "name": "Handbooks"})}),
		"another row": packed(t, entry{"manifest.json", numbered},
			entry{"datasets.jsonl", line(t, map[string]any{"id": "42", "name": "Manuals"})},
			entry{"tombstones.jsonl", ""}, entry{"datasets/2.jsonl", line(t, map[string]any{"id": "43", "name": "More"})}),
	} {
		err := take(t, store, file)
		require.NotErrorIs(t, err, db.ErrImportedBefore, name)
		require.ErrorContains(t, err, `was imported earlier from another archive, "a-1"`, name)
	}
	require.ErrorContains(t, take(t, store, first[:len(first)-30]), "the archive is damaged or incomplete")
}

// failing is a reader that fails after some bytes.
type failing struct {
	from io.Reader
	err  error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

// fullDisk is a writer that fails after some bytes.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// An error of the archive's file is not reported as an error of the database.
func TestFileErrorsAreNotReportedAsDatabaseErrors(t *testing.T) {
	t.Parallel()
	from, to := dbtest.New(t), dbtest.New(t)
	_, err := demo.Seed(t.Context(), from)
	require.NoError(t, err)
	companies, err := from.Companies(t.Context())
	require.NoError(t, err)
	file := &bytes.Buffer{}
	_, err = archive.Export(t.Context(), from, companies[0].ID, file, archive.ExportOptions{})
	require.NoError(t, err)
	whole := file.Bytes()
	for _, size := range []int{5, 11, 300, len(whole) / 50, len(whole) / 10, len(whole) / 3, len(whole) - 9} {
		err := take(t, to, whole[:size])
		require.ErrorContains(t, err, "the archive is damaged or incomplete", size)
		require.NotContains(t, err.Error(), "database", size)
		_, err = archive.Import(t.Context(), to, failing{bytes.NewReader(whole[:size]), syscall.EIO}, archive.ImportOptions{})
		require.ErrorContains(t, err, "the archive cannot be read: input/output error", size)
		require.NotContains(t, err.Error(), "database", size)
	}
	require.EqualError(t, take(t, to, nil), "the file is not an archive: it is empty")
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x55
	err = take(t, to, flipped)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "database")
	for _, room := range []int{0, 100, len(whole) / 2} {
		_, err := archive.Export(t.Context(), from, companies[0].ID, &fullDisk{room}, archive.ExportOptions{})
		require.EqualError(t, err, "the archive cannot be written: no space left on device")
	}
	left, err := to.Companies(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestRetentionMovesWithItsCompany(t *testing.T) {
	t.Parallel()
	from, to := dbtest.New(t), dbtest.New(t)
	company, err := from.CreateCompany(t.Context(), "Acme")
	require.NoError(t, err)
	require.NoError(t, from.Tenant(company.ID).
		SetRetention(t.Context(), model.SetRetentionInput{Kind: model.RetentionChats, Days: 30}))
	file := &bytes.Buffer{}
	_, err = archive.Export(t.Context(), from, company.ID, file, archive.ExportOptions{})
	require.NoError(t, err)
	require.NoError(t, take(t, to, file.Bytes()))
	kept, err := to.Tenant(company.ID).Retentions(t.Context())
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, model.RetentionChats, kept[0].Kind)
	require.EqualValues(t, 30, kept[0].Days)
	for days, says := range map[int]string{0: "days must be between 1 and 40000",
		50_000: "days must be between 0 and 40000"} {
		err := take(t, dbtest.New(t), packed(t, entry{"manifest.json", manifest},
			entry{"retentions.jsonl", line(t, map[string]any{"kind": "Chats", "days": days})}))
		require.ErrorContains(t, err, "retentions.jsonl: line 1: "+says)
	}
}

func TestVariantsMoveWithTheirCompany(t *testing.T) {
	t.Parallel()
	from, to := dbtest.New(t), dbtest.New(t)
	company, err := from.CreateCompany(t.Context(), "Acme")
	require.NoError(t, err)
	started, err := from.Tenant(company.ID).StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: dbtest.Tests(t, from.Tenant(company.ID), 1, 1), Repeats: 1, Concurrency: 1,
		Variants: []*model.TestVariant{{Label: "now"}, {Label: "très / froid",
			TriedSettings: model.TriedSettings{LlmSettings: &model.LlmSettingsInput{Temperature: new(0.0)}}}}})
	require.NoError(t, err)
	file := &bytes.Buffer{}
	_, err = archive.Export(t.Context(), from, company.ID, file, archive.ExportOptions{})
	require.NoError(t, err)
	require.NoError(t, take(t, to, file.Bytes()))
	moved, err := to.Tenant(company.ID).AgentTestExecution(t.Context(), started.ID)
	require.NoError(t, err)
	require.Equal(t, started.Tried, moved.Tried)
	for id, isRefused := range map[string]bool{"agent_1/now": false, "agent_1/": true, "/now": true, "a/b": false} {
		err := take(t, dbtest.New(t), packed(t, entry{"manifest.json", manifest}, entry{"agent_test_snapshots.jsonl",
			line(t, map[string]any{"id": id, "execution_id": "none", "definition": map[string]any{}})}))
		require.Error(t, err)
		require.Equal(t, isRefused, strings.Contains(err.Error(), "id must have 1 to"), err)
	}
}

// An imported schedule is disabled until somebody enables it, and its times are validated.
func TestImportedSchedulesAreDisabled(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	file := func(cron string) []byte {
		return packed(t, entry{"manifest.json", manifest},
			entry{"agents.jsonl", line(t, map[string]any{"id": "a", "name": "Ada", "channel": "Web", "direction": "Inbound",
				"prompt": "Be kind."})},
			entry{"agent_test_schedules.jsonl", line(t, map[string]any{
				"id": "s", "name": "Nightly", "agent_id": "a", "repeats": 1, "concurrency": 1, "virtual_time": false, "votes": 1,
				"cron": cron, "time_zone": "UTC",
				"after_prompt_change": true, "is_enabled": true, "next_run_at": "2026-01-01T00:00:00Z",
				"cron_at": "2026-01-01T00:00:00Z",
			})})
	}
	for cron, says := range map[string]string{
		"* * * * *":  "cron must have at least five minutes between two starts",
		"often":      "cron must be a valid expression with five fields",
		"0 0 30 2 *": "cron must name a day that exists",
	} {
		require.ErrorContains(t, take(t, store, file(cron)), "agent_test_schedules.jsonl: line 1: "+says)
	}
	m, err := archive.Import(t.Context(), store, bytes.NewReader(file("0 6 * * *")), archive.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, m.PausedSchedules)
	schedule, err := store.Tenant("acme").AgentTestSchedule(t.Context(), "s")
	require.NoError(t, err)
	require.False(t, schedule.IsEnabled)
	require.Equal(t, "it came from an archive", *schedule.DisabledReason)
	require.Nil(t, schedule.NextRunAt)
	require.Nil(t, schedule.CronAt)
}

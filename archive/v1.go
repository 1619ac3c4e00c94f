package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
)

// V1Options configures FromV1.
type V1Options struct {
	// Address is the URL of the v1 server, and Key an API key of the company on it.
	Address, Key string
	// Company is the company of the archive. FromV1 sets its CreatedAt to the time of its oldest row.
	Company Company
	// Agents and Campaigns are ids to read, because a v1 server lists neither agents nor campaigns. FromV1 also reads
	// those that occur in tests, folders and the consumption.
	Agents, Campaigns []string
	// Progress is called while a list is read, with the number of entries so far and in total. what names the list.
	// Progress may be nil.
	Progress func(what string, read, total int64)
	// Pause is the delay before the first retry of a request. 0 means half a second.
	Pause time.Duration
}

// V1Report lists what FromV1 read, wrote and left out.
type V1Report struct {
	// Read and Written are the numbers of entries that were read and written, by their kind.
	Read, Written map[string]int64
	// Left describes what exists on the server and is not in the archive.
	Left []string
	// Notes describe what must be added by hand, because a v1 server does not return it.
	Notes []string
}

// FromV1 writes an archive with the data that a v1 server returns for a company. The report lists the data that cannot
// be moved. FromV1 returns an error if it cannot read the server or write the archive.
func FromV1(ctx context.Context, to io.Writer, o V1Options) (*V1Report, error) {
	if o.Pause == 0 {
		o.Pause = time.Second / 2
	}
	m := &v1Move{
		V1Options: o, report: &V1Report{Read: map[string]int64{}, Written: map[string]int64{}},
		client: &v1Client{address: o.Address, key: o.Key, http: &http.Client{}, pause: o.Pause},
		rows:   map[string][]map[string]any{}, agents: map[string]v1Object{}, added: map[string]bool{},
		unknown: map[string]int{},
	}
	for _, read := range []func(context.Context) error{m.readConsumption, m.readTests, m.readAgents, m.readKnowledge,
		m.readCampaigns} {
		if err := read(ctx); err != nil {
			return m.report, err
		}
	}
	m.writeAgents()
	m.writeTests()
	for _, fieldPath := range slices.Sorted(maps.Keys(m.unknown)) {
		parts := strings.SplitN(fieldPath, " ", 3)
		m.left("%q in %s of %s: this version of agentgraph has no such field",
			parts[2], parts[1], Counted(m.unknown[fieldPath], parts[0]))
	}
	return m.report, m.write(to)
}

// v1Move is the move of a company from a v1 server.
type v1Move struct {
	V1Options
	client *v1Client
	report *V1Report

	agentIDs       []string
	agents         map[string]v1Object
	folders, tests []v1Object
	// campaigns maps the ids of campaigns to their agents.
	campaigns map[string]string
	// added has "table id" for each row that was added.
	added map[string]bool
	// unknown counts the rows in which JSON has a member that this version does not know. Its keys are "table column
	// member".
	unknown map[string]int
	rows    map[string][]map[string]any
}

func (m *v1Move) left(format string, args ...any) {
	m.report.Left = append(m.report.Left, fmt.Sprintf(format, args...))
}

func (m *v1Move) note(format string, args ...any) {
	m.report.Notes = append(m.report.Notes, fmt.Sprintf(format, args...))
}

// addRow adds a row. It omits empty values, which get their defaults at import, and members that this version does not
// know.
func (m *v1Move) addRow(table, id string, values map[string]any) {
	for column, value := range values {
		raw, isRaw := value.(json.RawMessage)
		if !isRaw || raw == nil {
			continue
		}
		kept, unknown := db.KnownMembers(table, column, raw)
		values[column] = kept
		slices.Sort(unknown)
		for _, name := range slices.Compact(unknown) {
			m.unknown[table+" "+column+" "+name]++
		}
	}
	maps.DeleteFunc(values, func(_ string, value any) bool {
		raw, isRaw := value.(json.RawMessage)
		return value == nil || value == "" || isRaw && raw == nil
	})
	m.rows[table] = append(m.rows[table], values)
	m.added[table+" "+id] = true
}

// list reads a list. The list is empty if the server answers 404.
func (m *v1Move) list(ctx context.Context, what, path string, query url.Values) ([]v1Object, error) {
	before := m.report.Read[what]
	all, total, err := m.client.list(ctx, path, query, func(read, total int64) {
		if m.Progress != nil {
			m.Progress(what, before+read, before+total)
		}
	})
	if hasStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	m.report.Read[what] += int64(len(all))
	if err == nil && int64(len(all)) < total {
		m.left("%d of %d %s: the server counts them, but does not list them", total-int64(len(all)), total, what)
	}
	return all, err
}

// addAgentID records the id of an agent.
func (m *v1Move) addAgentID(id string) {
	if id != "" && !slices.Contains(m.agentIDs, id) {
		m.agentIDs = append(m.agentIDs, id)
	}
}

// readTests reads the tests and folders of all agents together. If the server refuses that, it reads them agent by
// agent.
func (m *v1Move) readTests(ctx context.Context) error {
	for _, source := range []struct {
		what, path string
		into       *[]v1Object
	}{{"agent test folders", "/AgentTestFolder", &m.folders}, {"agent tests", "/AgentTest", &m.tests}} {
		all, err := m.list(ctx, source.what, source.path, nil)
		if hasStatus(err, http.StatusBadRequest, http.StatusUnprocessableEntity) {
			err = nil
			for _, id := range m.agentIDs {
				some, failed := m.list(ctx, source.what, source.path, url.Values{"agentId": {id}})
				all, err = append(all, some...), errors.Join(err, failed)
			}
		}
		if err != nil {
			return err
		}
		*source.into = all
		for _, one := range all {
			m.addAgentID(one.text("agentId"))
		}
	}
	return m.completeTests(ctx)
}

// completeTests reads each test that is incomplete in the list.
func (m *v1Move) completeTests(ctx context.Context) error {
	for i, test := range m.tests {
		if test.raw("scenario") != nil || test.raw("conversationContext") != nil {
			continue
		}
		whole := v1Object{}
		err := m.client.get(ctx, "/AgentTest/"+url.PathEscape(test.text("id")), nil, &whole)
		if hasStatus(err, http.StatusNotFound) {
			continue // reported later as a test without a scenario
		}
		if err != nil {
			return err
		}
		m.tests[i] = whole
	}
	return nil
}

// consumptionYears is how many past years of consumption are searched for agents and campaigns.
const consumptionYears = 5

// readConsumption finds the agents and campaigns that have consumption.
func (m *v1Move) readConsumption(ctx context.Context) error {
	m.campaigns = map[string]string{}
	for _, id := range m.Agents {
		m.addAgentID(id)
	}
	to := time.Now().UTC()
	for range consumptionYears {
		from := to.AddDate(0, 0, -364)
		breakdown := v1Object{}
		query := url.Values{"from": {from.Format(time.DateOnly)}, "to": {to.Format(time.DateOnly)}}
		err := m.client.get(ctx, "/Consumption/breakdown", query, &breakdown)
		var answered *v1Error
		switch {
		case errors.As(err, &answered) && answered.status < http.StatusInternalServerError:
			m.note("the v1 server does not return the consumption (status %d). To include agents and campaigns without "+
				"tests, name them with --agent and --campaign", answered.status)
			return nil
		case err != nil:
			return err
		}
		for _, agent := range breakdown.objects("byAgent") {
			id := agent.text("agentId")
			if !isDeleted(agent) {
				m.addAgentID(id)
			}
			for _, campaign := range agent.objects("campaigns") {
				if !isDeleted(campaign) {
					m.campaigns[campaign.text("campaignId")] = id
				}
			}
		}
		to = from.AddDate(0, 0, -1)
	}
	return nil
}

// isDeleted reports whether the agent or campaign in the consumption is deleted, or unknown to the server.
func isDeleted(named v1Object) bool {
	return slices.Contains([]string{"Deleted", "Unknown"}, named.text("nameStatus"))
}

// readAgents reads the agents whose ids were recorded.
func (m *v1Move) readAgents(ctx context.Context) error {
	missing := 0
	for i, id := range m.agentIDs {
		agent := v1Object{}
		err := m.client.get(ctx, "/Agent/"+url.PathEscape(id), nil, &agent)
		switch {
		case hasStatus(err, http.StatusNotFound, http.StatusForbidden):
			m.left("agent %s: %v", id, err)
			missing++
		case err != nil:
			return err
		default:
			m.report.Read["agents"]++
			m.agents[id] = agent
		}
		if m.Progress != nil {
			m.Progress("agents", int64(i+1-missing), int64(len(m.agentIDs)-missing))
		}
	}
	return nil
}

func (m *v1Move) write(to io.Writer) error {
	if len(m.agents) == 0 {
		return errors.New("the v1 server lists no test, folder or usage of an agent for this key: name the agents with " +
			"--agent")
	}
	oldest := ""
	for _, rows := range m.rows {
		for _, row := range rows {
			if at, isTime := row["created_at"].(string); isTime && (oldest == "" || at < oldest) {
				oldest = at
			}
		}
	}
	manifest := &Manifest{Format: Format, Version: Version, ID: "v1-" + m.Company.ID, Company: m.Company,
		Rows: map[string]int64{}}
	if at, err := time.Parse(time.RFC3339, oldest); err == nil {
		manifest.Company.CreatedAt = at
	}
	for table, rows := range m.rows {
		manifest.Rows[table] = int64(len(rows))
	}
	if err := manifest.check(); err != nil {
		return err
	}
	compressed := gzip.NewWriter(errorWriter{to})
	w := &writer{tar: tar.NewWriter(compressed), manifest: manifest}
	if err := w.writeManifest(); err != nil {
		return err
	}
	for _, table := range db.ArchivedTables() {
		lines := &bytes.Buffer{}
		for _, row := range m.rows[table] {
			line, err := json.Marshal(row)
			if err != nil {
				return err
			}
			lines.Write(append(line, '\n'))
		}
		if lines.Len() == 0 {
			continue
		}
		if err := w.entry(table+".jsonl", lines.Bytes()); err != nil {
			return err
		}
	}
	return errors.Join(w.tar.Close(), compressed.Close())
}

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

// V1Options say what is read from a v1 server.
type V1Options struct {
	// Address and Key are those of the server.
	Address, Key string
	// Company is whose archive is made. Its time of creation is that of its oldest row.
	Company Company
	// Agents and Campaigns are read in addition to those that tests, folders and the consumption name: a v1 server
	// lists neither.
	Agents, Campaigns []string
	// Progress is called with how much of a list is read. It may be nil.
	Progress func(what string, read, total int64)
	// Pause is the wait before a request is sent again; 0 means half a second.
	Pause time.Duration
}

// V1Report counts what an import from a v1 server read, wrote and left out.
type V1Report struct {
	// Read and Written are how many entries were read and written, by what they are.
	Read, Written map[string]int64
	// Left is what was read, or is there, and is not in the archive.
	Left []string
	// Notes are what has to be added by hand, since a v1 server does not show it.
	Notes []string
}

// FromV1 writes an archive of what a v1 server lists of the company of a key. What cannot be moved is in the report;
// an error means that the server could not be read.
func FromV1(ctx context.Context, to io.Writer, o V1Options) (*V1Report, error) {
	if o.Pause == 0 {
		o.Pause = time.Second / 2
	}
	m := &v1Move{
		V1Options: o, report: &V1Report{Read: map[string]int64{}, Written: map[string]int64{}},
		client: &v1Client{address: o.Address, key: o.Key, http: &http.Client{}, pause: o.Pause},
		rows:   map[string][]map[string]any{}, agents: map[string]v1Object{}, known: map[string]bool{},
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
	for _, of := range slices.Sorted(maps.Keys(m.unknown)) {
		parts := strings.SplitN(of, " ", 3)
		m.left("%q in %s of %d %s: this version has no such member", parts[2], parts[1], m.unknown[of], parts[0])
	}
	return m.report, m.write(to)
}

// v1Move is a company on its way from a v1 server.
type v1Move struct {
	V1Options
	client *v1Client
	report *V1Report

	agentIDs       []string
	agents         map[string]v1Object
	folders, tests []v1Object
	// campaigns are the agents of campaigns.
	campaigns map[string]string
	// known are the ids that were written, behind their tables.
	known map[string]bool
	// unknown is how many rows have a member that is unknown here, by table, column and member.
	unknown map[string]int
	rows    map[string][]map[string]any
}

func (m *v1Move) left(format string, args ...any) {
	m.report.Left = append(m.report.Left, fmt.Sprintf(format, args...))
}

func (m *v1Move) note(format string, args ...any) {
	m.report.Notes = append(m.report.Notes, fmt.Sprintf(format, args...))
}

// row adds a row, without what is null, which gets its default when it is imported, and without members that are
// unknown here.
func (m *v1Move) row(table, id string, values map[string]any) {
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
	m.known[table+" "+id] = true
}

// list reads a list. A server that does not have it answers 404: then it is empty.
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
		m.left("%d of %d %s: the server lists no more of them", total-int64(len(all)), total, what)
	}
	return all, err
}

// agent notes the id of an agent.
func (m *v1Move) agent(id string) {
	if id != "" && !slices.Contains(m.agentIDs, id) {
		m.agentIDs = append(m.agentIDs, id)
	}
}

// readTests reads tests and folders, of all agents at once where the server lists them so.
func (m *v1Move) readTests(ctx context.Context) error {
	for _, of := range []struct {
		what, path string
		into       *[]v1Object
	}{{"agent test folders", "/AgentTestFolder", &m.folders}, {"agent tests", "/AgentTest", &m.tests}} {
		all, err := m.list(ctx, of.what, of.path, nil)
		if hasStatus(err, http.StatusBadRequest, http.StatusUnprocessableEntity) {
			err = nil
			for _, id := range m.agentIDs {
				some, failed := m.list(ctx, of.what, of.path, url.Values{"agentId": {id}})
				all, err = append(all, some...), errors.Join(err, failed)
			}
		}
		if err != nil {
			return err
		}
		*of.into = all
		for _, one := range all {
			m.agent(one.text("agentId"))
		}
	}
	return m.completeTests(ctx)
}

// completeTests reads tests alone that a list does not show as a whole.
func (m *v1Move) completeTests(ctx context.Context) error {
	for i, test := range m.tests {
		if test.raw("scenario") != nil || test.raw("conversationContext") != nil {
			continue
		}
		whole := v1Object{}
		err := m.client.get(ctx, "/AgentTest/"+url.PathEscape(test.text("id")), nil, &whole)
		if hasStatus(err, http.StatusNotFound) {
			continue // it is reported as one without a scenario
		}
		if err != nil {
			return err
		}
		m.tests[i] = whole
	}
	return nil
}

// consumptionYears is for how many years back the consumption is asked which agents and campaigns there were.
const consumptionYears = 5

// readConsumption finds the agents and campaigns that cost something.
func (m *v1Move) readConsumption(ctx context.Context) error {
	m.campaigns = map[string]string{}
	for _, id := range m.Agents {
		m.agent(id)
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
			m.note("the consumption cannot be read (%d): name agents and campaigns that no test belongs to with --agent and "+
				"--campaign", answered.status)
			return nil
		case err != nil:
			return err
		}
		for _, agent := range breakdown.objects("byAgent") {
			id := agent.text("agentId")
			if !isDeleted(agent) {
				m.agent(id)
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

// isDeleted reports whether what cost something is known to be there no more.
func isDeleted(named v1Object) bool {
	return slices.Contains([]string{"Deleted", "Unknown"}, named.text("nameStatus"))
}

// readAgents reads the agents that are known by now.
func (m *v1Move) readAgents(ctx context.Context) error {
	for i, id := range m.agentIDs {
		agent := v1Object{}
		err := m.client.get(ctx, "/Agent/"+url.PathEscape(id), nil, &agent)
		if m.Progress != nil {
			m.Progress("agents", int64(i+1), int64(len(m.agentIDs)))
		}
		if hasStatus(err, http.StatusNotFound, http.StatusForbidden) {
			m.left("agent %s: %v", id, err)
			continue
		}
		if err != nil {
			return err
		}
		m.report.Read["agents"]++
		m.agents[id] = agent
	}
	return nil
}

// write writes the archive.
func (m *v1Move) write(to io.Writer) error {
	if len(m.agents) == 0 {
		return errors.New("the v1 server shows no agent of this key: name them with --agent")
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
	compressed := gzip.NewWriter(target{to})
	w := &writer{tar: tar.NewWriter(compressed), manifest: manifest}
	if err := w.begin(); err != nil {
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

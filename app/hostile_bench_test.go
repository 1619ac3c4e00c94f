package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/coder/websocket"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// BenchmarkHostile prints the processor time and additional memory of each hostile request, on its most expensive
// transport. It also prints how long another company waits in a process of 1 GB, while fifty clients send the most
// expensive requests, or requests just too cheap to queue. HOSTILE is a regular expression that selects requests by
// name.
func BenchmarkHostile(b *testing.B) {
	p := startHostile(b)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "shape\tcode\tkB\tCPU ms\tPostgres ms\tpeak MB\tdearest by\t")
	const times = 5
	var costliest []measured
	wanted := regexp.MustCompile(os.Getenv("HOSTILE"))
	for _, s := range p.hostileFixture.shapes() {
		if !wanted.MatchString(s.name) {
			continue
		}
		var most measured
		for _, by := range slices.Sorted(maps.Keys(transports)) {
			if !s.isPossible(by) {
				continue
			}
			m := p.measure(b, s, by, times)
			require.Equal(b, s.code, m.outcome.code, "%s by %s", s.name, by)
			if m.cpu > most.cpu {
				m.peak = max(m.peak, most.peak)
				most = m
			}
			most.peak = max(most.peak, m.peak)
		}
		costliest = append(costliest, most)
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t%s\t\n", s.name, s.code, most.outcome.bytes>>10,
			ms(most.cpu), ms(most.postgres), float64(most.peak)/(1<<20), most.by)
	}
	b.ReportMetric(0, "ns/op")
	require.NoError(b, table.Flush())
	p.unread(b)
	if os.Getenv("HOSTILE") != "" {
		return
	}
	slices.SortFunc(costliest, func(a, b measured) int { return int(b.cpu - a.cpu) })
	p.measureNeighbor(b, "the costliest", costliest[:min(len(costliest), 10)])
	for _, s := range p.hostileFixture.light() {
		p.measureNeighbor(b, s.name, []measured{{shape: s, by: "POST"}})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measured is the cost of one request.
type measured struct {
	shape         shape
	by            string
	outcome       outcome
	cpu, postgres time.Duration
	peak          int64
}

// hostileProcess is the program in a process limited to 1 GB.
type hostileProcess struct {
	hostileFixture hostileFixture
	address        string
	neighbor       string
	pid, postgres  int
}

func startHostile(b *testing.B) *hostileProcess {
	b.Helper()
	address := dbtest.URL(b)
	store := dbtest.Open(b, address, dbtest.Options())
	p := &hostileProcess{hostileFixture: newHostileFixture(b, store, address, 200_000, 1_000_000, 200)}
	company, err := store.CreateCompany(b.Context(), "Neighbor")
	require.NoError(b, err)
	_, p.neighbor, err = store.Tenant(company.ID).
		CreateAPIKey(b.Context(), model.CreateAPIKeyInput{Name: "plain", Scopes: []model.APIKeyScope{model.APIKeyScopeRead}})
	require.NoError(b, err)
	p.postgres = postmaster(b, address)

	binary := filepath.Join(b.TempDir(), "agentgraph")
	built, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, "../cmd/agentgraph").CombinedOutput()
	require.NoError(b, err, string(built))
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), binary, "serve", "--database-url", address, "--listen",
		"127.0.0.1:0",
		"--workers", "0", "--rate-limit", "0", "--company-rate-limit", "0", "--model-rate-limit", "0")
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=800MiB") // as in a container of 1 GB
	stderr, err := cmd.StderrPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	lines := bufio.NewScanner(stderr)
	for p.address == "" && lines.Scan() {
		var line struct{ Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Address != "" {
			p.address = "http://" + line.Address
		}
	}
	require.NotEmpty(b, p.address)
	var read sync.WaitGroup
	read.Go(func() {
		for lines.Scan() {
			if bytes.Contains(lines.Bytes(), []byte(`"level":"ERROR"`)) || bytes.Contains(lines.Bytes(), []byte("panic")) {
				b.Log(lines.Text())
			}
		}
	})
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		read.Wait()
		_ = cmd.Wait()
	})
	p.pid = cmd.Process.Pid
	return p
}

// measure sends the request a number of times, after a warm-up, and returns the mean time and the peak memory.
func (p *hostileProcess) measure(b *testing.B, s shape, by string, times int) measured {
	b.Helper()
	send := transports[by]
	m := measured{shape: s, by: by, outcome: send(b, p.address, s, p.hostileFixture.key)}
	require.NoError(b, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0o600))
	before, cpu, postgres := p.memory(b, "VmRSS:"), processorTime(b, p.pid), family(b, p.postgres)
	for range times {
		send(b, p.address, s, p.hostileFixture.key)
	}
	m.cpu = (processorTime(b, p.pid) - cpu) / time.Duration(times)
	m.postgres = (family(b, p.postgres) - postgres) / time.Duration(times)
	m.peak = max(p.memory(b, "VmHWM:")-before, 0)
	return m
}

// unread opens fifty subscriptions to a campaign of large items on one socket, and never reads from the socket.
func (p *hostileProcess) unread(b *testing.B) {
	b.Helper()
	socket := opened(b, p.address, p.hostileFixture.key)
	defer func() { _ = socket.CloseNow() }()
	require.NoError(b, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0o600))
	before, cpu := p.memory(b, "VmRSS:"), processorTime(b, p.pid)
	for i := range 50 {
		s := shape{query: fmt.Sprintf(`subscription { campaignItemUpdated(campaignId: %q, afterVersion: 0) { dataBag } }`,
			p.hostileFixture.campaign)}
		require.NoError(b, socket.Write(b.Context(), websocket.MessageText,
			fmt.Appendf(nil, `{"id":"%d","type":"subscribe","payload":%s}`, i, s.body(b))))
	}
	<-time.After(5 * time.Second)
	fmt.Printf("fifty replays on a socket that nobody reads, for five seconds: %.0f ms of CPU, %.1f MB\n",
		ms(processorTime(b, p.pid)-cpu), float64(max(p.memory(b, "VmHWM:")-before, 0))/(1<<20))
}

// measureNeighbor measures plain queries of another company while fifty clients repeat hostile requests. name labels
// the output.
func (p *hostileProcess) measureNeighbor(b *testing.B, name string, costliest []measured) {
	b.Helper()
	require.NoError(b, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0o600))
	plain := shape{query: `{ company { id name } agents(first: 10) { nodes { id name } } }`}
	ctx, stop := context.WithTimeout(b.Context(), 15*time.Second)
	defer stop()
	var hostile sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]int{}
	for i := range 50 {
		hostile.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				d := costliest[n%len(costliest)]
				o := transports[d.by](b, p.address, d.shape, p.hostileFixture.key)
				mu.Lock()
				codes[o.code]++
				mu.Unlock()
			}
		})
	}
	var waits []time.Duration
	for ctx.Err() == nil {
		begin := time.Now()
		o := transports["POST"](b, p.address, plain, p.neighbor)
		waits = append(waits, time.Since(begin))
		require.Equal(b, outcome{200, o.bytes, ""}, o)
		<-time.After(10 * time.Millisecond)
	}
	hostile.Wait()
	slices.Sort(waits)
	fmt.Printf("beside fifty of %s: %v; %d plain requests of another company: p50 %.0f ms, p99 %.0f ms, most %.0f ms; "+
		"at most %d MB of memory\n",
		name, codes, len(waits), ms(waits[len(waits)/2]), ms(waits[len(waits)*99/100]), ms(waits[len(waits)-1]),
		p.memory(b, "VmHWM:")>>20)
}

// memory returns a line of the process's status, in bytes.
func (p *hostileProcess) memory(b *testing.B, name string) int64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	require.NoError(b, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(b, err)
			return kilobytes << 10
		}
	}
	return 0
}

// statusOf returns the fields of /proc/pid/stat, starting with the state.
func statusOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// ticks returns the sum of processor time fields.
func ticks(fields []string) (sum time.Duration) {
	for _, field := range fields {
		n, _ := strconv.Atoi(field) // the kernel writes valid numbers
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}

func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	fields := statusOf(pid)
	require.NotEmpty(b, fields)
	return ticks(fields[11:13])
}

// family returns the processor time of a process and its children, including ended ones.
func family(b *testing.B, pid int) time.Duration {
	b.Helper()
	own := statusOf(pid)
	require.NotEmpty(b, own)
	sum := ticks(own[11:15])
	others, _ := filepath.Glob("/proc/[0-9]*")
	for _, other := range others {
		child, _ := strconv.Atoi(filepath.Base(other))
		if fields := statusOf(child); fields != nil && fields[1] == strconv.Itoa(pid) {
			sum += ticks(fields[11:13])
		}
	}
	return sum
}

// postmaster returns the process id of the database server.
func postmaster(b *testing.B, address string) int {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), address)
	require.NoError(b, err)
	defer func() { _ = conn.Close(context.WithoutCancel(b.Context())) }()
	var directory string
	require.NoError(b, conn.QueryRow(b.Context(), "SHOW data_directory").Scan(&directory))
	text, err := os.ReadFile(filepath.Join(directory, "postmaster.pid"))
	require.NoError(b, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(b, err)
	return pid
}

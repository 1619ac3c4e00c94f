package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// column is what the report says of a cell.
type column struct {
	name, format string
	value        func(round) float64
}

var columns = []column{
	{"req/s", "%.0f", func(r round) float64 { return r.perSecond }},
	{"p50 ms", "%.2f", func(r round) float64 { return float64(r.p50.Microseconds()) / 1000 }},
	{"p99 ms", "%.2f", func(r round) float64 { return float64(r.p99.Microseconds()) / 1000 }},
	{"server CPU ms", "%.2f", func(r round) float64 { return r.cpu[0] }},
	{"Postgres CPU ms", "%.2f", func(r round) float64 { return r.cpu[1] }},
	{"bench CPU ms", "%.2f", func(r round) float64 { return r.cpu[2] }},
	{"peak RSS MiB", "%.0f", func(r round) float64 { return float64(r.peak) / (1 << 20) }},
}

func (c *cell) spread(value func(round) float64) spread {
	values := make([]float64, len(c.rounds))
	for i, r := range c.rounds {
		values[i] = value(r)
	}
	return spreadOf(values)
}

// ratio is how many requests this cell answers for one of the other, paired by round.
func (c *cell) ratio(other *cell) spread {
	values := make([]float64, len(c.rounds))
	for i := range c.rounds {
		values[i] = c.rounds[i].perSecond / other.rounds[i].perSecond
	}
	return spreadOf(values)
}

// cellsOf are those of a workload under the number of connections.
func (b *bench) cellsOf(workload string, connections int) []*cell {
	var found []*cell
	for _, c := range b.cells {
		if c.workload == workload && c.connections == connections {
			found = append(found, c)
		}
	}
	return found
}

// markdown writes a table for each workload and number of connections: medians, with the least and the most of the
// rounds behind the rates and the ratios.
func (b *bench) markdown(w io.Writer) {
	fmt.Fprintf(w, "%d processors, %s; %d rounds of %s, pools of %d; medians [least–most]. The ratio is %s's rate over the server's, paired by round.\n",
		runtime.NumCPU(), runtime.Version(), b.rounds, b.duration, b.pool, b.servers[0].name)
	for _, workload := range workloads {
		for _, connections := range b.connections {
			cells := b.cellsOf(workload.name, connections)
			if len(cells) == 0 {
				continue
			}
			fmt.Fprintf(w, "\n### %s, %s: %s\n\n| server | ratio |", workload.name, plural(connections, "connection"), workload.means)
			for _, c := range columns {
				fmt.Fprintf(w, " %s |", c.name)
			}
			fmt.Fprintf(w, " statements | round trips | KB |\n|---|---|%s---|---|---|\n", strings.Repeat("---|", len(columns)))
			for _, c := range cells {
				fmt.Fprintf(w, "| %s | %s |", c.server, withSpread("%.2f", cells[0].ratio(c)))
				for i, column := range columns {
					s := c.spread(column.value)
					text := fmt.Sprintf(column.format, s.Median)
					if i == 0 {
						text = withSpread(column.format, s)
					}
					fmt.Fprintf(w, " %s |", text)
				}
				n := b.counts[c.workload+" "+c.server]
				fmt.Fprintf(w, " %d | %d | %.1f |\n", n.Statements, n.RoundTrips, float64(n.Bytes)/1000)
			}
		}
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func withSpread(format string, s spread) string {
	return fmt.Sprintf(format+" ["+format+"–"+format+"]", s.Median, s.Min, s.Max)
}

// json writes the same for programs.
func (b *bench) json(w io.Writer) error {
	type entry struct {
		Workload    string            `json:"workload"`
		Connections int               `json:"connections"`
		Server      string            `json:"server"`
		Ratio       spread            `json:"ratio"`
		Values      map[string]spread `json:"values"`
		Asks        count             `json:"asks"`
	}
	var all []entry
	for _, c := range b.cells {
		first := b.cellsOf(c.workload, c.connections)[0]
		e := entry{c.workload, c.connections, c.server, first.ratio(c), map[string]spread{}, b.counts[c.workload+" "+c.server]}
		for _, column := range columns {
			e.Values[column.name] = c.spread(column.value)
		}
		all = append(all, e)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

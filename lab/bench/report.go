package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
)

type column struct {
	name, format string
	value        func(round) float64
}

var columns = []column{
	{"req/s", "%.0f", perSecond},
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

// ratio returns the ratio of this cell's value to the other's, for each round.
func (c *cell) ratio(other *cell, value func(round) float64) spread {
	values := make([]float64, len(c.rounds))
	for i := range c.rounds {
		values[i] = value(c.rounds[i]) / value(other.rounds[i])
	}
	return spreadOf(values)
}

func perSecond(r round) float64 { return r.perSecond }

// cpu returns the processor time per request, of the server and Postgres together.
func cpu(r round) float64 { return r.cpu[0] + r.cpu[1] }

// group has the cells that are compared with each other. The cell of the first server comes first.
type group struct {
	workload    int
	connections int
	cells       []*cell
}

func (g group) title() string {
	return workloads[g.workload].name + ", " + plural(g.connections, "connection")
}

// groups returns the cells in groups, in the order of workloads and connections.
func (b *bench) groups() []group {
	var all []group
	for i, workload := range workloads {
		for _, connections := range b.connections {
			g := group{workload: i, connections: connections}
			for _, c := range b.cells {
				if c.workload == workload.name && c.connections == connections {
					g.cells = append(g.cells, c)
				}
			}
			if len(g.cells) > 0 {
				all = append(all, g)
			}
		}
	}
	return all
}

// markdown writes the ratios, and then a table for each group. All values are medians of the rounds. Rates and ratios
// also show the minimum and the maximum.
func (b *bench) markdown(w io.Writer) {
	fmt.Fprintf(w, "%d processors, %s; %d rounds of %s, pools of %d; medians [min–max].\n",
		runtime.NumCPU(), runtime.Version(), b.rounds, b.duration, b.pool)
	groups := b.groups()
	b.ratios(w, groups, "requests per second", perSecond)
	b.ratios(w, groups, "CPU per request, including Postgres", cpu)
	for _, g := range groups {
		b.table(w, g)
	}
}

// ratios writes the ratios of the first server's values to those of the others.
func (b *bench) ratios(w io.Writer, groups []group, title string, value func(round) float64) {
	fmt.Fprintf(w, "\n| %s: %s to |", title, b.servers[0].name)
	for _, s := range b.servers[1:] {
		fmt.Fprintf(w, " %s |", s.name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(b.servers)-1))
	for _, g := range groups {
		fmt.Fprintf(w, "| %s |", g.title())
		for _, s := range b.servers[1:] {
			text := "–"
			for _, c := range g.cells {
				if c.server == s.name {
					text = withSpread("%.2f", g.cells[0].ratio(c, value))
				}
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintln(w)
	}
}

func (b *bench) table(w io.Writer, g group) {
	fmt.Fprintf(w, "\n### %s: %s\n\n| server |", g.title(), workloads[g.workload].means)
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c.name)
	}
	names := len(columns)
	if b.counts != nil {
		fmt.Fprint(w, " statements | round trips | KB |")
		names += 3
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", names))
	for _, c := range g.cells {
		fmt.Fprintf(w, "| %s |", c.server)
		for i, column := range columns {
			s := c.spread(column.value)
			text := fmt.Sprintf(column.format, s.median)
			if i == 0 {
				text = withSpread(column.format, s)
			}
			fmt.Fprintf(w, " %s |", text)
		}
		if n, isCounted := b.counts[c.workload+" "+c.server]; isCounted {
			fmt.Fprintf(w, " %d | %d | %.1f |", n.statements, n.roundTrips, float64(n.bytes)/1000)
		}
		fmt.Fprintln(w)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func withSpread(format string, s spread) string {
	return fmt.Sprintf(format+" ["+format+"–"+format+"]", s.median, s.min, s.max)
}

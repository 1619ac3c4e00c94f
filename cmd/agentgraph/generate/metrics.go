package main

import (
	"log"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentgraph/agentgraph/observe"
)

type metric struct {
	Name, Type, Help string
	Labels           []string
}

// described parses the String form of a Prometheus description, which has no accessors.
var described = regexp.MustCompile(`^Desc\{fqName: "(.*?)", help: (".*"), unit: ".*", constLabels: \{(.*?)\}, variableLabels: \{(.*?)\}\}$`)

// readMetrics returns all metrics of the program, sorted by name.
func readMetrics() []metric {
	var all []metric
	for _, collector := range observe.Collectors() {
		descriptions := make(chan *prometheus.Desc)
		go func() {
			collector.Describe(descriptions)
			close(descriptions)
		}()
		for description := range descriptions {
			found := described.FindStringSubmatch(description.String())
			if found == nil {
				log.Fatal("cannot read ", description)
			}
			help, err := strconv.Unquote(found[2])
			if err != nil {
				log.Fatal(err)
			}
			constant, _, _ := strings.Cut(found[3], "=")
			all = append(all, metric{Name: found[1], Type: typeOfMetric(collector, found[1]), Help: help,
				Labels: slices.DeleteFunc(append(strings.Split(found[4], ","), constant),
					func(label string) bool { return label == "" })})
		}
	}
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// typeOfMetric returns the type of a metric. By convention, the names of counters, and only those, end with _total.
func typeOfMetric(collector prometheus.Collector, name string) string {
	switch collector.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	}
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return "gauge"
}

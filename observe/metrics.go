package observe

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const namespace = "agentgraph"

// Bucket bounds of histograms, in seconds.
var (
	requestBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	tripBounds    = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}
	modelBounds   = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 25, 60, 120}
)

// metrics has the metrics that are updated as events happen. The number of values of each label is bounded.
type metrics struct {
	registry *prometheus.Registry
	// registered lists the collectors of this package.
	registered []prometheus.Collector
	names      names

	requests                        *prometheus.CounterVec
	requestDuration                 *prometheus.HistogramVec
	requestStatements, requestTrips *prometheus.CounterVec

	statements   prometheus.Counter
	tripDuration prometheus.Histogram

	modelCalls    *prometheus.CounterVec
	modelDuration *prometheus.HistogramVec
	modelFirst    *prometheus.HistogramVec
	modelTokens   *prometheus.CounterVec

	toolCalls         *prometheus.CounterVec
	toolDuration      prometheus.Histogram
	retrievals        *prometheus.CounterVec
	retrievalDuration prometheus.Histogram
}

func newMetrics(version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		names:    names{labels: map[string]bool{}},

		requests: counters("requests_total", "Finished requests, and operations on WebSockets. The code is OK, the "+
			"code of the first error, or CANCELED if the client left before the response.", "operation", "kind", "code"),
		requestDuration: histograms("request_duration_seconds", "Duration of queries, mutations and requests without an "+
			"operation.", requestBounds, "operation"),
		requestStatements: counters("request_statements_total", "SQL statements that requests sent.", "operation"),
		requestTrips: counters("request_round_trips_total", "Round trips to the database during requests.",
			"operation"),

		statements: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "statements_total",
			Help: "SQL statements of the whole process, including background work."}),
		tripDuration: histogram("round_trip_duration_seconds", "Duration of a round trip to the database.", tripBounds),

		modelCalls: counters("model_calls_total", "Finished calls to models. The outcome is ok, left (the caller stopped "+
			"reading early), canceled, or the cause of the failure.", "operation", "model", "outcome"),
		modelDuration: histograms("model_call_duration_seconds", "Duration of calls to models.", modelBounds, "operation",
			"model"),
		modelFirst: histograms("model_first_token_seconds", "Time from the start of a call to a model to the first text "+
			"of its answer. Answers without text are not counted.", modelBounds, "operation", "model"),
		modelTokens: counters("model_tokens_total", "Tokens, as providers report them. The type is input, "+
			"cached (a part of input) or output.", "model", "type"),

		toolCalls: counters("tool_calls_total", "Tool calls and call transfers, except mocked ones. The outcome is "+
			"ok, or the cause of the failure.", "outcome"),
		toolDuration: histogram("tool_call_duration_seconds", "Duration of tool calls and call transfers.",
			modelBounds),
		retrievals: counters("retrievals_total", "Searches in knowledge bases. The outcome is found, nothing or "+
			"failed.", "outcome"),
		retrievalDuration: histogram("retrieval_duration_seconds", "Duration of searches in knowledge bases.", requestBounds),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info",
		Help:        "Always 1. The label version has the version of the program.",
		ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registered = []prometheus.Collector{build, m.requests, m.requestDuration, m.requestStatements, m.requestTrips,
		m.statements, m.tripDuration, m.modelCalls, m.modelDuration, m.modelFirst, m.modelTokens, m.toolCalls, m.toolDuration,
		m.retrievals, m.retrievalDuration}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.registered...)
	return m
}

// Collectors returns collectors of all metrics of this package, to document them. Call only their method Describe: they
// are not connected to a store.
func Collectors() []prometheus.Collector { return append(newMetrics("").registered, &loadCollector{}) }

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histograms(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help,
		Buckets: bounds}, labels)
}

func histogram(name, help string, bounds []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds})
}

func secondsSince(begin time.Time) float64 { return time.Since(begin).Seconds() }

// maxNames bounds the operation names from clients. Names of stored operations do not count.
const maxNames = 200

// otherName is the label of all further names. Clients can invent any number of them.
const otherName = "other"

// names are the operation names with their own label: the names of stored operations, and the first ones that clients
// use.
type names struct {
	mu     sync.Mutex
	labels map[string]bool
	used   int
}

// reserve adds the names of stored operations.
func (n *names) reserve(stored []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range stored {
		n.labels[name] = true
	}
}

// label returns the name if it has its own label or gets one now. Otherwise it returns otherName.
func (n *names) label(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.labels[name]:
		return name
	case n.used >= maxNames:
		return otherName
	}
	n.used++
	n.labels[name] = true
	return name
}

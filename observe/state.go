package observe

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/gateway"
)

// backlogTimeout bounds the counting of jobs.
const backlogTimeout = 2 * time.Second

// Watch adds the current load of the store and the server to the metrics. It also gives stored operations their own
// labels. Call it at most once.
func (o *Observer) Watch(store *db.Store, server *gateway.Server, stored []string) {
	if o.traces != nil {
		o.traces.names.reserve(stored)
	}
	if o.metrics != nil {
		o.metrics.names.reserve(stored)
		o.metrics.registry.MustRegister(&loadCollector{store: store, server: server, log: o.log})
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	inProgress      = describe("requests_in_progress", "Requests in progress, including streams but not WebSockets.")
	sockets         = describe("sockets", "Open WebSockets.")
	topics          = describe("topics", "Objects that have subscribers in this process, such as chats and executions.")
	followers       = describe("followers", "Subscribers in this process, to chats, executions and other objects.")
	poolConnections = describe("pool_connections", "Connections to the database. The state is in_use, idle or opening.",
		"pool", "state")
	poolMost     = describe("pool_connections_max", "Maximum number of connections of a pool.", "pool")
	poolAcquires = describe("pool_acquires_total", "How often a connection was taken from the pool.", "pool")
	poolWaits    = describe("pool_waits_total", "How often a caller had to wait for a connection.", "pool")
	poolWaited   = describe("pool_wait_seconds_total", "How long callers waited for connections, in total.", "pool")
	busSignals   = describe("bus_signals_total", "Signals, and parts of streamed texts, between replicas. The outcome "+
		"is sent, received or lost.", "outcome")
	busListening = describe("bus_listening", "1 while the replica is connected to receive signals from other "+
		"replicas, otherwise 0. It connects when its first subscriber arrives.")
	jobs = describe("jobs", "Jobs in the queue, which all replicas share, so each reports the same number. The "+
		"state is waiting, delayed (until a time) or admitted (assigned to a worker).", "kind", "state")
	jobAge = describe("job_oldest_seconds", "How long the oldest job of this kind and state has been due.", "kind",
		"state")
)

// loadCollector is a prometheus.Collector of the current load.
type loadCollector struct {
	store  *db.Store
	server *gateway.Server
	log    *slog.Logger
}

func (s *loadCollector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{inProgress, sockets, topics, followers, poolConnections, poolMost, poolAcquires,
		poolWaits, poolWaited, busSignals, busListening, jobs, jobAge} {
		descriptions <- d
	}
}

func (s *loadCollector) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	load, stats := s.server.Load(), s.store.Stats()
	gauge(inProgress, float64(load.Requests))
	gauge(sockets, float64(load.Sockets))
	gauge(topics, float64(stats.Topics))
	gauge(followers, float64(stats.Followers))
	for name, pool := range map[string]*pgxpool.Stat{"writes": stats.Writes, "reads": stats.Reads} {
		gauge(poolConnections, float64(pool.AcquiredConns()), name, "in_use")
		gauge(poolConnections, float64(pool.IdleConns()), name, "idle")
		gauge(poolConnections, float64(pool.ConstructingConns()), name, "opening")
		gauge(poolMost, float64(pool.MaxConns()), name)
		counter(poolAcquires, float64(pool.AcquireCount()), name)
		counter(poolWaits, float64(pool.EmptyAcquireCount()), name)
		counter(poolWaited, pool.EmptyAcquireWaitTime().Seconds(), name)
	}
	counter(busSignals, float64(stats.Bus.Sent), "sent")
	counter(busSignals, float64(stats.Bus.Received), "received")
	counter(busSignals, float64(stats.Bus.Lost), "lost")
	listening := 0.0
	if stats.Bus.IsListening {
		listening = 1
	}
	gauge(busListening, listening)

	ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
	defer cancel()
	backlog, err := s.store.Backlog(ctx)
	if err != nil {
		// The other metrics are useful even if the database is unreachable.
		s.log.Warn("could not count the jobs for the metrics", "error", err)
		return
	}
	for _, b := range backlog {
		gauge(jobs, float64(b.Jobs), b.Kind, b.State)
		gauge(jobAge, b.Oldest.Seconds(), b.Kind, b.State)
	}
}

package notify_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/notify/natstest"
)

// BenchmarkSignals sends signals of a thousand keys from one replica to another, and the other replica follows all of
// them.
func BenchmarkSignals(b *testing.B) {
	url, server := dbtest.URL(b), natstest.Start(b)
	buses := map[string]func() notify.Bus{
		"Postgres": func() notify.Bus { return notify.Postgres(openPool(b, url), unchanged) },
		"NATS":     func() notify.Bus { return openNATS(b, server) },
	}
	for name, open := range buses {
		b.Run(name, func(b *testing.B) {
			from, to := notify.New(open()), notify.New(open())
			defer from.Close()
			defer to.Close()
			keys := make([]notify.Key, 1_000)
			for i := range keys {
				keys[i] = notify.Key{CompanyID: "company_1", ID: fmt.Sprintf("chat_%d", i)}
				defer to.Subscribe(keys[i]).Close()
			}
			settle(b, from, to)
			before := to.Stats().Received
			b.ResetTimer()
			for i := range b.N {
				from.Wake(keys[i%len(keys)])
				// Up to four thousand signals are in progress at once.
				for to.Stats().Received+4_000 < before+uint64(i) {
					runtime.Gosched()
				}
			}
			for to.Stats().Received < before+uint64(b.N) {
				runtime.Gosched()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "signals/s")
		})
	}
}

package knowledge_test

import (
	"flag"
	"os"
	"testing"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// raceDetector is whether the tests run under the race detector, where reading takes ten times the processor time.
var raceDetector bool

func TestMain(m *testing.M) {
	// What rapid found is in its output; files that nobody asked for would stay behind.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(dbtest.Main(m))
}

package knowledge_test

import (
	"flag"
	"os"
	"testing"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// raceDetector reports whether the race detector is on. It makes reading take ten times the processor time.
var raceDetector bool

func TestMain(m *testing.M) {
	// rapid prints the failing case anyway, and its files would remain in the directory.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(dbtest.Main(m))
}

package knowledge_test

import (
	"flag"
	"os"
	"testing"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// raceDetector reports whether the race detector is on. Reading then takes ten times the processor time.
var raceDetector bool

func TestMain(m *testing.M) {
	// The output shows the failing case, so rapid should leave no files behind.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(dbtest.Main(m))
}

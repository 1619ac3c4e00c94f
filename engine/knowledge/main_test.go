package knowledge_test

import (
	"flag"
	"os"
	"testing"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

func TestMain(m *testing.M) {
	// What rapid found is in its output; files that nobody asked for would stay behind.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(dbtest.Main(m))
}

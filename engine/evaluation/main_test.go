package evaluation

import (
	"os"
	"testing"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

package agentgraph

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/agentgraph/agentgraph/"

// importTable lists the direct imports of each of our packages among our packages. A new package needs an entry here.
var importTable = map[string]string{
	"model":              "model/ordered",
	"model/ordered":      "",
	"cache":              "",
	"graph":              "model",
	"live":               "",
	"db":                 "model live db/fair db/group db/notify db/queue db/seal db/pg db/schema",
	"db/bucket":          "model",
	"db/bucket/s3test":   "",
	"db/pg":              "model db/fair",
	"db/migrations":      "",
	"db/notify":          "model",
	"db/notify/natstest": "",
	"db/queue":           "db/group",
	"db/fair":            "",
	"db/group":           "",
	"db/schema":          "db/migrations db/pg db/queue",
	"db/seal":            "",
	"db/local":           "",
	"db/dbtest":          "model db db/local db/pg db/schema",
	"archive":            "model db db/pg",
	"engine": "model db db/fair engine/llm engine/endpoint engine/knowledge engine/lazyregexp " +
		"db/pg engine/content engine/rules cache",
	"engine/content":  "model model/ordered engine/lazyregexp",
	"engine/endpoint": "model model/ordered cache engine/content engine/read",
	"engine/evaluation": "model model/ordered db db/fair engine engine/content engine/lazyregexp engine/llm " +
		"engine/read engine/rules db/pg",
	"engine/knowledge":              "model db db/fair engine/content engine/llm engine/lazyregexp cache db/pg engine/read",
	"engine/lazyregexp":             "",
	"engine/llm":                    "",
	"engine/llm/provider":           "engine/llm engine/read",
	"engine/llm/static":             "",
	"engine/llm/offline":            "engine/lazyregexp engine/llm cache engine/read engine/slot model/ordered",
	"engine/read":                   "engine/lazyregexp",
	"engine/slot":                   "engine/lazyregexp engine/llm engine/read model/ordered",
	"engine/rules":                  "cache model engine/content engine/read engine/llm",
	"query":                         "model db cache db/pg",
	"observe":                       "db gateway engine/endpoint engine/llm",
	"resolvers":                     "graph model db query engine engine/evaluation",
	"gateway":                       "model live gateway/console gateway/form cache",
	"gateway/auth":                  "model db",
	"gateway/console":               "",
	"gateway/form":                  "model",
	"gateway/mcp":                   "model gateway/form gateway/stored",
	"gateway/rest":                  "model gateway/form gateway/stored",
	"gateway/rest/openapi":          "model gateway/rest gateway/stored",
	"gateway/stored":                "model",
	"gateway/rest/openapi/generate": "gateway/rest gateway/rest/openapi",
	"app": "model db db/fair engine engine/endpoint engine/knowledge engine/llm " +
		"engine/llm/provider engine/llm/static engine/llm/offline query graph resolvers gateway gateway/auth " +
		"gateway/console gateway/mcp gateway/rest observe engine/evaluation",
	"cmd/agentgraph": "model cmd/agentgraph/cli cmd/agentgraph/client cmd/agentgraph/program db/pg",
	"cmd/agentgraph/program": "cmd/agentgraph/cli cmd/agentgraph/server cmd/agentgraph/admin cmd/agentgraph/agenttest " +
		"cmd/agentgraph/api cmd/agentgraph/apply",
	"cmd/agentgraph/server": "app model db db/local engine/endpoint engine/llm/provider gateway gateway/auth " +
		"gateway/console observe cmd/agentgraph/admin cmd/agentgraph/cli cmd/agentgraph/client cmd/agentgraph/demo db/schema",
	"cmd/agentgraph/generate": "model graph observe cmd/agentgraph/cli cmd/agentgraph/client cmd/agentgraph/program " +
		"cmd/agentgraph/server",
	"cmd/agentgraph/admin":     "archive model db db/bucket cmd/agentgraph/cli cmd/agentgraph/client db/schema",
	"cmd/agentgraph/agenttest": "model cmd/agentgraph/cli cmd/agentgraph/client",
	"cmd/agentgraph/api":       "cmd/agentgraph/cli cmd/agentgraph/client",
	"cmd/agentgraph/apply":     "model cmd/agentgraph/cli cmd/agentgraph/client model/ordered",
	"cmd/agentgraph/cli":       "",
	"cmd/agentgraph/client":    "model cmd/agentgraph/cli",
	"cmd/agentgraph/demo":      "model db engine/knowledge",
	"lab/faults":               "db/local",
	"lab/growth":               "model db db/local db/schema",
	"lab/taubench":             "model cmd/agentgraph/apply engine/rules",
}

// forTests are packages that only tests may import.
var forTests = []string{"db/dbtest", "db/notify/natstest", "db/bucket/s3test"}

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	all := readImports(t)
	for name, imports := range all {
		listed, isListed := importTable[name]
		require.True(t, isListed, "package %s is not in the table", name)
		assert.ElementsMatch(t, strings.Fields(listed), imports, "the table (A) and the imports of %s (B) differ", name)
		for _, imported := range imports {
			require.NotContains(t, forTests, imported, "%s imports %s, which is for tests", name, imported)
		}
	}
	for name := range importTable {
		require.Contains(t, all, name, "the table names a package that does not exist")
	}
}

// readImports returns the imports between our packages, without tests.
func readImports(t *testing.T) map[string][]string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").
		Output()
	require.NoError(t, err)
	all := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		names := strings.Fields(line)
		name, ours := strings.CutPrefix(names[0], module)
		if !ours {
			continue
		}
		all[name] = []string{}
		for _, imported := range names[1:] {
			if imported, ours = strings.CutPrefix(imported, module); ours {
				all[name] = append(all[name], imported)
			}
		}
	}
	return all
}

var (
	drawing      = regexp.MustCompile("(?s)```mermaid\nflowchart TD\n(.*?)```")
	drawnPackage = regexp.MustCompile(`(\w+)\["([a-z/]+)<br/>`)
	drawnArrows  = regexp.MustCompile(`(\w+) --> ([\w &]+)`)
)

// Each arrow is an import, and each import between drawn packages is an arrow. Only imports of model may be omitted.
func TestPackageDrawingIsCurrent(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("docs/internals/architecture.md")
	require.NoError(t, err)
	found := drawing.FindSubmatch(document)
	require.NotNil(t, found)
	packages := map[string]string{}
	for _, drawn := range drawnPackage.FindAllStringSubmatch(string(found[1]), -1) {
		packages[drawn[1]] = drawn[2]
	}
	arrows := map[string][]string{}
	for _, drawn := range drawnArrows.FindAllStringSubmatch(string(found[1]), -1) {
		for _, to := range strings.Split(drawn[2], " & ") {
			require.Contains(t, packages, drawn[1])
			require.Contains(t, packages, to)
			arrows[packages[drawn[1]]] = append(arrows[packages[drawn[1]]], packages[to])
		}
	}
	all := readImports(t)
	for _, name := range packages {
		require.Contains(t, all, name, "the drawing has a package that does not exist")
		require.Subset(t, all[name], arrows[name], "the drawing has imports of %s that do not exist", name)
		for _, imported := range all[name] {
			if imported != "model" && slices.Contains(slices.Collect(maps.Values(packages)), imported) {
				require.Contains(t, arrows[name], imported, "the drawing lacks an import of %s", name)
			}
		}
	}
	require.Greater(t, len(packages), 12)
}

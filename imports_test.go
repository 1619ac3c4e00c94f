package agentgraph

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/agentgraph/agentgraph/"

// mayImport says which of our packages each of our packages may import itself; "any" stands for all.
// A new package has no place until it is given one here.
var mayImport = map[string]string{
	"model":                   "",
	"graph":                   "model",
	"live":                    "",
	"db":                      "model live db/group db/notify db/queue db/seal",
	"db/notify":               "model",
	"db/queue":                "model db/group",
	"db/group":                "",
	"db/seal":                 "",
	"db/local":                "",
	"db/dbtest":               "model db db/local",
	"engine":                  "model db engine/llm engine/endpoint engine/knowledge",
	"engine/endpoint":         "model",
	"engine/knowledge":        "model db engine/llm",
	"engine/llm":              "",
	"engine/llm/openai":       "engine/llm",
	"engine/llm/offline":      "engine/llm engine/llm/offline/read",
	"engine/llm/offline/read": "",
	"query":                   "model db",
	"resolvers":               "graph model db query engine engine/knowledge",
	"gateway":                 "model live gateway/form",
	"gateway/auth":            "model db",
	"gateway/form":            "",
	"gateway/rest":            "model gateway/form",
	"app":                     "model db engine engine/endpoint engine/knowledge engine/llm engine/llm/openai engine/llm/offline query graph resolvers gateway gateway/auth gateway/rest",
	"cmd/agentgraph":          "any",
	"cmd/agentgraph/demo":     "model db engine/knowledge",
}

// forTests are packages that only tests may import.
var forTests = []string{"db/dbtest"}

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	require.NoError(t, err)
	seen := map[string]bool{}
	for line := range strings.Lines(string(output)) {
		names := strings.Fields(line)
		name, ours := strings.CutPrefix(names[0], module)
		if !ours {
			continue
		}
		seen[name] = true
		allowed, listed := mayImport[name]
		require.True(t, listed, "package %s has no place in the table", name)
		for _, imported := range names[1:] {
			if imported, ours = strings.CutPrefix(imported, module); ours {
				require.NotContains(t, forTests, imported, "%s imports %s, which is for tests", name, imported)
				require.True(t, allows(allowed, imported), "%s imports %s, which the table does not allow", name, imported)
			}
		}
	}
	for name := range mayImport {
		require.True(t, seen[name], "the table names %s, which does not exist", name)
	}
}

func allows(allowed, imported string) bool {
	return allowed == "any" || slices.Contains(strings.Fields(allowed), imported)
}

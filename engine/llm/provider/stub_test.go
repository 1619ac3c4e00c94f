package provider_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm/provider"
)

// stubKey is the only key that the stub server accepts.
const stubKey = "stub-key"

// stubURL is the address of the stub server, which runs while the tests of the package do.
var stubURL string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	stop, err := startStub()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	return m.Run()
}

// startStub starts the stub server of the e2e folder and sets stubURL. The server ends when the pipe to its standard
// input closes, either because stop was called or at the end of this process.
func startStub() (stop func(), err error) {
	folder, err := filepath.Abs("../../../lab/e2e")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		return nil, errors.New("lab/e2e/node_modules is missing: run `make e2e-deps` (npm ci in lab/e2e) once")
	}
	fixtures, err := filepath.Abs("testdata/fixtures.json")
	if err != nil {
		return nil, err
	}
	server := exec.CommandContext(context.Background(), "node", filepath.Join(folder, "model.mjs"), fixtures)
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the stub model server: %w", err)
	}
	stop = func() {
		_ = input.Close()
		_ = server.Wait()
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		stop()
		return nil, fmt.Errorf("the stub model server said no address: %w", err)
	}
	stubURL = strings.TrimSpace(address)
	return stop, nil
}

// stubbed is a model of the stub server. The server separates the requests of different ids.
type stubbed struct {
	*provider.Model
	id     string
	format provider.Format
}

var ids atomic.Int64

// stub returns the model of the stub server with a name from testdata/fixtures.json.
func stub(t *testing.T, name string, configure ...func(*provider.Config)) stubbed {
	t.Helper()
	config := provider.Config{BaseURL: stubURL + "/v1", Key: stubKey, Model: name}
	for _, c := range configure {
		c(&config)
	}
	if config.Format == provider.Contents {
		config.BaseURL = stubURL + "/v1beta"
	}
	model, err := provider.New(config)
	require.NoError(t, err)
	s := stubbed{Model: model, id: fmt.Sprintf("%s-%d", name, ids.Add(1)),
		format: cmp.Or(config.Format, provider.Completions)}
	s.SendHeader("X-Test-Id", s.id)
	return s
}

// asked returns the bodies of the requests that the stub server received from this model.
func (s stubbed) asked(t *testing.T) []map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, stubURL+"/__aimock/journal?testId="+s.id, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+stubKey)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, string(body))

	var entries []struct{ Body map[string]any }
	require.NoError(t, json.Unmarshal(body, &entries))
	bodies := make([]map[string]any, len(entries))
	for i, entry := range entries {
		bodies[i] = entry.Body
	}
	return bodies
}

// overFormats runs a test for each format.
func overFormats(t *testing.T, test func(*testing.T, func(*provider.Config))) {
	t.Helper()
	for _, name := range provider.Formats() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(c *provider.Config) { c.Format = provider.Format(name) })
		})
	}
}

package main

import (
	"bytes"
	"encoding/base64"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
)

// applyServer is a server whose companies are managed as files, behind a proxy that counts mutations.
type applyServer struct {
	*served
	store *db.Store
	proxy *httptest.Server

	mu        sync.Mutex
	mutations []string
	// before, if set, is called with the name of each mutation before it is sent on. A status other than 0 refuses the
	// mutation. If the status is the constant lost, the mutation runs, but its answer does not arrive.
	before func(mutation string) (status int)
}

const lost = -1

var mutationName = regexp.MustCompile(`answer: (\w+)\(`)

func newApplyServer(t *testing.T, flags ...string) *applyServer {
	t.Helper()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{SecretKey: make([]byte, 32)})
	c := &applyServer{store: store, served: serve(t, address, "", append([]string{"--secret-key",
		base64.StdEncoding.EncodeToString(make([]byte, 32)), "--workers", "0", "--rate-limit", "0"}, flags...)...)}
	target, err := url.Parse(c.url)
	require.NoError(t, err)
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	c.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if found := mutationName.FindSubmatch(body); found != nil {
			name := string(found[1])
			c.mu.Lock()
			c.mutations = append(c.mutations, name)
			before := c.before
			c.mu.Unlock()
			if before != nil {
				status := before(name)
				if status == lost {
					pass.ServeHTTP(httptest.NewRecorder(), r)
					status = http.StatusBadGateway
				}
				if status != 0 {
					w.WriteHeader(status)
					return
				}
			}
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(c.proxy.Close)
	return c
}

// demo creates the demo company and returns a key to it.
func (c *applyServer) demo(t *testing.T) string {
	t.Helper()
	company, err := demo.Seed(t.Context(), c.store)
	require.NoError(t, err)
	return newKey(t, c.store.Tenant(company.ID), "admin")
}

// run runs a command with the key.
func (c *applyServer) run(t *testing.T, key string, args ...string) outcome {
	t.Helper()
	c.mu.Lock()
	c.mutations = nil
	c.mu.Unlock()
	var out, log dbtest.Output
	code := run(t.Context(), append(args, "--url", c.proxy.URL, "--api-key", key), streams{out: &out, log: &log})
	require.NotContains(t, out.String()+log.String(), key)
	return outcome{code, out.String(), log.String()}
}

// good runs a command that must succeed, and returns its output.
func (c *applyServer) good(t *testing.T, key string, args ...string) string {
	t.Helper()
	o := c.run(t, key, args...)
	require.Zero(t, o.code, "%s\n%s", o.out, o.log)
	return o.out
}

// filesIn returns the contents of all files below a directory, by relative path.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	}))
	return all
}

// edit replaces a text that occurs once in a file.
func edit(t *testing.T, file, old, now string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), old), "%q in\n%s", old, text)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), old, now, 1)), 0o600))
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "company.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestPulledCompanyAppliesUnchanged(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	first, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	key := c.demo(t)
	c.good(t, key, "pull", "--no-ids", first)
	pulled := filesIn(t, first)
	require.Greater(t, len(pulled), 12)
	require.Contains(t, pulled, "knowledge/merrowby_home_manuals/home_manual.md")
	c.good(t, key, "pull", "--no-ids", "-f", first)
	require.Equal(t, pulled, filesIn(t, first), "pulled twice")
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", first))
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "apply", "-f", first))
	require.Empty(t, c.mutations)

	_, fresh := newCompany(t, c.store, "Fresh")
	o := c.run(t, fresh, "diff", "-f", first)
	require.Equal(t, 6, o.code, o.log)
	require.Contains(t, o.out, `+ create agent "Clinic reception"`)
	require.Contains(t, o.out, " to create, 0 to change, 0 to delete\n")
	require.Empty(t, c.mutations)
	done := c.good(t, fresh, "apply", "-f", first)
	require.Contains(t, done, " created, 0 changed, 0 deleted\n")
	require.NotEmpty(t, c.mutations)
	require.Equal(t, "Nothing differs.\n", c.good(t, fresh, "apply", "-f", first, "--prune"))
	require.Empty(t, c.mutations, "applied twice")
	c.good(t, fresh, "pull", "--no-ids", second)
	require.Equal(t, pulled, filesIn(t, second))

	c.good(t, fresh, "pull", third)
	require.Equal(t, "Nothing differs.\n", c.good(t, fresh, "diff", "-f", third))
	require.Contains(t, filesIn(t, third)["tools.yaml"], "id: tool_")
	o = c.run(t, key, "diff", "-f", third)
	require.Zero(t, o.code, o.out)
	require.Regexp(t, `^Nothing differs\.\nNote: this server does not know (\d+) ids in the files: it has \d+ of these objects by name, and 0 are new\n$`, o.out)
}

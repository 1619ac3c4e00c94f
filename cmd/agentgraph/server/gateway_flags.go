package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/console"
)

// mostBatch is the largest --max-batch.
const mostBatch = 10

// mostUpload is the largest --max-upload, in bytes.
const mostUpload = 25 << 20

// Validate refuses bounds that would let nothing, or everything, through.
func (f gatewayFlags) Validate() error {
	if f.MaxBody <= 0 || f.MaxUpload <= 0 || f.MaxResponse <= 0 || f.RequestTimeout <= 0 {
		return errors.New("--max-body, --max-upload, --max-answer and --request-timeout must be above 0")
	}
	if f.BasePath != "" && (f.BasePath[0] != '/' || path.Clean(f.BasePath) != strings.TrimSuffix(f.BasePath, "/") &&
		f.BasePath != "/" || (&url.URL{Path: f.BasePath}).EscapedPath() != f.BasePath) {
		return fmt.Errorf("--base-path must be a path such as /agents, not %q", f.BasePath)
	}
	if f.QueryCost < 0 {
		return errors.New("--query-cost must not be below 0")
	}
	if f.QueryDepth <= 0 {
		return errors.New("--query-depth must be above 0")
	}
	if f.MaxBatch < 0 || f.MaxBatch > mostBatch {
		return fmt.Errorf("--max-batch must be between 0 and %d", mostBatch)
	}
	if f.Persisted < 0 {
		return errors.New("--persisted-query-bytes must not be negative")
	}
	if f.MaxUpload > mostUpload {
		return fmt.Errorf("--max-upload must be at most %d", mostUpload)
	}
	if f.MaxClients < 0 || f.MaxPerAddress < 0 {
		return errors.New("--max-clients and --max-clients-per-address must not be negative")
	}
	if f.RateLimit < 0 || f.ModelRateLimit < 0 || f.CompanyLimit < 0 {
		return errors.New("--rate-limit, --company-rate-limit and --model-rate-limit must not be negative")
	}
	for _, origin := range f.CORSOrigin {
		if !isOrigin(origin) {
			return fmt.Errorf("--cors-origin must be *, or an origin such as https://console.example.com or "+
				"https://*.example.com, not %q", origin)
		}
	}
	_, err := f.Key()
	return err
}

// isOrigin reports whether the text is "*" or an origin as browsers send it, except that its host may begin with "*.".
func isOrigin(text string) bool {
	address, err := url.Parse(text)
	return text == "*" || err == nil && (address.Scheme == "http" || address.Scheme == "https") &&
		address.Hostname() != "" &&
		text == address.Scheme+"://"+address.Host && !strings.Contains(strings.TrimPrefix(address.Host, "*."), "*")
}

// costPerWork is the cost that an operation may have for each value that the executor may make for its response:
// whoever allows more of the one allows more of the other.
const costPerWork = 20

// settings returns the gateway's settings.
func (f gatewayFlags) settings() gateway.Settings {
	settings := gateway.DefaultSettings()
	settings.Introspection = f.Introspection
	settings.BasePath = strings.TrimSuffix(f.BasePath, "/")
	settings.BodyBytes = f.MaxBody
	settings.UploadBytes = f.MaxUpload
	settings.ResponseBytes = f.MaxResponse
	settings.QueryCost = f.QueryCost
	settings.ResponseWork = f.QueryCost / costPerWork
	settings.Compress = f.Compress
	settings.QueryDepth = f.QueryDepth
	settings.Batch = f.MaxBatch
	settings.PersistedBytes = f.Persisted
	settings.RequestTimeout = f.RequestTimeout
	settings.AllowedOrigins = f.AllowedOrigin
	settings.CORSOrigins = f.CORSOrigin
	settings.Connections = gateway.Connections{All: f.MaxClients, PerAddress: f.MaxPerAddress}
	settings.RateLimit = f.RateLimit
	settings.CompanyRateLimit = f.CompanyLimit
	settings.ModelRateLimit = f.ModelRateLimit
	return settings
}

// console returns the web console, or nil if the flags switch it off.
func (f gatewayFlags) console(invitation *console.Invitation) *console.Handler {
	if !f.hasConsole() {
		return nil
	}
	return console.New(invitation)
}

func (f gatewayFlags) hasConsole() bool { return f.Console == "on" && f.Trusted == "" }

// existingDirectory returns what sets the path of a directory that must be there.
func existingDirectory(into *string) func(string) error {
	return func(path string) error {
		path = cli.ExpandPath(path)
		stat, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !stat.IsDir() {
			return fmt.Errorf("%q exists but is not a directory", path)
		}
		*into = path
		return nil
	}
}

// trustedDocuments returns the directory of trusted documents, or nil.
func (f gatewayFlags) trustedDocuments() fs.FS {
	if f.Trusted == "" {
		return nil
	}
	return os.DirFS(f.Trusted)
}

package server

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/console"
	"github.com/agentgraph/agentgraph/observe"
)

// maxBatch is the largest --max-batch.
const maxBatch = 10

// maxUpload is the largest --max-upload, in bytes.
const maxUpload = 25 << 20

// Validate refuses limits that would block everything or limit nothing, and malformed paths, origins and networks.
func (f gatewayFlags) Validate() error {
	err := cmp.Or(
		cli.Refuse(f.BodyBytes <= 0, "--max-body must be above 0"),
		cli.Refuse(f.UploadBytes <= 0, "--max-upload must be above 0"),
		cli.Refuse(f.ResponseBytes <= 0, "--max-answer must be above 0"),
		cli.Refuse(f.RequestTimeout <= 0, "--request-timeout must be above 0"),
		cli.Refuse(f.BasePath != "" && !isPath(f.BasePath), "--base-path must be a path such as /agents, not %q", f.BasePath),
		cli.Refuse(f.QueryCost < 0, "--query-cost must not be negative; 0 means no limit"),
		cli.Refuse(f.QueryDepth <= 0, "--query-depth must be above 0"),
		cli.Refuse(f.Batch < 0 || f.Batch > maxBatch, "--max-batch must be between 0 and %d", maxBatch),
		cli.Refuse(f.PersistedBytes < 0, "--persisted-query-bytes must not be negative"),
		cli.Refuse(f.UploadBytes > maxUpload, "--max-upload must be at most %d", maxUpload),
		cli.Refuse(f.Connections.All < 0, "--max-clients must not be negative; 0 means no limit"),
		cli.Refuse(f.Connections.PerAddress < 0, "--max-clients-per-address must not be negative; 0 means no limit"),
		cli.Refuse(f.RateLimit < 0, "--rate-limit must not be negative; 0 means no limit"),
		cli.Refuse(f.CompanyRateLimit < 0, "--company-rate-limit must not be negative; 0 means no limit"),
		cli.Refuse(f.ModelRateLimit < 0, "--model-rate-limit must not be negative; 0 means no limit"),
	)
	if err != nil {
		return err
	}
	for _, origin := range f.CORSOrigins {
		if !isOrigin(origin) {
			return fmt.Errorf("--cors-origin must be *, or an origin such as https://console.example.com or "+
				"https://*.example.com, not %q", origin)
		}
	}
	_, err = networks(f.TrustedProxies)
	return err
}

// networks returns the networks with these addresses. A single address is a network of its own.
func networks(texts []string) ([]netip.Prefix, error) {
	found := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		network, err := netip.ParsePrefix(text)
		if address, errAddress := netip.ParseAddr(text); errAddress == nil {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if mapped := network.Addr(); mapped.Is4In6() && network.Bits() >= 96 { // clients' addresses are never in this form
			network = netip.PrefixFrom(mapped.Unmap(), network.Bits()-96)
		}
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy must be an address or a network such as 10.0.0.0/8, not %q", text)
		}
		found[i] = network
	}
	return found, nil
}

func isPath(text string) bool {
	isClean := text == "/" || path.Clean(text) == strings.TrimSuffix(text, "/")
	return text[0] == '/' && isClean && (&url.URL{Path: text}).EscapedPath() == text
}

// isOrigin reports whether the text is "*", or an origin in the format of browsers. The host may begin with "*.".
func isOrigin(text string) bool {
	address, err := url.Parse(text)
	return text == "*" || err == nil && (address.Scheme == "http" || address.Scheme == "https") &&
		address.Hostname() != "" &&
		text == address.Scheme+"://"+address.Host && !strings.Contains(strings.TrimPrefix(address.Host, "*."), "*")
}

// costPerWork is the ratio of --query-cost to the limit of work for a response. The method settings computes that
// limit.
const costPerWork = 20

func (f gatewayFlags) settings() gateway.Settings {
	settings := f.Settings
	settings.TrustedProxies, _ = networks(f.TrustedProxies) // Validate has checked them
	settings.BasePath = strings.TrimSuffix(f.BasePath, "/")
	settings.ResponseWork = f.QueryCost / costPerWork
	return settings
}

func (f gatewayFlags) console(invitation *console.Invitation) *console.Handler {
	if !f.hasConsole() {
		return nil
	}
	return console.New(invitation)
}

func (f gatewayFlags) hasConsole() bool { return f.Console == "on" && f.TrustedDirectory == "" }

// existingDirectory returns a setter for the path of a directory that must exist.
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

// logLevel returns a setter for a level. Its error names the levels.
func logLevel(into *slog.Level) func(string) error {
	return func(text string) error {
		if into.UnmarshalText([]byte(text)) != nil {
			return fmt.Errorf("expected debug, info, warn or error but got %q", text)
		}
		return nil
	}
}

func (f gatewayFlags) trustedDocuments() fs.FS {
	if f.TrustedDirectory == "" {
		return nil
	}
	return os.DirFS(f.TrustedDirectory)
}

// closeTimeout bounds how long the program waits at its end to send the last spans.
const closeTimeout = 5 * time.Second

// Validate refuses an invalid address, profiles without an address, OTEL_* variables that cannot be used, and negative
// durations.
func (f observeFlags) Validate() error {
	if f.Listen != "" {
		if err := checkListen("--metrics-listen", f.Listen); err != nil {
			return err
		}
	}
	return cmp.Or(
		cli.Refuse(f.Pprof && f.Listen == "", "--pprof needs --metrics-listen, because profiles are served on that address"),
		observe.CheckTraces(),
		cli.Refuse(f.SlowOperation < 0 || f.SlowStatement < 0, "--slow-operation and --slow-statement must not be negative"),
	)
}

// sampleNoMemory disables the sampling of allocations in this process. Only heap profiles need the samples. Sampling
// takes 2 % of the processor time of a chat turn.
var sampleNoMemory = sync.OnceFunc(func() { runtime.MemProfileRate = 0 })

// start returns an Observer for the flags and the OTEL_* variables, and a function that closes it.
func (f observeFlags) start(ctx context.Context, version string, log *slog.Logger) (*observe.Observer, func(), error) {
	if !f.Pprof {
		sampleNoMemory()
	}
	f.Version, f.Log = version, log
	observer, err := observe.Start(ctx, f.Options)
	if err != nil {
		return nil, nil, err
	}
	return observer, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := observer.Close(closing); err != nil {
			log.Warn("could not send the last spans or metrics before exit", "error", err)
		}
	}, nil
}

// withSlowLog returns the settings with the threshold from which an operation is logged as slow.
func (f observeFlags) withSlowLog(settings gateway.Settings) gateway.Settings {
	settings.SlowOperation = f.SlowOperation
	return settings
}

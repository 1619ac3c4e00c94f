package observe

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// collectorTimeout bounds one upload, including retries, unless OTEL_EXPORTER_OTLP_TIMEOUT is set.
	collectorTimeout = 10 * time.Second
	// collectorRetry is the delay before the first retry; it doubles each time.
	collectorRetry = 500 * time.Millisecond
)

// collector is an otlptrace.Client that sends spans by OTLP over HTTP. OpenTelemetry's own client links all of gRPC,
// which the program does not use.
type collector struct {
	address string
	header  http.Header
	timeout time.Duration
	isZip   bool
	client  http.Client
}

// newCollector returns the collector that the OTEL_* variables configure.
func newCollector(getenv func(string) string) (*collector, error) {
	lookup := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	if protocol := lookup("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, not %q", protocol)
	}
	c := &collector{
		address: getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), timeout: collectorTimeout,
		isZip:  lookup("COMPRESSION") == "gzip",
		header: http.Header{"Content-Type": {"application/x-protobuf"}, "User-Agent": {"agentgraph"}},
		client: http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
			TLSHandshakeTimeout: collectorTimeout}},
	}
	if c.address == "" {
		c.address = strings.TrimSuffix(cmp.Or(getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318"), "/") +
			"/v1/traces"
	}
	// The error does not quote the address, which may contain a password.
	if address, err := url.Parse(c.address); err != nil || address.Host == "" || address.Scheme != "http" &&
		address.Scheme != "https" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL")
	}
	if text := lookup("TIMEOUT"); text != "" {
		milliseconds, err := strconv.Atoi(text)
		if err != nil || milliseconds <= 0 {
			return nil, errors.New("OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds above 0")
		}
		c.timeout = time.Duration(milliseconds) * time.Millisecond
	}
	for pair := range strings.SplitSeq(lookup("HEADERS"), ",") {
		name, value, isPair := strings.Cut(pair, "=")
		if !isPair {
			continue
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs, URL-encoded, with commas between them")
		}
		c.header.Set(strings.TrimSpace(name), value)
	}
	return c, nil
}

func (c *collector) Start(context.Context) error { return nil }

func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. It retries until the timeout if the collector is unreachable or busy.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the fields of the request type, which is in a package that needs gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	header := c.header.Clone()
	if c.isZip {
		var zipped bytes.Buffer
		writer := gzip.NewWriter(&zipped)
		_, _ = writer.Write(body) // writing to memory cannot fail
		_ = writer.Close()
		body = zipped.Bytes()
		header.Set("Content-Encoding", "gzip")
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for delay := collectorRetry; ; delay *= 2 {
		again, err := c.send(ctx, header, body)
		if err == nil || !again {
			return err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return err
		}
	}
}

// send sends the body once. After an error, the result retry reports whether to retry.
func (c *collector) send(ctx context.Context, header http.Header, body []byte) (retry bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header = header
	res, err := c.client.Do(req)
	if err != nil {
		return true, err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be reused
	switch {
	case res.StatusCode/100 == 2:
		return false, nil
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= http.StatusBadGateway &&
		res.StatusCode <= http.StatusGatewayTimeout:
		retry = true
	}
	return retry, fmt.Errorf("the collector answered %s", res.Status)
}

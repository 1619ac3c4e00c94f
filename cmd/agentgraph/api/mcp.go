package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type mcpCommand struct {
	client.Flags
}

func newMCP() *cobra.Command {
	c := &mcpCommand{}
	return cli.New(c, &cobra.Command{
		Use: "mcp", Short: "Let an assistant on this computer use the server: MCP over standard input and output.",
		Example: `agentgraph mcp --context production`,
	}, nil, &c.Flags)
}

// maxMessage bounds a message, in bytes.
const maxMessage = 16 << 20

// Run passes each line of standard input to the server's /mcp, and each message of its responses to standard output.
// Several messages may be in progress at once. It ends after the end of the input, once all are answered.
func (c *mcpCommand) Run(cmd *cobra.Command) error {
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	proxy := &mcpProxy{server: server, out: cmd.OutOrStdout()}
	lines := bufio.NewScanner(cli.Interruptible(cmd.Context(), cmd.InOrStdin()))
	lines.Buffer(nil, maxMessage)
	var answering sync.WaitGroup
	defer answering.Wait()
	for lines.Scan() {
		message := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(message) == 0 {
			continue
		}
		answering.Go(func() { proxy.forward(cmd.Context(), message) })
	}
	return lines.Err()
}

// mcpProxy passes messages on. It is safe for concurrent use.
type mcpProxy struct {
	server *client.Client
	mu     sync.Mutex
	out    io.Writer
}

// mcpMessage has the parts of a message that the HTTP headers repeat, and its id if it is a request.
type mcpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// forward sends a message and writes the answers. If the server does not answer a request, or refuses text that is not
// a message, forward writes an error.
func (p *mcpProxy) forward(ctx context.Context, text []byte) {
	var message mcpMessage
	_ = json.Unmarshal(text, &message) // the server refuses malformed messages
	isAnswered, err := p.exchange(ctx, text, message)
	refused, isRefused := errors.AsType[*mcpError](err)
	isMalformed := isRefused && (refused.Code == jsonrpc.CodeParseError || refused.Code == jsonrpc.CodeInvalidRequest)
	isNotification := message.Method != "" && len(message.ID) == 0
	if isAnswered || isNotification || message.Method == "" && !isMalformed {
		return
	}
	if !isRefused {
		err = cmp.Or(err, errors.New("the server closed the connection before it answered: try again"))
		refused = &mcpError{Code: serverError, Message: err.Error()}
	}
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": message.ID, "error": refused}) // the id is valid JSON
	p.write(answer)
}

// serverError is the code of errors that JSON-RPC does not define.
const serverError = -32000

// mcpError is a JSON-RPC error.
type mcpError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *mcpError) Error() string { return e.Message }

func (p *mcpProxy) exchange(ctx context.Context, text []byte, message mcpMessage) (isAnswered bool, err error) {
	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	if version := message.Params.Meta.Version; version != "" {
		header.Set("Mcp-Protocol-Version", version)
		header.Set("Mcp-Method", message.Method)
		if name := cmp.Or(message.Params.Name, message.Params.URI); name != "" {
			header.Set("Mcp-Name", name)
		}
	}
	response, err := p.server.Send(ctx, "/mcp", text, header)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return false, reasonOf(response)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if data = bytes.TrimSpace(data); !isData || len(data) == 0 {
			continue
		}
		var answer mcpMessage
		_ = json.Unmarshal(data, &answer)
		isAnswered = isAnswered || answer.Method == "" && isSameID(answer.ID, message.ID)
		p.write(data)
	}
	return isAnswered, lines.Err()
}

// isSameID reports whether two ids are the same JSON value. Programs escape characters differently.
func isSameID(a, b json.RawMessage) bool {
	var left, right any
	return json.Unmarshal(a, &left) == nil && json.Unmarshal(b, &right) == nil && reflect.DeepEqual(left, right)
}

// reasonOf returns why the server refused a message, or nil if it accepted the message.
func reasonOf(response *http.Response) error {
	if response.StatusCode < http.StatusBadRequest {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxMessage))
	var refused struct{ Error mcpError }
	if json.Unmarshal(text, &refused) != nil || refused.Error.Message == "" {
		return fmt.Errorf("the server answered %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return &refused.Error
}

func (p *mcpProxy) write(message []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.out.Write(append(message, '\n')) // fails only if the assistant has disconnected
}

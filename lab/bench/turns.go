package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// said has the contact's messages of each chat. They cause calls, delegations and retrievals, and do not end the chat.
var said = []string{
	"Hello, I have a question.",
	"What are your opening hours on Saturday?",
	"I would like to book an appointment for next Tuesday at ten.",
	"Can you tell me what it costs?",
	"Please send me a confirmation by text message.",
}

// gateway is an agentgraph with the demo company and its own Postgres.
type gateway struct {
	*server
	key   string
	chats []request // each request starts a chat
}

// turns measures how many chat turns this tree and the old revision answer. It restarts both for each round.
func (b *bench) turns(ctx context.Context) (err error) {
	if b.directory, err = os.MkdirTemp("", "agentgraph-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.directory) }()
	b.say("building")
	_, specs, err := b.programs(ctx)
	if err != nil {
		return err
	}
	for _, connections := range b.connections {
		for _, s := range specs {
			b.cells = append(b.cells, &cell{workload: turnsWorkload, connections: connections, server: s.name})
			if connections == b.connections[0] {
				b.servers = append(b.servers, &server{spec: s})
			}
		}
	}
	for i := range b.rounds {
		b.say("round %d of %d", i+1, b.rounds)
		order := slices.Clone(specs)
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			if err := b.turnsOf(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

// turnsOf measures one program in one round.
func (b *bench) turnsOf(ctx context.Context, s spec) error {
	g, err := b.startGateway(ctx, s)
	if err != nil {
		return err
	}
	defer g.stop() // stops its Postgres too
	for _, c := range b.cells {
		if c.server != s.name {
			continue
		}
		measured, err := b.measureRound(ctx, g.process.Pid, g.uses, func(during time.Duration) ([]time.Duration, error) {
			return g.talk(ctx, c.connections, during)
		})
		if err == nil {
			measured.peak, err = peakOf(g.process.Pid, false)
		}
		if err != nil {
			return err
		}
		c.rounds = append(c.rounds, measured)
	}
	return nil
}

// uses returns the processor time of the program, of its Postgres and of this program.
func (g *gateway) uses() (used [3]time.Duration, err error) {
	own, err := readProcess(g.process.Pid)
	if err != nil {
		return used, err
	}
	all, err := cpuOf(g.process.Pid)
	return [3]time.Duration{own.cpu, all - own.cpu, ownCPU()}, err
}

// startGateway starts the program with its demo company and a model that takes no time.
func (b *bench) startGateway(ctx context.Context, s spec) (*gateway, error) {
	log, err := os.CreateTemp(b.directory, s.name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(s.command[0], "dev", "--ephemeral", "--port", "0")
	command.Stderr = log
	command.Env = append(os.Environ(), "AGENTGRAPH_OFFLINE_PAUSE=0", "AGENTGRAPH_RATE_LIMIT=0",
		"AGENTGRAPH_MODEL_RATE_LIMIT=0",
		"AGENTGRAPH_COMPANY_RATE_LIMIT=0", "AGENTGRAPH_LOG_LEVEL=warn")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	g := &gateway{server: &server{
		spec: s, process: command.Process, ended: make(chan struct{}), log: log.Name(),
	}}
	defer context.AfterFunc(ctx, g.stop)()
	words := bufio.NewReader(out)
	first, err := words.ReadBytes('\n')
	go func() {
		_, _ = io.Copy(io.Discard, words)
		_ = command.Wait()
		close(g.ended)
	}()
	if err == nil {
		err = g.readStart(first)
	}
	if err != nil {
		g.stop()
		return nil, fmt.Errorf("%w: %s", err, g.logTail())
	}
	return g, nil
}

// readStart reads the address and the key from the program's first output, and the agents from its API.
func (g *gateway) readStart(first []byte) error {
	var ready struct{ RestURL, APIKey string }
	if err := json.Unmarshal(first, &ready); err != nil {
		return fmt.Errorf("%q: %w", first, err)
	}
	g.address, g.key = strings.TrimPrefix(ready.RestURL, "http://"), ready.APIKey
	a, err := newAsker(g.address)
	if err != nil {
		return err
	}
	defer a.close()
	var agents struct {
		Data struct {
			Agents struct {
				Nodes []struct {
					ID     string
					Fields []struct{ Name string }
				}
			}
		}
	}
	if err := g.send(a, `{ agents(first: 50) { nodes { id fields { name } } } }`, nil, &agents); err != nil {
		return err
	}
	for _, agent := range agents.Data.Agents.Nodes {
		bag := map[string]string{}
		for _, field := range agent.Fields {
			bag[field.Name] = "Harbour Street"
		}
		g.chats = append(g.chats,
			g.operation(`mutation ($in: StartSimulationChatInput!) { startSimulationChat(input: $in) { simulationChat { id } }
				}`,
				map[string]any{"agentId": agent.ID, "dataBag": bag}))
	}
	if len(g.chats) == 0 {
		return errors.New("the demo company has no agents")
	}
	return nil
}

func (g *gateway) operation(query string, input map[string]any) request {
	body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"in": input}})
	if err != nil {
		panic(fmt.Sprintf("texts are JSON: %v", err))
	}
	return request{method: "POST", path: "/graphql", key: g.key, body: body}
}

func (g *gateway) send(a *asker, query string, input map[string]any, answer any) error {
	text, err := a.ask(g.operation(query, input))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

const sendMessage = `mutation ($in: SendSimulationMessageInput!) {
	sendSimulationMessage(input: $in) { newMessages { sequence role text } simulationChat { status } } }`

// talk runs chats on the connections until the time is over, and returns the sorted durations of the turns.
func (g *gateway) talk(ctx context.Context, connections int, duration time.Duration) ([]time.Duration, error) {
	var next atomic.Int64
	return onEach(ctx, g.address, connections, duration, func(ctx context.Context, a *asker, took *[]time.Duration) error {
		return g.hold(ctx, a, g.chats[int(next.Add(1))%len(g.chats)], took)
	})
}

// hold runs one chat until it or ctx ends.
func (g *gateway) hold(ctx context.Context, a *asker, chat request, took *[]time.Duration) error {
	text, err := a.ask(chat)
	if err != nil {
		return err
	}
	var started struct {
		Data struct {
			StartSimulationChat struct{ SimulationChat struct{ ID string } }
		}
	}
	if err := json.Unmarshal(text, &started); err != nil {
		return err
	}
	for _, message := range said {
		if ctx.Err() != nil {
			return nil
		}
		r := g.operation(sendMessage, map[string]any{"simulationChatId": started.Data.StartSimulationChat.SimulationChat.ID,
			"text": message})
		began := time.Now()
		if text, err = a.ask(r); err != nil {
			return err
		}
		*took = append(*took, time.Since(began))
		if bytes.Contains(text, []byte(`"status":"Ended"`)) {
			return nil
		}
	}
	return nil
}

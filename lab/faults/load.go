package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// company is the company that the clients use.
type company struct {
	*client
	agent, dataset, campaign string
	// chats has the chats that no client waits for.
	chats     chan *follower
	mu        sync.Mutex
	followers []*follower
	number    atomic.Int64
}

const (
	maxChats = 40
	// maxInProgress bounds the operations in progress.
	maxInProgress = 300
)

// newCompany creates an agent, a dataset and a running campaign.
func newCompany(ctx context.Context, c *client) (*company, error) {
	w := &company{client: c, chats: make(chan *follower, maxChats)}
	var made struct {
		CreateAgent    struct{ Agent struct{ ID string } }
		CreateDataset  struct{ Dataset struct{ ID string } }
		CreateCampaign struct{ Campaign struct{ ID string } }
	}
	if !w.try(ctx, "", "agent",
		`mutation { createAgent(input: {name: "Front desk", channel: Phone, direction: Outbound, language: "en",
			prompt: "Be kind."}) { agent { id } }
		createDataset(input: {name: "Handbook"}) { dataset { id } } }`, nil, &made) {
		return nil, w.failure("an agent could not be created")
	}
	w.agent, w.dataset = made.CreateAgent.Agent.ID, made.CreateDataset.Dataset.ID
	if !w.try(ctx, "", "campaign",
		`mutation ($agent: ID!) { createCampaign(input: {agentId: $agent, name: "Recall"}) { campaign { id } } }`,
		map[string]any{"agent": w.agent}, &made) {
		return nil, w.failure("a campaign could not be created")
	}
	w.campaign = made.CreateCampaign.Campaign.ID
	if !w.try(ctx, "", "running",
		`mutation ($id: ID!) { updateCampaign(input: {campaignId: $id, status: Running}) { campaign { id } } }`,
		map[string]any{"id": w.campaign}, nil) {
		return nil, w.failure("a campaign could not be started")
	}
	w.ledger.operations = nil
	return w, nil
}

func (w *company) failure(what string) error {
	for _, o := range w.ledger.operations {
		if o.refused != "" {
			what += ": " + o.refused
		}
	}
	return errors.New(what)
}

// work starts perSecond operations a second until ctx ends, and returns when all are done. It does not wait for earlier
// operations, so that a slow operation does not delay others.
func (w *company) work(ctx context.Context, perSecond func() int) {
	patient := context.WithoutCancel(ctx)
	actions := []func(context.Context, int64){w.sendMessage, w.sendMessage, w.sendMessage, w.record, w.record, w.addItem,
		w.dial, w.upload, w.execute,
		w.record}
	var inProgress sync.WaitGroup
	defer inProgress.Wait()
	slots := make(chan struct{}, maxInProgress)
	for pause(ctx, time.Second/time.Duration(perSecond())) {
		select {
		case slots <- struct{}{}:
		default:
			continue
		}
		n := w.number.Add(1)
		inProgress.Go(func() {
			defer func() { <-slots }()
			actions[int(n)%len(actions)](patient, n)
		})
	}
}

// sendMessage sends a message in a chat that no client waits for, or in a new one.
func (w *company) sendMessage(ctx context.Context, n int64) {
	var chat *follower
	select {
	case chat = <-w.chats:
	default:
		if chat = w.startChat(ctx, n); chat == nil {
			return
		}
	}
	w.try(ctx, "message", fmt.Sprintf("message %d", n), `mutation ($chat: ID!, $text: String!) {
		sendSimulationMessage(input: {simulationChatId: $chat, text: $text}) { newMessages { sequence } } }`,
		map[string]any{"chat": chat.id, "text": fmt.Sprintf("message %d", n)}, nil)
	w.chats <- chat
}

func (w *company) startChat(ctx context.Context, n int64) *follower {
	w.mu.Lock()
	mayStart := len(w.followers) < maxChats
	if mayStart {
		w.followers = append(w.followers, nil) // reserve the index of the chat's follower
	}
	place := len(w.followers) - 1
	w.mu.Unlock()
	if !mayStart {
		return nil
	}
	var made struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	lost := 0 // chats that were started, but whose ids did not arrive
	for result := again; result != acknowledged; {
		result, _ = w.send(ctx, nil, fmt.Sprintf("chat %d.%d", n, lost),
			`mutation ($agent: ID!) { startSimulationChat(input: {agentId: $agent}) { simulationChat { id } } }`,
			map[string]any{"agent": w.agent}, &made)
		if result == repeated {
			lost++
		}
		if result == refused || result != acknowledged && !pause(ctx, retryEvery) {
			return nil
		}
	}
	chat := &follower{client: w.client, id: made.StartSimulationChat.SimulationChat.ID, seen: map[int]int{},
		phases: map[int]*phase{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followers[place] = chat
	return chat
}

// record records a usage entry.
func (w *company) record(ctx context.Context, n int64) {
	w.try(ctx, "usage", fmt.Sprintf("usage-%d", n), `mutation ($key: String!, $agent: ID!, $at: DateTime!) {
		recordUsage(input: {entries: [{idempotencyKey: $key, agentId: $agent, channel: Phone, credits: 0.5,
			at: $at}]}) { recorded } }`,
		map[string]any{"key": fmt.Sprintf("usage-%d", n), "agent": w.agent, "at": time.Now().UTC().
			Format("2006-01-02T15:04:05.000Z")}, nil)
}

// addItem adds an item to the campaign.
func (w *company) addItem(ctx context.Context, n int64) {
	number := fmt.Sprintf("+49151%08d", 10_000_000+n)
	w.try(ctx, "item", number, `mutation ($campaign: ID!, $number: String!) {
		addCampaignItems(input: {campaignId: $campaign, items: [{phoneNumber: $number}]}) { items { id } } }`,
		map[string]any{"campaign": w.campaign, "number": number}, nil)
}

// dial claims items, as a dialer does, and reports that it calls them.
func (w *company) dial(ctx context.Context, n int64) {
	var claimed struct {
		ClaimCampaignItems struct {
			ClaimID string
			Items   []struct{ ID string }
		}
	}
	result, _ := w.send(ctx, nil, fmt.Sprint("claim ", n), `mutation ($campaign: ID!) {
		claimCampaignItems(input: {campaignId: $campaign, limit: 3, leaseSeconds: 30}) { claimId items { id } } }`,
		map[string]any{"campaign": w.campaign}, &claimed)
	if result != acknowledged {
		return
	}
	for _, item := range claimed.ClaimCampaignItems.Items {
		w.try(ctx, "call", item.ID, `mutation ($campaign: ID!, $item: ID!, $claim: ID!) {
			advanceCampaignItem(input: {campaignId: $campaign, itemId: $item, to: Calling, claimId: $claim}) { item { id } } }`,
			map[string]any{"campaign": w.campaign, "item": item.ID, "claim": claimed.ClaimCampaignItems.ClaimID}, nil)
	}
}

// upload adds a document of some pages.
func (w *company) upload(ctx context.Context, n int64) {
	name := fmt.Sprintf("document %d", n)
	w.try(ctx, "document", name, `mutation ($dataset: ID!, $name: String!, $text: String!) {
		addDocument(input: {datasetId: $dataset, name: $name, text: $text}) { document { id } } }`,
		map[string]any{"dataset": w.dataset, "name": name, "text": strings.Repeat("The refund is paid within fourteen days "+
			"after "+name+".\n", 100)}, nil)
}

// execute creates a test and runs it three times.
func (w *company) execute(ctx context.Context, n int64) {
	name := fmt.Sprintf("test %d", n)
	var made struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	if !w.try(ctx, "test", name,
		`mutation ($agent: ID!, $name: String!) { createSimulationTest(input: {agentId: $agent, name: $name,
		scenario: "You want an appointment.", criteria: ["An appointment is booked."], maxTurns: 1}) { agentTest { id } } }`,
		map[string]any{"agent": w.agent, "name": name}, &made) {
		return
	}
	w.try(ctx, "execution", name,
		`mutation ($test: ID!) { startAgentTestExecution(input: {testIds: [$test], repeats: 3}) { execution { id } } }`,
		map[string]any{"test": made.CreateSimulationTest.AgentTest.ID}, nil)
}

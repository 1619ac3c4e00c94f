package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// workloads are the measured workloads, in the order of the report.
var workloads = []struct{ name, means string }{
	{"W1", "one agent, all of it"},
	{"W2", "a page of 50 agents with tools, sub-agents, 5 tests, chat and datasets"},
	{"W3", "REST, GET /Agent/{id}"},
	{turnsWorkload, "chats of five messages with the demo's agents, on a model that takes no time"},
}

// turnsWorkload is measured separately from the reads.
const turnsWorkload = "turns"

var (
	//go:embed W1.graphql
	oneAgent string
	//go:embed W2.graphql
	page string
	//go:embed peers/graphjin/W1.graphql
	graphjinOneAgent string
	//go:embed peers/graphjin/W2.graphql
	graphjinPage string
	//go:embed peers/postgraphile/W1.graphql
	postgraphileOneAgent string
	//go:embed peers/postgraphile/W2.graphql
	postgraphilePage string
)

// dialect builds a server's requests by workload. Missing workloads are not measured for that server.
type dialect map[string]func(agent) request

// graphql sends operations as clients do, with their whole text. It sets the variable company if an operation has it.
func graphql(oneAgent, page string) dialect {
	ask := func(query string, variables map[string]string, company string) request {
		if strings.Contains(query, "$company") {
			variables["company"] = company
		}
		body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
		if err != nil {
			panic(fmt.Sprintf("texts are JSON: %v", err))
		}
		return request{method: http.MethodPost, path: "/graphql", body: body}
	}
	return dialect{
		"W1": func(a agent) request { return ask(oneAgent, map[string]string{"id": a.id}, a.company) },
		"W2": func(a agent) request { return ask(page, map[string]string{}, a.company) },
	}
}

// withREST adds the workload W3, which uses the REST API.
func (d dialect) withREST() dialect {
	d["W3"] = func(a agent) request { return request{method: http.MethodGet, path: "/Agent/" + a.id} }
	return d
}

// byHand builds the requests for Command raw.
func byHand() dialect {
	return dialect{
		"W1": func(a agent) request { return request{method: http.MethodGet, path: "/W1/" + a.id} },
		"W2": func(agent) request { return request{method: http.MethodGet, path: "/W2"} },
	}.withREST()
}

// requests returns the workload's requests for all agents, in a pseudorandom order with a fixed seed.
func (d dialect) requests(workload string, agents []agent, keys map[string]string) []request {
	all := make([]request, len(agents))
	for i, at := range rand.New(rand.NewPCG(1, 2)).Perm(len(agents)) {
		all[i] = d[workload](agents[at])
		all[i].key = keys[agents[at].company]
	}
	return all
}

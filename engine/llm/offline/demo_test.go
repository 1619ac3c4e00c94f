package offline_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

// demoAgents are the agents of the demo company, with their tools.
func demoAgents(t testing.TB) []agent {
	t.Helper()
	files, err := filepath.Glob("../../../cmd/agentgraph/demo/merrowby/*.yaml")
	require.NoError(t, err)
	var all []agent
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		object, err := yaml.YAMLToJSON(text)
		require.NoError(t, err)
		var read struct {
			Agents []struct {
				Prompt    string
				SubAgents []struct{ TechnicalName, Description string }
			}
			Tools []struct {
				TechnicalName, Description string
				Parameters                 json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(object, &read))
		for _, a := range read.Agents {
			one := agent{prompt: a.Prompt + "\nToday is 2026-10-10. You are speaking with Ana Silva.",
				tools: []llm.Tool{{Name: llm.EndConversation}}}
			for _, offered := range read.Tools {
				one.tools = append(one.tools, llm.Tool{Name: offered.TechnicalName, Description: offered.Description,
					Parameters: offered.Parameters})
			}
			for _, sub := range a.SubAgents {
				one.tools = append(one.tools, delegate(sub.TechnicalName, sub.Description))
			}
			all = append(all, one)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// saidToDemo are messages of contacts to any of the agents.
var saidToDemo = []string{
	"Hello", "Where is my parcel?", "What are your opening hours?", "How do I return something?",
	"I want to change my address",
	"Bonjour, je souhaite retourner un article, il est défectueux",
	"My order number is MM20417733 and my mail is ana@example.com", "I'd like to book an appointment",
	"a general one", "next Tuesday at noon", "My name is Ana Silva", "12 May 1988", "yes please", "no thanks",
	"the second one", "I lost my card", "4821",
	"My flight was cancelled, my reference is MW7K2P", "Can you run a diagnostic of my kettle?", "mh-k72b40qx",
	"postcode: AB1 2CD", "call me at +41 79 123 45 67",
	"What does “Family Plus” cost?", "I don't want to renew", "try again", "A human, please", "Où est ma commande ?", "2",
	"bye",
}

// conversationWith leads a conversation without a memory, and returns its requests and answers.
func conversationWith(t testing.TB, a agent, said []string) ([]llm.Request, []llm.Answer) {
	t.Helper()
	var requests []llm.Request
	var answers []llm.Answer
	var messages []llm.Message
	for _, text := range said {
		messages = append(messages, user(text))
		for range 3 {
			req := llm.Request{System: a.prompt, Tools: a.tools, Messages: slices.Clone(messages)}
			answer, err := llm.Collect(offline.Model{}.Chat(t.Context(), req))
			require.NoError(t, err)
			requests, answers = append(requests, req), append(answers, answer)
			messages = append(messages, llm.Message{Role: llm.RoleAssistant, Text: answer.Text, ToolCalls: answer.ToolCalls})
			for _, call := range answer.ToolCalls {
				result := `{"items":[{"id":"A1","articleId":"L1","slotId":"S1","name":"Lamp"},{"id":"A2","articleId":"L2","slotId":"S2","name":"Chair"}]}`
				messages = append(messages, llm.Message{Role: llm.RoleTool, ToolCallID: call.ID, Text: result})
			}
			if len(answer.ToolCalls) == 0 {
				break
			}
		}
	}
	return requests, answers
}

// A model that remembers all conversations, even concurrent ones, answers like one that remembers none.
func TestDemoAgentsAnswerAsIfNothingWereRemembered(t *testing.T) {
	t.Parallel()
	remembering := offline.New()
	for i, a := range demoAgents(t) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 2 {
				said := make([]string, 8)
				for j := range said {
					said[j] = saidToDemo[random.IntN(len(saidToDemo))]
				}
				requests, answers := conversationWith(t, a, said)
				for i, req := range requests {
					answer, err := llm.Collect(remembering.Chat(t.Context(), req))
					require.NoError(t, err)
					require.Equal(t, answers[i], answer)
				}
			}
		})
	}
}

// BenchmarkAnswers asks the demo company's agents for answers in conversations, with the same instructions for all
// contacts, and with instructions that name the contact of each conversation.
func BenchmarkAnswers(b *testing.B) {
	for _, ofContact := range []bool{false, true} {
		b.Run(fmt.Sprintf("ofContact=%t", ofContact), func(b *testing.B) {
			var conversations [][]llm.Request
			for _, a := range demoAgents(b) {
				for said := range slices.Chunk(saidToDemo, 6) {
					requests, _ := conversationWith(b, a, said)
					conversations = append(conversations, requests)
				}
			}
			model := offline.New()
			answers := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				for _, req := range conversations[i%len(conversations)] {
					if ofContact {
						req.System = fmt.Sprintf("You are contact %d's assistant. ", i) + req.System
					}
					if _, err := llm.Collect(model.Chat(b.Context(), req)); err != nil {
						b.Fatal(err)
					}
					answers++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(answers), "ns/answer")
		})
	}
}

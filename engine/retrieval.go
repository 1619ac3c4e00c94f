package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// knowledgeBase is the name of calls to the knowledge base.
	knowledgeBase = "knowledge_base"
	// maxKnowledge bounds the chunks in an agent's instructions, in bytes.
	maxKnowledge = 512 << 10
	// maxQuestion bounds a question, in characters.
	maxQuestion = 10_000

	nothingFound        = "You have no knowledge to answer from: nothing was found for the contact's last message."
	citationInstruction = "\n\nUse the number before an excerpt to cite it, as in [1], after every statement that you " +
		"take from it. Never write another number in square brackets."
)

type retrievalResult struct {
	Chunks []RetrievedChunk `json:"chunks"`
}

// RetrievedChunk is a chunk in the record of a retrieval.
type RetrievedChunk struct {
	Number           int      `json:"number"`
	ChunkID          string   `json:"chunkId"`
	DocumentID       string   `json:"documentId"`
	DocumentName     string   `json:"documentName"`
	Position         int32    `json:"position"`
	Score            float64  `json:"score"`
	TermSimilarity   float64  `json:"termSimilarity"`
	VectorSimilarity *float64 `json:"vectorSimilarity"`
	Content          string   `json:"content"`
}

// RetrievedBy returns the chunks in the record of a retrieval, or none for other calls.
func RetrievedBy(call *model.ToolCall) []RetrievedChunk {
	var found retrievalResult
	if call.Kind != model.ToolCallKindRetrieval || call.Result == nil ||
		json.Unmarshal([]byte(*call.Result), &found) != nil {
		return nil
	}
	return found.Chunks
}

// searchKnowledge searches the knowledge base for the contact's last message, and adds the found chunks to the
// instructions. If nothing is found and the chat has a text for that, searchKnowledge returns the text as the reply,
// without asking the model. Followers see a call like any other, but mocks and denied side effects do not apply.
func (c *conversation) searchKnowledge(ctx context.Context, emit func(event) bool) (*Reply, error) {
	chat := c.knowledge.chat
	question := c.question(ctx)
	call := model.ToolCall{
		ID: model.NewID("call"), Kind: model.ToolCallKindRetrieval, TargetID: &chat.ID, TechnicalName: knowledgeBase,
		Arguments:    model.JSONObject(content.Encode(map[string]string{"question": question})),
		DelegationID: c.delegation, StartedAt: c.effects.now(),
	}
	started := call
	if !emit(event{started: &started}) {
		return nil, errConsumerStopped
	}
	found, err := c.effects.retrieve(ctx, chat, question)
	call.DurationMs = int32(max(0, c.effects.now().Sub(call.StartedAt)).Milliseconds())
	done := &finished{}
	if err == nil {
		call.Result = new(resultOfRetrieval(found))
		done.warnings, err = c.addKnowledge(found)
	}
	if err != nil {
		text := content.Cut(messageForModel(err), maxError)
		if ctx.Err() != nil {
			text = "the turn ended before the call did"
		}
		call.Result, call.Error, done.cause = nil, &text, err
	}
	done.call = call
	if !emit(event{finished: done}) {
		return nil, errConsumerStopped
	}
	switch empty := chat.PromptSettings.EmptyResponse; {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, searchError(err)
	case len(found) > 0 || empty == "":
		return nil, nil
	case !emit(event{text: empty}):
		return nil, errConsumerStopped
	default:
		return &Reply{Text: empty}, nil
	}
}

// searchError returns the error for a failed search in the knowledge base.
func searchError(err error) error {
	if known, ok := errors.AsType[*model.Error](err); ok {
		return model.Errorf(known.Code, "the search in the agent's knowledge base failed: %s", known.Message)
	}
	return fmt.Errorf("search the knowledge base: %w", err)
}

// showsSources reports whether the contact sees the sources of an answer.
func (c *conversation) showsSources() bool {
	return c.knowledge.chat.PromptSettings.ShowQuote && c.channel.ShowsSources()
}

func (c *conversation) addKnowledge(found []*model.RetrievedChunk) ([]string, error) {
	settings := c.knowledge.chat.PromptSettings
	var texts []string
	length := 0
	for i, chunk := range found {
		excerpt := llm.Excerpt{Document: chunk.Document.Name, Text: chunk.Content}
		if c.showsSources() {
			excerpt.Number = i + 1
		}
		text := excerpt.String()
		if length += len(text); length > maxKnowledge {
			break
		}
		texts = append(texts, text)
	}
	c.knowledge.shown = found[:len(texts)]
	knowledge := nothingFound
	if len(texts) > 0 {
		knowledge = strings.Join(texts, "\n\n")
	}
	prompt, unknown, err := renderKnowledge(settings.Prompt, c.variables, knowledge)
	if err != nil {
		return nil, err
	}
	warnings := content.Unfilled(promptOfKnowledge, unknown)
	if left := len(found) - len(texts); left > 0 {
		warnings = append(warnings, fmt.Sprintf("the search results are too long for the agent's instructions: %d of %d "+
			"chunks were left out", left, len(found)))
	}
	if c.showsSources() && len(texts) > 0 {
		prompt += citationInstruction
	}
	c.req.System = c.prompt + "\n\n" + prompt + c.instruction
	return warnings, nil
}

const promptOfKnowledge = "the prompt of the knowledge base chat"

// renderKnowledge is content.Render for the prompt of a knowledge base chat.
func renderKnowledge(prompt string, variables content.Values, knowledge string) (string, []string, error) {
	filled, unknown := content.Fill(prompt, func(name string) (string, bool) {
		if name == "knowledge" {
			return knowledge, true
		}
		return variables.Text(name)
	})
	if len(filled) > content.MaxRendered {
		return "", nil, model.Errorf(model.Unprocessable, "the prompt of the knowledge base chat is too long after its "+
			"placeholders are filled in")
	}
	return filled, unknown, nil
}

// resultOfRetrieval returns the found chunks as JSON. It shortens their contents until the JSON is short enough to
// store.
func resultOfRetrieval(found []*model.RetrievedChunk) string {
	for most := maxResult; ; most /= 2 {
		result := retrievalResult{Chunks: make([]RetrievedChunk, len(found))}
		for i, f := range found {
			result.Chunks[i] = RetrievedChunk{
				Number: i + 1, ChunkID: f.ID, DocumentID: f.DocumentID, DocumentName: f.Document.Name, Position: f.Position,
				Score: f.Score, TermSimilarity: f.TermSimilarity, VectorSimilarity: f.VectorSimilarity,
			}
			if most > len(content.CutMark) {
				result.Chunks[i].Content = content.Cut(f.Content, most)
			}
		}
		if text := content.Encode(result); len(text) <= maxResult || most == 0 {
			return text
		}
	}
}

const (
	// rephraseTimeout bounds the wait for a rephrased question.
	rephraseTimeout = 5 * time.Second
	// maxRemembered is the maximum number of messages, including the last one, that the rephraser gets.
	maxRemembered = 6
	// maxTranscriptMessage bounds each of these messages, in characters.
	maxTranscriptMessage = 1_000
	// maxRephrased bounds a rephrased question, in characters.
	maxRephrased = 1_000

	rephraseInstruction = "You are given the end of a conversation between a contact and an agent. Write the contact's " +
		"last message as one question that can be understood without the conversation, for a search in documents: put in " +
		"what words such as \"it\" or \"that one\" stand for. Keep its language and add nothing that was not said. If it " +
		"can be understood already, repeat it. Write the question and nothing else."
)

// question returns the question for the knowledge base: the contact's last message, or the rephraser's version of it if
// there are earlier messages.
func (c *conversation) question(ctx context.Context) string {
	var said []llm.Message
	for _, m := range c.req.Messages {
		if m.Role != llm.RoleTool && m.Text != "" {
			said = append(said, m)
		}
	}
	for len(said) > 0 && said[len(said)-1].Role != llm.RoleUser {
		said = said[:len(said)-1]
	}
	if len(said) == 0 {
		return ""
	}
	message := content.Clip(said[len(said)-1].Text, maxQuestion)
	if c.rephraser == nil || len(said) == 1 {
		return message
	}
	if better := c.rephrased(ctx, said[max(0, len(said)-maxRemembered):]); better != "" {
		return better
	}
	return message
}

// rephrased asks the model for a self-contained question. It returns "" if the model fails, or its question is empty or
// too long.
func (c *conversation) rephrased(ctx context.Context, said []llm.Message) string {
	ctx, cancel := context.WithTimeout(ctx, min(rephraseTimeout, c.limits.replyTimeout))
	defer cancel()
	var transcript strings.Builder
	for _, m := range said {
		speaker := "Contact: "
		if m.Role == llm.RoleAssistant {
			speaker = "Agent: "
		}
		transcript.WriteString(speaker + content.Clip(m.Text, maxTranscriptMessage) + "\n")
	}
	answer, err := llm.Collect(c.rephraser.Chat(ctx, llm.Request{
		System: rephraseInstruction, Messages: []llm.Message{{Role: llm.RoleUser, Text: transcript.String()}},
		Settings: llm.Settings{Temperature: new(0.0)},
	}))
	better := strings.Join(strings.Fields(content.Clean(answer.Text)), " ")
	if err != nil || utf8.RuneCountInString(better) > maxRephrased {
		return ""
	}
	return better
}

func settingsOf(s *model.LlmSettingsInput) llm.Settings {
	return llm.Settings{Temperature: s.Temperature, TopP: s.TopP, PresencePenalty: s.PresencePenalty,
		FrequencyPenalty: s.FrequencyPenalty}
}

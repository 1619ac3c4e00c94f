package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type knowledgeEvaluate struct {
	client.Flags
	outputFlag
	File      string
	Chat      string
	Dataset   string
	Threshold *float64
	Weight    *float64
	TopN      *int32
}

func newKnowledgeEvaluate() *cobra.Command {
	c := &knowledgeEvaluate{}
	return cli.New(c, &cobra.Command{
		Use: "evaluate", Short: "Ask a knowledge base chat questions with known answers, and count the answers that it " +
			"finds.",
		Example: `agentgraph knowledge evaluate --chat "Clinic knowledge"
agentgraph knowledge evaluate questions.csv --chat "Clinic knowledge" --threshold 0.1`,
	}, []cli.Argument{
		{Into: &c.File, Name: "file", Optional: true, Help: "Questions to add first: CSV with the columns question, " +
			"document and passage, or JSON lines with these keys. - reads JSON lines from standard input."},
	}, &c.Flags, &c.outputFlag, cli.Flags{
		{Into: &c.Chat, Name: "chat", Required: true, Complete: c.CompleteNames(client.KnowledgeBaseChats),
			Help: "The knowledge base chat: its id, its name, or a part of the name that no other chat has."},
		{Into: &c.Dataset, Name: "dataset", Help: "Only the questions of this dataset of the chat, by name or id. The " +
			"questions of the file are added to it."},
		{Into: &c.Threshold, Name: "threshold", Placeholder: "SHARE",
			Help: "Try this similarityThreshold, 0 to 1, in addition to the saved one."},
		{Into: &c.Weight, Name: "weight", Placeholder: "SHARE", Help: "Try this keywordsSimilarityWeight, 0 to 1."},
		{Into: &c.TopN, Name: "top-n", Placeholder: "N", Help: "Try this topN, 1 to 100."},
	})
}

type knowledgeChat struct {
	ID, Name string
	Datasets []struct{ ID, Name string }
}

type evaluationFigures struct {
	Asked              int                 `json:"asked"`
	HitAt1             float64             `json:"hitAt1"`
	HitAt6             float64             `json:"hitAt6"`
	MeanReciprocalRank float64             `json:"meanReciprocalRank"`
	Missed             []evaluatedQuestion `json:"missed"`
}

// evaluatedQuestion is a question whose answer is not in the first chunk found.
type evaluatedQuestion struct {
	Rank             *int    `json:"rank"`
	Reason           *string `json:"reason"`
	LabelledQuestion struct {
		Question     string  `json:"question"`
		DocumentName string  `json:"documentName"`
		Passage      *string `json:"passage"`
	} `json:"labelledQuestion"`
}

// Run adds the questions of the file, evaluates all questions with the saved settings and with the settings to try, and
// prints both results.
func (c *knowledgeEvaluate) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	questions, err := c.questions(cli.Interruptible(cmd.Context(), cmd.InOrStdin()))
	if err != nil {
		return client.Exit(client.ExitUsage, err)
	}
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	saved, tried, err := c.evaluate(ctx, server, questions)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	if c.isHumanReadable(cmd.OutOrStdout()) {
		return show(cmd.OutOrStdout(), saved, tried)
	}
	return cli.WriteJSON(cmd.OutOrStdout(), map[string]*evaluationFigures{"saved": saved, "tried": tried})
}

// evaluate returns the figures for the saved settings and, if there are settings to try, for those too.
func (c *knowledgeEvaluate) evaluate(ctx context.Context, server *client.Client,
	questions []labelledQuestion) (saved, tried *evaluationFigures, err error) {
	chat, err := findKnowledgeChat(ctx, server, c.Chat)
	if err != nil {
		return nil, nil, err
	}
	dataset, err := c.dataset(chat, len(questions) > 0)
	if err != nil {
		return nil, nil, err
	}
	for some := range slices.Chunk(questions, questionsPerRequest) {
		var added json.RawMessage
		with := client.Variables{"input": client.Variables{"datasetId": dataset, "questions": some}}
		if err := server.Mutate(ctx, addQuestionsDocument, with, nil, &added); err != nil {
			return nil, nil, err
		}
	}
	if saved, err = measure(ctx, server, chat.ID, dataset, nil); err != nil || len(c.tried()) == 0 {
		return saved, nil, err
	}
	tried, err = measure(ctx, server, chat.ID, dataset, c.tried())
	return saved, tried, err
}

func (c *knowledgeEvaluate) tried() client.Variables {
	settings := client.Variables{}
	if c.Threshold != nil {
		settings["similarityThreshold"] = *c.Threshold
	}
	if c.Weight != nil {
		settings["keywordsSimilarityWeight"] = *c.Weight
	}
	if c.TopN != nil {
		settings["topN"] = *c.TopN
	}
	return settings
}

// dataset returns the id of the named dataset. If no dataset is named, it returns the only dataset if isNeeded is set,
// and nil otherwise.
func (c *knowledgeEvaluate) dataset(chat knowledgeChat, isNeeded bool) (*string, error) {
	names := make([]string, len(chat.Datasets))
	for i, d := range chat.Datasets {
		if c.Dataset != "" && (d.ID == c.Dataset || strings.EqualFold(d.Name, c.Dataset)) {
			return &d.ID, nil
		}
		names[i] = client.Printable(d.Name)
	}
	switch {
	case c.Dataset == "" && !isNeeded:
		return nil, nil
	case c.Dataset == "" && len(chat.Datasets) == 1:
		return &chat.Datasets[0].ID, nil
	case len(names) == 0:
		return nil, client.NotFound("the knowledge base chat has no dataset: connect one first")
	}
	return nil, client.NotFound("--dataset must be one of " + strings.Join(names, ", "))
}

const (
	addQuestionsDocument = `mutation ($input: AddLabelledQuestionsInput!) { addLabelledQuestions(input: $input) {
		labelledQuestions { id } } }`

	evaluateDocument = `query ($chat: ID!, $dataset: ID, $settings: PromptSettingsInput, $after: ID) {
		evaluateRetrieval(knowledgeBaseChatId: $chat, datasetId: $dataset, settings: $settings, after: $after) {
			askedCount firstHitCount hitCount reciprocalRankSum endCursor
			questions { rank reason labelledQuestion { question documentName passage } }
		}
	}`

	knowledgeChatDocument = `query ($id: ID!) { knowledgeBaseChat(id: $id) { id name datasets { id name } } }`
)

// measure evaluates all questions, one page per request.
func measure(ctx context.Context, server *client.Client, chatID string, datasetID *string,
	settings client.Variables) (*evaluationFigures, error) {
	all := &evaluationFigures{Missed: []evaluatedQuestion{}}
	var first, hits int
	var reciprocals float64
	for cursor, isFirst := (*string)(nil), true; isFirst || cursor != nil; isFirst = false {
		var read struct {
			EvaluateRetrieval struct {
				AskedCount, FirstHitCount, HitCount int
				ReciprocalRankSum                   float64
				EndCursor                           *string
				Questions                           []evaluatedQuestion
			}
		}
		with := client.Variables{"chat": chatID, "dataset": datasetID, "settings": settings, "after": cursor}
		if err := server.Query(ctx, evaluateDocument, with, &read); err != nil {
			return nil, err
		}
		page := read.EvaluateRetrieval
		all.Asked, first, hits = all.Asked+page.AskedCount, first+page.FirstHitCount, hits+page.HitCount
		reciprocals += page.ReciprocalRankSum
		for _, q := range page.Questions {
			if q.Rank == nil || *q.Rank > 1 {
				all.Missed = append(all.Missed, q)
			}
		}
		cursor = page.EndCursor
	}
	if all.Asked == 0 {
		return nil, client.Exit(client.ExitInconclusive, errors.New("the knowledge base chat has no questions yet: pass "+
			"a file with questions"))
	}
	total := float64(all.Asked)
	all.HitAt1, all.HitAt6, all.MeanReciprocalRank = float64(first)/total, float64(hits)/total, reciprocals/total
	return all, nil
}

// show prints the figures in columns. Then it prints the questions that were missed with the tried settings or, if
// tried is nil, with the saved settings.
func show(out io.Writer, saved, tried *evaluationFigures) error {
	rows := [][]string{{fmt.Sprintf("OF %d QUESTIONS", saved.Asked), "SAVED"}, {"hit@1"}, {"hit@6"},
		{"mean reciprocal rank"}}
	last := saved
	for _, m := range []*evaluationFigures{saved, tried} {
		if m == nil {
			continue
		}
		last = m
		for i, figure := range []float64{m.HitAt1, m.HitAt6, m.MeanReciprocalRank} {
			rows[i+1] = append(rows[i+1], fmt.Sprintf("%.3f", figure))
		}
	}
	if tried != nil {
		rows[0] = append(rows[0], "TRIED")
	}
	if err := writeTable(out, rows); err != nil {
		return err
	}
	for _, q := range last.Missed {
		place := "missed"
		if q.Rank != nil {
			place = fmt.Sprintf("place %d", *q.Rank)
		}
		text := fmt.Sprintf("\n%s: %s\n  expected %s", place, client.Printable(q.LabelledQuestion.Question),
			client.Printable(q.LabelledQuestion.DocumentName))
		if q.Reason != nil {
			text += "; " + client.Printable(*q.Reason)
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}

// findKnowledgeChat finds the chat with the id or the name, or the only chat whose name contains the text.
func findKnowledgeChat(ctx context.Context, server *client.Client, text string) (knowledgeChat, error) {
	found, err := server.FindByPart(ctx, client.KnowledgeBaseChats, text)
	if err != nil {
		return knowledgeChat{}, err
	}
	var read struct{ KnowledgeBaseChat knowledgeChat }
	err = server.Query(ctx, knowledgeChatDocument, client.Variables{"id": found.ID}, &read)
	return read.KnowledgeBaseChat, err
}

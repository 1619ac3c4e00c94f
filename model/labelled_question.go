package model

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/text/unicode/norm"
)

const (
	// MaxLabelledQuestions bounds the questions of a dataset.
	MaxLabelledQuestions = 500
	// MaxEvaluated bounds the questions of one evaluation.
	MaxEvaluated = 30
	// EvaluatedRanks is how many chunks at the top of the results are searched for the answer.
	EvaluatedRanks = 6
	// maxDrafted bounds the questions that a model drafts at once.
	maxDrafted = 20
	// maxQuestion bounds a question, in characters.
	maxQuestion = 2_000
	// MaxPassage bounds a passage, in characters.
	MaxPassage = 2_000
	// maxLabelled bounds the questions, or the ids, of one request.
	maxLabelled = 100
)

// LabelledQuestion is a question with the known place of its answer in a dataset.
type LabelledQuestion struct {
	bun.BaseModel `bun:"table:labelled_questions,alias:labelled_question"`
	Owned

	ID         string `bun:",pk"`
	DatasetID  string
	DocumentID string
	Question   string
	// Passage is nil if any chunk of the document answers the question.
	Passage   *string
	CreatedAt time.Time
	// DocumentName is set when the question is read.
	DocumentName string `bun:",scanonly"`
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in AddLabelledQuestionsInput) Validate() error {
	var faults Fields
	if len(in.Questions) == 0 {
		faults.Add("questions", "must not be empty")
	}
	faults.list("questions", len(in.Questions), maxLabelled)
	for i, q := range in.Questions[:min(len(in.Questions), maxLabelled)] {
		path := fmt.Sprintf("questions.%d.", i)
		faults.name(path+"question", q.Question, maxQuestion)
		if q.Passage != nil {
			faults.name(path+"passage", *q.Passage, MaxPassage)
		}
		faults.oneOfTwo(path+"documentId", "documentName", q.DocumentID != nil, q.DocumentName != nil)
	}
	return faults.Err()
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in DeleteLabelledQuestionsInput) Validate() error {
	var faults Fields
	faults.list("ids", len(in.Ids), maxLabelled)
	return faults.Err()
}

// Validate returns BAD_INPUT for a number of passages out of bounds.
func (in DraftLabelledQuestionsInput) Validate() error {
	var faults Fields
	faults.count("count", &in.Count, 1, maxDrafted)
	return faults.Err()
}

// CheckQuestion returns why a text cannot be a labeled question, or nil.
func CheckQuestion(text string) error {
	var faults Fields
	if faults.name("question", text, maxQuestion); len(faults) > 0 {
		return errors.New(faults["question"][0])
	}
	return nil
}

// IsAnsweredBy reports whether the chunk answers the question.
func (q *LabelledQuestion) IsAnsweredBy(c *RetrievedChunk) bool {
	if c.DocumentID != q.DocumentID || q.Passage == nil {
		return c.DocumentID == q.DocumentID
	}
	passage, content := InOneLine(*q.Passage), InOneLine(c.Content)
	return strings.Contains(content, passage) || strings.Contains(passage, content)
}

// InOneLine joins the words of a text by single spaces, and normalizes their characters (NFKC).
func InOneLine(text string) string { return strings.Join(strings.Fields(norm.NFKC.String(text)), " ") }

// RetrievalEvaluation is the result of evaluating retrieval with labeled questions.
type RetrievalEvaluation struct {
	TotalCount, AskedCount, FirstHitCount, HitCount int32
	// ReciprocalRankSum is the sum of the hits' reciprocal ranks.
	ReciprocalRankSum float64
	Questions         []*EvaluatedQuestion
	// EndCursor is nil after the last question.
	EndCursor *string
}

// EvaluatedQuestion is a labeled question with its retrieval results.
type EvaluatedQuestion struct {
	LabelledQuestion *LabelledQuestion
	// Rank is the rank of the first chunk that answers the question, from 1. Nil if there is none.
	Rank *int32
	// Reason is why the first chunk does not answer the question.
	Reason *string
	Found  []*RetrievedChunk
}

// Add counts a question.
func (e *RetrievalEvaluation) Add(q *EvaluatedQuestion) {
	e.Questions = append(e.Questions, q)
	e.AskedCount++
	if q.Rank == nil {
		return
	}
	e.HitCount++
	e.ReciprocalRankSum += 1 / float64(*q.Rank)
	if *q.Rank == 1 {
		e.FirstHitCount++
	}
}

// ValidateEvaluation returns BAD_INPUT unless first is 1 to MaxEvaluated.
func ValidateEvaluation(first int32) error {
	var faults Fields
	faults.count("first", &first, 1, MaxEvaluated)
	return faults.Err()
}

package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

const (
	// questionsPerRequest is how many questions one request adds.
	questionsPerRequest = 100
	// maxQuestionsBytes bounds the size of a file. It exceeds the total size of a dataset's questions.
	maxQuestionsBytes = 8 << 20
)

// labelledQuestion is a question with its answer, in the form of the API.
type labelledQuestion struct {
	Question     string  `json:"question"`
	DocumentName string  `json:"documentName"`
	Passage      *string `json:"passage"`
}

// questions reads the questions of the file, if one is given.
func (c *knowledgeEvaluate) questions(in io.Reader) (found []labelledQuestion, err error) {
	if c.File == "" {
		return nil, nil
	}
	text, err := cli.ReadInput(c.File, in, maxQuestionsBytes)
	if err == nil && strings.EqualFold(filepath.Ext(c.File), ".csv") {
		found, err = questionsOfCSV(text)
	} else if err == nil {
		found, err = questionsOfLines(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return found, nil
}

// questionsOfCSV reads a table whose first line names its columns.
func questionsOfCSV(text []byte) ([]labelledQuestion, error) {
	rows := cli.NewCSV(text)
	columns, err := rows.Read()
	if err != nil {
		return nil, errors.New("the first line must have the columns question and document, and may have the column passage")
	}
	at := func(column string) int {
		return slices.IndexFunc(columns, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), column) })
	}
	question, document, passage := at("question"), at("document"), at("passage")
	if question < 0 || document < 0 {
		return nil, errors.New("the first line must have the columns question and document")
	}
	var found []labelledQuestion
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		q := labelledQuestion{Question: row[question], DocumentName: row[document]}
		if passage >= 0 && row[passage] != "" {
			q.Passage = &row[passage]
		}
		found = append(found, q)
	}
}

// questionsOfLines reads an object from each line.
func questionsOfLines(text []byte) ([]labelledQuestion, error) {
	var found []labelledQuestion
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxQuestionsBytes)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var row struct {
			Question, Document string
			Passage            *string
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil || row.Question == "" || row.Document == "" {
			return nil, fmt.Errorf(`line %d must be a JSON object with question and document, and may have passage`, n)
		}
		found = append(found, labelledQuestion{row.Question, row.Document, row.Passage})
	}
	return found, lines.Err()
}

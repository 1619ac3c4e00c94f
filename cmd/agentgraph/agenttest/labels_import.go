package agenttest

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vektah/gqlparser/v2/validator/core"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// labelsPerRequest is how many labels one request saves.
	labelsPerRequest = 100
	// maxLabelsFile bounds a file of labels, in bytes.
	maxLabelsFile = 64 << 20
)

type labelsImport struct {
	client.Flags
	File string
}

func newLabelsImport() *cobra.Command {
	c := &labelsImport{}
	return cli.New(c, &cobra.Command{
		Use: "import", Short: "Save the labels of a CSV file. Rows without an answer in the column \"holds\" are left out.",
		Example: `agentgraph test labels import ann.csv`,
	}, []cli.Argument{
		{Into: &c.File, Name: "file", Help: "CSV with the columns run_id, criterion and holds (yes or no), and optionally " +
			"person, note and sampled (no if the person picked which verdict to label). - is standard input."},
	}, &c.Flags)
}

const labelDocument = `mutation ($input: LabelCriterionResultsInput!) {
	labelCriterionResults(input: $input) { labels { id } }
}`

// Run saves the labels, 100 at a time. Saving them again changes nothing.
func (c *labelsImport) Run(cmd *cobra.Command) error {
	labels, err := c.readLabels(cli.Interruptible(cmd.Context(), cmd.InOrStdin()))
	if err != nil {
		return client.Exit(client.ExitUsage, fmt.Errorf("%s: %w", c.File, err))
	}
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	saved := 0
	for some := range slices.Chunk(labels, labelsPerRequest) {
		var answer json.RawMessage
		given := make([]client.Variables, len(some))
		for i, label := range some {
			given[i] = label.input
		}
		with := client.Variables{"input": client.Variables{"labels": given}}
		if err := server.Mutate(cmd.Context(), labelDocument, with, nil, &answer); err != nil {
			return client.ExitWith(cmd.Context(), fmt.Errorf("%s saved, then: %w", client.Pluralize(saved, "label"),
				&lineError{c.File, some, err}))
		}
		saved += len(some)
	}
	cmd.Printf("%s saved.\n", client.Pluralize(saved, "label"))
	return nil
}

// labelLine is a label, and its line in the file.
type labelLine struct {
	line  int
	input client.Variables
}

// lineError is an error of the server about some of the labels.
type lineError struct {
	file   string
	labels []labelLine
	err    error
}

func (e *lineError) Unwrap() error { return e.err }

// Error names the lines of the file instead of the indexes of labels in the request.
func (e *lineError) Error() string {
	text := e.err.Error()
	var pairs []string
	for i, label := range e.labels {
		line := fmt.Sprintf("line %d:", label.line)
		// If a run does not exist, the server's error has only the id of the run, not the index of the label.
		if client.CodeOf(e.err) == model.NotFound && strings.Contains(text, fmt.Sprintf("%q", label.input["runId"])) {
			return fmt.Sprintf("%s: %s %s", e.file, line, text)
		}
		pairs = append(pairs, fmt.Sprintf("labels.%d.", i), line+" ", fmt.Sprintf("labels.%d:", i), line)
	}
	if lined := strings.NewReplacer(pairs...).Replace(text); lined != text {
		return e.file + ": " + lined
	}
	return text
}

func (c *labelsImport) readLabels(in io.Reader) ([]labelLine, error) {
	text, err := cli.ReadInput(c.File, in, maxLabelsFile)
	if err != nil {
		return nil, err
	}
	return parseLabels(cli.NewCSV(text))
}

// parseLabels returns the labels of a table whose first line names its columns.
func parseLabels(table *csv.Reader) ([]labelLine, error) {
	columns, err := table.Read()
	if err != nil {
		return nil, errors.New("the first line must have the columns run_id, criterion and holds")
	}
	columnIndex, err := indexColumns(columns)
	if err != nil {
		return nil, err
	}
	labels := []labelLine{}
	for {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			return labels, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := table.FieldPos(0)
		cell := func(name string) string {
			if i, known := columnIndex[name]; known {
				return unescapeFormula(row[i])
			}
			return ""
		}
		holds, err := parseYesNo(cell("holds"))
		if err != nil {
			return nil, fmt.Errorf(`line %d: the column "holds" %w`, line, err)
		}
		sampled, err := parseYesNo(cell("sampled"))
		if err != nil {
			return nil, fmt.Errorf(`line %d: the column "sampled" %w`, line, err)
		}
		if holds == nil {
			continue
		}
		label := client.Variables{"runId": cell("run_id"), "criterion": cell("criterion"), "holds": *holds}
		if sampled != nil {
			label["isSampled"] = *sampled
		}
		for _, name := range []string{"person", "note"} {
			if text := cell(name); text != "" {
				label[name] = text
			}
		}
		labels = append(labels, labelLine{line, label})
	}
}

// indexColumns returns the index of each column. It refuses columns that no exported file has.
func indexColumns(columns []string) (map[string]int, error) {
	known := slices.Concat(labelColumns, queueColumns, []string{updatedColumn})
	columnIndex := map[string]int{}
	for i, column := range columns {
		name := strings.ToLower(strings.TrimSpace(column))
		_, isDuplicate := columnIndex[name]
		switch {
		case name == "":
			continue // spreadsheets add empty columns
		case isDuplicate:
			return nil, fmt.Errorf("line 1: the column %q occurs twice", name)
		case !slices.Contains(known, name):
			advice := "; known columns are " + strings.Join(labelColumns, ", ")
			if like := core.SuggestionList(name, known); len(like) > 0 {
				advice = "; did you mean " + like[0] + "?"
			}
			return nil, fmt.Errorf("line 1: the column %q is not known%s", name, advice)
		}
		columnIndex[name] = i
	}
	for _, name := range labelColumns[:3] {
		if _, isThere := columnIndex[name]; !isThere {
			return nil, fmt.Errorf("the first line must have the column %s", name)
		}
	}
	return columnIndex, nil
}

// parseYesNo parses yes or no. It returns nil for an empty text.
func parseYesNo(text string) (*bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "":
		return nil, nil
	case "yes", "y", "true", "1":
		return new(true), nil
	case "no", "n", "false", "0":
		return new(false), nil
	}
	return nil, fmt.Errorf("must be yes or no, not %q", text)
}

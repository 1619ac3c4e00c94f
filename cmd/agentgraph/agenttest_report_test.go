package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// junitTotals are the totals of a JUnit report and of each suite.
type junitTotals struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
}

// junitReport is a parsed JUnit report.
type junitReport struct {
	junitTotals
	Suites []struct {
		Name string `xml:"name,attr"`
		junitTotals
		Skipped int         `xml:"skipped,attr"`
		Cases   []junitCase `xml:"testcase"`
	} `xml:"testsuite"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Failure *junitResult `xml:"failure"`
	Error   *junitResult `xml:"error"`
	Output  string       `xml:"system-out"`
}

type junitResult struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
}

// jsonReport is a parsed JSON report.
type jsonReport struct {
	Outcome          string
	ExitCode         int
	DecidingPassRate *float64
	Execution        struct {
		ID         string
		Counts     map[string]int
		PassRate   *float64
		FinishedAt *string
	}
	Runs []struct {
		Test struct {
			Agent struct{ ID string }
		}
		Messages []any
	}
}

func readJUnit(t *testing.T, file string) junitReport {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var report junitReport
	require.NoError(t, xml.Unmarshal(text, &report), string(text))
	requireJUnitSchema(t, text)
	return report
}

// junitSchema has the attributes and children of each element in junit-10.xsd, the schema of Jenkins' xUnit plugin. A !
// marks a required attribute.
var junitSchema = map[string]struct{ attributes, children string }{
	"":           {"", "testsuites"},
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite": {"name! tests! failures! errors! group time skipped timestamp hostname id package file log url version",
		"testsuite properties testcase system-out system-err"},
	"properties": {"", "property"},
	"property":   {"name! value!", ""},
	"testcase": {"name! time classname group",
		"skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err"},
	"failure":    {"type message", ""},
	"error":      {"type message", ""},
	"skipped":    {"type message", ""},
	"system-out": {"", ""},
	"system-err": {"", ""},
}

var junitTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?$`)

// requireJUnitSchema fails if the report does not match junitSchema.
func requireJUnitSchema(t *testing.T, report []byte) {
	t.Helper()
	parents := []string{""}
	for decoder := xml.NewDecoder(bytes.NewReader(report)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		parent := parents[len(parents)-1]
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			require.Contains(t, strings.Fields(junitSchema[parent].children), name, "in <%s>", parent)
			missing := strings.Fields(junitSchema[name].attributes)
			for _, attribute := range token.Attr {
				i := slices.IndexFunc(missing, func(allowed string) bool {
					return strings.TrimSuffix(allowed, "!") == attribute.Name.Local
				})
				require.NotEqual(t, -1, i, "<%s> has the attribute %s", name, attribute.Name.Local)
				missing = slices.Delete(missing, i, i+1)
				if attribute.Name.Local == "time" {
					require.Regexp(t, junitTime, attribute.Value)
				}
			}
			require.NotContains(t, strings.Join(missing, " "), "!", "<%s> lacks an attribute", name)
			parents = append(parents, name)
		case xml.EndElement:
			parents = parents[:len(parents)-1]
		case xml.CharData:
			if junitSchema[parent].children != "" {
				require.Empty(t, bytes.TrimSpace(token), "text in <%s>", parent)
			}
		}
	}
}

func readReport(t *testing.T, file string) jsonReport {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var report jsonReport
	require.NoError(t, json.Unmarshal(text, &report), string(text))
	return report
}

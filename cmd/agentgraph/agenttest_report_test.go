package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// junitTotals are the totals of a JUnit report and of each suite.
type junitTotals struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

// junitReport is a parsed JUnit report.
type junitReport struct {
	junitTotals
	Suites []struct {
		Name string `xml:"name,attr"`
		junitTotals
		Cases []junitCase `xml:"testcase"`
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
	Outcome   string
	ExitCode  int
	Execution struct {
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
	return report
}

func readReport(t *testing.T, file string) jsonReport {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var report jsonReport
	require.NoError(t, json.Unmarshal(text, &report), string(text))
	return report
}

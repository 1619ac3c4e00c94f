package apply

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// The samples are written in the formats that the tools document. Next to each sample is the expected output, with the
// report as a comment.
func TestForeignTestsAreConverted(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("testdata/foreign/*")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	for _, sample := range samples {
		name := filepath.Base(sample)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(sample + "/main.*")
			require.NoError(t, err)
			require.Len(t, files, 1)
			tool, _, _ := strings.Cut(name, ".")
			carried, err := importFile(tool, files[0])
			require.NoError(t, err)
			became := carriedSample(t, carried)
			golden := "testdata/carried/" + name + ".yaml"
			if os.Getenv("AGENTGRAPH_RECORD") != "" {
				require.NoError(t, os.WriteFile(golden, became, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(became))
			requireAccepted(t, golden, became, carried.tests)
		})
	}
}

// carriedSample returns the output of import, with the report as a comment.
func carriedSample(t *testing.T, carried *importedTests) []byte {
	t.Helper()
	became, err := outputFile{"tests",
		object{{"agentTests", list{object{{"agent", "Clinic"}, {"simulations", carried.tests}}}}}}.encode()
	require.NoError(t, err)
	report := &strings.Builder{}
	carried.report.write(report)
	return append(became, "\n# "+strings.ReplaceAll(strings.TrimSpace(report.String()), "\n", "\n# ")+"\n"...)
}

// requireAccepted requires that the file schema and the server accept the tests.
func requireAccepted(t *testing.T, name string, file []byte, tests list) {
	t.Helper()
	read, err := parseSource(name, file)
	require.NoError(t, err)
	require.Empty(t, checkSource(read))
	for _, one := range tests {
		input, err := json.Marshal(one.(object).without("toolMocking"))
		require.NoError(t, err)
		require.NoError(t, maker(func(in model.CreateSimulationTestInput, now time.Time) (any, error) {
			if in.MaxTurns == 0 {
				in.MaxTurns = 10
			}
			for _, check := range in.Checks {
				if called := check.Expect.Called; called != nil {
					called.Min = max(1, called.Min)
				}
				for _, said := range []*model.SaidExpectation{check.Expect.Says, check.Expect.NeverSays} {
					if said != nil {
						said.Role = model.MessageRoleAssistant
					}
				}
			}
			return model.NewSimulationTest(in, now)
		})(input), string(input))
	}
}

func TestForeignFilesWithoutTestsAreRefused(t *testing.T) {
	t.Parallel()
	for tool, text := range map[string]string{
		"promptfoo": "tests: file://cases.csv", "tau2-bench": `[]`, "retell": `[{"name": "A"}]`, "elevenlabs": `[1]`,
	} {
		file := filepath.Join(t.TempDir(), "main.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := importFile(tool, file)
		require.Error(t, err, tool)
	}
}

func TestForeignNumbersThatWouldChangeAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const large = `{"vars": {"iban": 12345678901234567890}, "assert": [{"type": "contains", "value": "a"}]}`
	for name, text := range map[string]string{
		"main.yaml":   "prompts: [Hi]\ntests: [rows.jsonl, {assert: [{type: contains, value: a}]}]\n",
		"rows.jsonl":  large,
		"large.json":  `{"prompts": ["Hi"], "tests": [` + large + `]}`,
		"zeroes.yaml": "prompts: [Hi]\ntests:\n- vars: {plz: 01067}\n  assert: [{type: contains, value: a}]\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, number := range map[string]string{"large.json": "12345678901234567890", "zeroes.yaml": "01067"} {
		_, err := importFile("promptfoo", filepath.Join(dir, name))
		require.ErrorContains(t, err, "the number "+number+" would be changed: put it in quotes to keep its digits")
	}
	carried, err := importFile("promptfoo", filepath.Join(dir, "main.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(carriedSample(t, carried)), "rows.jsonl:1: the number 12345678901234567890 would be")
}

func TestForeignFilesInOtherEncodingsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"latin.yaml": "prompts: [Hi]\ntests:\n- vars: {city: Z\xfcrich}\n  assert: [{type: contains, value: a}]\n",
		"main.yaml":  "prompts: [Hi]\ntests: [latin.csv, {assert: [{type: contains, value: a}]}]\n",
		"latin.csv":  "city,__expected\nZ\xfcrich,contains: a\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, err := importFile("promptfoo", filepath.Join(dir, "latin.yaml"))
	require.ErrorContains(t, err, "latin.yaml: line 3 is not UTF-8")
	carried, err := importFile("promptfoo", filepath.Join(dir, "main.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(carriedSample(t, carried)), "tests: latin.csv: line 2 is not UTF-8")
}

func TestFilesBecomeRows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.csv": "\ufeffrow,day,said\nFirst,Monday,\"a, \"\"b\"\"\"\n,Tuesday,\n,, \n", "b.csv": "day;free\nMonday;9\n;\n",
		"n.csv": "sep=;\nday;free\nMonday;9,5\n", "o.csv": "sep=;\n",
		"c.jsonl": "{\"row\": \"First\", \"free\": [9, 10]}\n\n{\"free\": []}\n", "d.csv": "day\n", "e.jsonl": "[1]\n",
		"k.jsonl": "{\"iban\": 1}\n{\"iban\": 12345678901234567890}\n",
		"m.csv":   "row,opens, opens\na,1,2\n",
		"l.jsonl": "{\"iban\": 1234567890123456789}\n",
		"f.txt":   "day\nMonday\n", "i.csv": "\"name, first\";question\nAna;a\n", "j.csv": "\"a;\"\"b\"\n1\n",
		"g.csv": "n\n" + strings.Repeat("1\n", 501), "h.csv": "a,b\n1\n", "latin.csv": "city\nZ\xfcrich\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, want := range map[string]string{
		"a.csv":   `[{"name":"First","values":{"day":"Monday","said":"a, \"b\""}},{"values":{"day":"Tuesday","said":""}}]`,
		"b.csv":   `[{"values":{"day":"Monday","free":"9"}}]`,
		"n.csv":   `[{"values":{"day":"Monday","free":"9,5"}}]`,
		"i.csv":   `[{"values":{"name, first":"Ana","question":"a"}}]`,
		"j.csv":   `[{"values":{"a;\"b":"1"}}]`,
		"l.jsonl": `[{"values":{"iban":1234567890123456789}}]`,
		"c.jsonl": `[{"name":"First","values":{"free":[9,10]}},{"values":{"free":[]}}]`,
	} {
		rows, err := readRows(dir, name)
		require.NoError(t, err)
		text, err := json.Marshal(rows)
		require.NoError(t, err)
		require.Equal(t, want, string(text), name)
	}
	for name, fault := range map[string]string{
		"d.csv": "and then rows", "e.jsonl": "line 1 must be a JSON object", "f.txt": "must end with", "g.csv": "has 501 rows",
		"o.csv": "and then rows", "h.csv": "wrong number of fields", "latin.csv": "latin.csv: line 2 is not UTF-8",
		"m.csv":    `m.csv: has two columns "opens": rename or delete one of them`,
		"k.jsonl":  "line 2: the number 12345678901234567890 would be changed: put it in quotes",
		"../a.csv": "inside the directory of this file", "none.csv": "does not exist",
	} {
		_, err := readRows(dir, name)
		require.ErrorContains(t, err, fault, name)
	}
}

func TestFilesBecomePrompts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"a.csv\x00label,prompt\nl1,\"Ask, {{q}}\"\nl2\nl3,Other\n": {"Ask, {{q}}", "Other"},
		"b.csv\x00Prompt\nOne\nTwo\n":                              {"One", "Two"}, "c.csv\x00One\n\nTwo": {"One", "Two"},
		"d.jsonl\x00[1]\n[2]\n": {"[1]", "[2]"}, "e.md\x00# A\n---\nB": {"# A\n---\nB"},
		"f.txt\x00A\n --- \nB\n---\n": {"A", "B"}, "g.csv\x00a,b\nc,d\n": nil,
		"h.yaml\x00- {role: user, content: Hi}":     {`[{"role":"user","content":"Hi"}]`},
		"i.prompty\x00---\nname: A\n---\nuser:\nHi": nil,
	} {
		file, text, _ := strings.Cut(name, "\x00")
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		folder, err := os.OpenRoot(dir)
		require.NoError(t, err)
		p := &promptfoo{importedTests: &importedTests{folder: folder}}
		p.readPrompts(file, position{})
		var got []string
		for _, prompt := range p.prompts {
			got = append(got, prompt.text)
		}
		require.Equal(t, want, got, name)
		require.Equal(t, len(want) == 0, p.report.count(leftOut) == 1, name)
		require.NoError(t, folder.Close())
	}
}

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, "a"+strconv.Itoa(i))
	}
	return texts
}

func TestValueCombinationsAreBounded(t *testing.T) {
	t.Parallel()
	values, err := json.Marshal(numbered(50))
	require.NoError(t, err)
	var vars []string
	for _, name := range []string{"u", "v", "w", "x", "y", "z"} {
		vars = append(vars, `"`+name+`":`+string(values))
	}
	file := filepath.Join(t.TempDir(), "main.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"prompts":["{{u}}"],"tests":[{"vars":{`+strings.Join(vars, ",")+
		`},"assert":[{"type":"contains","value":"a"}]}]}`), 0o600))
	carried, err := importFile("promptfoo", file)
	require.NoError(t, err)
	require.Len(t, carried.tests[0].(object).list("rows"), model.MaxRows)
	report := &strings.Builder{}
	carried.report.write(report)
	require.Contains(t, report.String(), "of 15625000000 combinations of values, only the first 500 are kept")
}

// imported returns the tests of another tool's file, and their report.
func imported(t *testing.T, tool, text string) (tests []object, report string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	got, err := importFile(tool, file)
	require.NoError(t, err)
	requireAccepted(t, "main.yaml", carriedSample(t, got), got.tests)
	for _, one := range got.tests {
		tests = append(tests, one.(object))
	}
	written := &strings.Builder{}
	got.report.write(written)
	return tests, written.String()
}

func TestScoredPartsOfOneAssertionAreReported(t *testing.T) {
	t.Parallel()
	const approximated = "contains-all: each of its 2 texts counts in the score, but promptfoo counts all as one"
	file := func(threshold string) string {
		return `{"prompts":["Hi"],"tests":[{` + threshold + `"assert":[
			{"type":"contains-all","value":["a","b"],"weight":2},{"type":"contains","value":"c"}]}]}`
	}
	_, report := imported(t, "promptfoo", file(`"threshold":0.5,`))
	require.Contains(t, report, approximated)
	_, report = imported(t, "promptfoo", file(""))
	require.NotContains(t, report, approximated)
}

func TestReferenceSolutionPassesItsChecks(t *testing.T) {
	t.Parallel()
	tests, _ := imported(t, "tau2-bench", `[{"id":"1","user_scenario":{"instructions":"Pay"},"evaluation_criteria":{
		"reward_basis":["DB"],"actions":[{"name":"pay","arguments":{"a":1}},{"name":"pay","arguments":{"a":1,"b":2}}]}}]`)
	checks := asText(tests[0].list("checks")[:3])
	require.Equal(t, `[{"expect":{"called":{"technicalName":"pay","where":[{"argument":"a","equals":"1"}],`+
		`"succeeded":true,"min":2,"max":2}}},{"expect":{"called":{"technicalName":"pay","where":[{"argument":"a",`+
		`"equals":"1"},{"argument":"b","equals":"2"}],"succeeded":true,"min":1,"max":1}}},`+
		`{"expect":{"called":{"technicalName":"pay","succeeded":true,"min":2,"max":2}}}]`, checks)
}

func TestLimitsLeaveOutOnlyChecksThatExceedThem(t *testing.T) {
	t.Parallel()
	parameters := make([]string, 25)
	for i := range parameters {
		parameters[i] = `{"path":"p` + strconv.Itoa(i) + `","eval":{"type":"regex","pattern":"x"}}`
	}
	tests, report := imported(t, "elevenlabs", `[{"name":"A","type":"tool","tool_call_parameters":{"referenced_tool":
		{"id":"pay"},"parameters":[`+strings.Join(parameters, ",")+`]}}]`)
	require.Len(t, tests[0].list("checks")[0].(object).object("expect").object("called").list("where"), 20)
	require.Contains(t, report, "the tool pay: of its 25 arguments, only the first 20 are compared")

	test := &importedTest{name: "A", importer: &importedTests{}}
	for range maxExpressions + 1 {
		test.addCheck("called", object{{"where", list{object{{"argument", "a"}, {"matches", "x"}}}}}, nil)
	}
	for range maxSchemas + 1 {
		test.addCheck("resultJson", object{{"schema", object{{"properties", object{{"matches", object{}}}}}}}, nil)
	}
	test.addCheck("endedBy", "Agent", nil)
	test.enforceLimits()
	require.Len(t, test.checks, maxExpressions+maxSchemas+1)
	require.Contains(t, asText(test.checks), "endedBy")
}

func TestReportListsCutCalls(t *testing.T) {
	t.Parallel()
	var calls, results []string
	for i := range 21 {
		id := `"id":"` + strconv.Itoa(i) + `"`
		calls = append(calls, `{`+id+`,"name":"`+strings.Repeat("n", 44+i)+`","arguments":{}}`)
		results = append(results, `{"role":"tool",`+id+`,"content":"`+strings.Repeat("r", 10_001*(i/20))+`"}`)
	}
	calls[20] = strings.Replace(calls[20], "nn", "nnn", 1)
	_, report := imported(t, "tau2-bench", `[{"user_scenario":{"instructions":"Pay"},"evaluation_criteria":
		{"nl_assertions":["Is polite"],"reward_basis":["NL_ASSERTION"]},"initial_state":{"message_history":[
		{"role":"user","content":"Pay"},{"role":"assistant","tool_calls":[`+strings.Join(calls, ",")+`]},
		`+strings.Join(results, ",")+`,{"role":"assistant","content":"Done"}]}}]`)
	require.Contains(t, report, "message 2: of the name of its call, only the first 64 characters are kept")
	require.Contains(t, report, "message 23: of the result of its call, only the first 10,000 characters are kept")
	require.Contains(t, report, "message 24: of its 21 calls, only the first 20 are kept")
}

func TestReportListsMessagesOfOtherRoles(t *testing.T) {
	t.Parallel()
	tests, report := imported(t, "tau2-bench", `[{"user_scenario":{"instructions":"Pay"},"evaluation_criteria":
		{"nl_assertions":["Is polite"],"reward_basis":["NL_ASSERTION"]},"initial_state":{"message_history":[
		{"role":"system","content":"Be kind"},{"role":"user","content":"Pay"},{"role":"assistant","content":"Done"}]}}]`)
	require.NotContains(t, tests, "Be kind")
	require.Contains(t, report, `message 1: its role "system" is neither user, assistant nor tool`)
}

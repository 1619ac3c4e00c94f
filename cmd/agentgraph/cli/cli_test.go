package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// probe is a command with a flag of each kind.
type probe struct {
	Text    string
	Switch  bool
	On      bool
	Number  int
	Wait    time.Duration
	Day     time.Time
	Maybe   *string
	Share   *float64
	Most    *int32
	List    []string
	Rates   []float64
	Pairs   map[string]string
	Color   string
	One     string
	Other   string
	Group   string
	First   string
	Rest    []string
	isGiven func(string) bool
	refusal error
	hasSaid bool
}

func (p *probe) Validate() error { return p.refusal }

func (p *probe) Run(cmd *cobra.Command) error {
	p.hasSaid, p.isGiven = true, cmd.Flags().Changed
	return nil
}

func (p *probe) Declare() Flags {
	return Flags{
		{Into: &p.Text, Name: "text", Short: "t", Env: "CLI_TEXT", Default: "default", Help: "A text."},
		{Into: &p.Switch, Name: "switch", Env: "CLI_SWITCH", Help: "A switch."},
		{Into: &p.On, Name: "on", Env: "CLI_ON", Default: "true", Negatable: true, Help: "What is on."},
		{Into: &p.Number, Name: "number", Env: "CLI_NUMBER", Default: "7", Help: "A number."},
		{Into: &p.Wait, Name: "wait", Default: "1m", Help: "A time."},
		{Into: &p.Day, Name: "day", Help: "A day."},
		{Into: &p.Maybe, Name: "maybe", Env: "CLI_MAYBE", Help: "A text or none."},
		{Into: &p.Share, Name: "share", Help: "A share or none."},
		{Into: &p.Most, Name: "most", Xor: "which", Help: "A number or none."},
		{Into: &p.List, Name: "list", Env: "CLI_LIST", Default: "x", Help: "Texts."},
		{Into: &p.Rates, Name: "rates", Help: "Numbers."},
		{Into: &p.Pairs, Name: "pair", Help: "A pair."},
		{Into: &p.Color, Name: "color", Env: "CLI_COLOR", Default: "red", Enum: []string{"red", "green"},
			Placeholder: "COLOR", Help: "A color."},
		{Into: &p.Group, Name: "group", Help: "What a command is called, too."},
		{Into: &p.One, Name: "one", Env: "CLI_ONE", Required: true, Help: "One."},
		{Into: &p.Other, Name: "other", Xor: "which", Help: "The other."},
	}
}

// runs runs "program group probe" with the words as arguments, and returns the output.
func (p *probe) runs(t *testing.T, words ...string) (printed string, err error) {
	t.Helper()
	command := New(p, &cobra.Command{Use: "probe", Short: "Probe it.", Example: "program group probe a"}, []Argument{
		{Into: &p.First, Name: "first", Help: "The first."}, {Into: &p.Rest, Name: "rest", Optional: true,
			Help: "The others."},
	}, p)
	program := NewProgram("program", "1.2.3", "A program.")
	AddGroup(program, "Group:", Group("group", "A group.", command))
	var out bytes.Buffer
	program.SetOut(&out)
	program.SetErr(&out)
	err = Execute(t.Context(), program, append([]string{"group", "probe"}, words...))
	return out.String(), err
}

// good runs a valid command line.
func good(t *testing.T, words ...string) *probe {
	t.Helper()
	p := new(probe)
	_, err := p.runs(t, append([]string{"first", "--one", "1"}, words...)...)
	require.NoError(t, err)
	require.True(t, p.hasSaid)
	return p
}

func TestFlagsParseTheirValues(t *testing.T) {
	t.Parallel()
	p := good(t)
	require.Equal(t, "default", p.Text)
	require.Equal(t, 7, p.Number)
	require.Equal(t, time.Minute, p.Wait)
	require.Equal(t, []string{"x"}, p.List)
	require.True(t, p.On)
	require.Nil(t, p.Maybe)
	require.Nil(t, p.Share)
	require.Nil(t, p.Most)
	require.Nil(t, p.Pairs)
	require.True(t, p.Day.IsZero())
	require.False(t, p.isGiven("text"), "a default is not a value from the command line")

	p = good(t, "-t", "a", "--switch", "--number=0x10", "--wait", "3s", "--day", "2026-03-01", "--maybe", "", "--share",
		"0.5", "--most", "1",
		"--list", `a,"b",c\,d`, "--list=e", "--rates", "0.9,0.5", "--pair", "a=1,b=2", "--pair", "c=d=e", "--color", "green",
		"second", "third")
	require.Equal(t, "a", p.Text)
	require.True(t, p.Switch)
	require.Equal(t, 16, p.Number)
	require.Equal(t, 3*time.Second, p.Wait)
	require.Equal(t, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), p.Day)
	require.NotNil(t, p.Maybe)
	require.InDelta(t, 0.5, *p.Share, 0)
	require.EqualValues(t, 1, *p.Most)
	require.Equal(t, []string{"a", `"b"`, "c,d", "e"}, p.List)
	require.Equal(t, []float64{0.9, 0.5}, p.Rates)
	require.Equal(t, map[string]string{"a": "1,b=2", "c": "d=e"}, p.Pairs)
	require.Equal(t, "green", p.Color)
	require.Equal(t, "first", p.First)
	require.Equal(t, []string{"second", "third"}, p.Rest)
	require.True(t, p.isGiven("text"))
}

func TestNoPrefixNegatesFlags(t *testing.T) {
	t.Parallel()
	for word, isOn := range map[string]bool{
		"--on": true, "--on=false": false, "--on=no": false, "--no-on": false, "--no-on=true": false, "--no-on=false": true,
		"--on=YES": true,
	} {
		require.Equal(t, isOn, good(t, word).On, word)
	}
	for _, word := range []string{"--on=perhaps", "--no-on=perhaps"} {
		_, err := new(probe).runs(t, "first", "--one", "1", word)
		require.ErrorContains(t, err, `expected true or false but got "perhaps"`)
	}
}

func TestFirstSourceWithAValueWins(t *testing.T) {
	secret, file := filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(secret, []byte(" from the file\n"), 0o600))
	require.NoError(t, os.WriteFile(file, []byte("text: for all\nnumber: 1\nlist: [a, b]\ngroup:\n  number: 2\n  "+
		"probe:\n    number: 3\n    switch: true\n    \"on\": false\n"), 0o600))

	t.Setenv("AGENTGRAPH_CONFIG", file)
	p := good(t)
	require.Equal(t, "for all", p.Text)
	require.Equal(t, 3, p.Number)
	require.Equal(t, []string{"a", "b"}, p.List)
	require.True(t, p.Switch)
	require.False(t, p.On)
	require.Empty(t, p.Group, "settings of a command are not settings of a flag")
	require.True(t, good(t, "--on").On, "the command line takes precedence")

	t.Setenv("CLI_TEXT", "")
	require.Equal(t, "for all", good(t).Text, "an empty variable has the lowest precedence")
	t.Setenv("CLI_TEXT_FILE", secret)
	require.Equal(t, "from the file", good(t).Text)
	t.Setenv("CLI_TEXT", "from the variable")
	_, err := new(probe).runs(t, "first", "--one", "1")
	require.EqualError(t, err, "--text: CLI_TEXT and CLI_TEXT_FILE are both set. Set only one of them")
	require.Equal(t, "from the flag", good(t, "--text", "from the flag").Text)
	t.Setenv("CLI_TEXT_FILE", "")
	p = good(t)
	require.Equal(t, "from the variable", p.Text)
	require.False(t, p.isGiven("text"), "only the command line sets Changed")
	require.Equal(t, []string{"c"}, good(t, "--list", "c").List, "lists are not merged")

	t.Setenv("AGENTGRAPH_CONFIG", "")
	t.Setenv("CLI_TEXT", "")
	t.Setenv("CLI_MAYBE", "")
	t.Setenv("CLI_LIST", "")
	t.Setenv("CLI_NUMBER", "")
	t.Setenv("CLI_COLOR", "")
	t.Setenv("CLI_SWITCH", "")
	p = good(t)
	require.Equal(t, "default", p.Text)
	require.Equal(t, []string{"x"}, p.List)
	require.Equal(t, 7, p.Number)
	require.Nil(t, p.Maybe, "an empty variable counts as unset")
	t.Setenv("CLI_ONE", "")
	_, err = new(probe).runs(t, "first")
	require.ErrorContains(t, err, "missing flags: --one")
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.yaml")
	t.Setenv("AGENTGRAPH_CONFIG", file)
	for text, says := range map[string]string{
		"txet: a":                             "txet is not a setting",
		"config: a":                           "config is not a setting",
		"no-on: true":                         "no-on is not a setting",
		"group: {probe: {txet: a}}":           "group.probe.txet is not a setting",
		"gruop: {probe: {text: a}}":           "gruop is not a command",
		"- hunter2":                           "must be a YAML map of names to values",
		"text: a\none: 0012345":               "line 2 cannot be read: check its syntax, and put numbers with leading zeros in quotes",
		"# f\xfcr\ntext: a":                   "line 1 is not UTF-8",
		"text: a\none: \"hunter2":             "settings.yaml: line 2 cannot be read: check its syntax",
		"text: a\n\nhunter2\n":                "settings.yaml: line 3 cannot be read: check its syntax",
		"text: a\none: hunter2: b":            "settings.yaml: line 2 cannot be read: check its syntax",
		"group: {probe: {number: x}}":         `--number: expected a whole number but got "x" (from the settings)`,
		"group: {probe: {most: 1, other: x}}": "--most (from the settings) and --other (from the settings) cannot be combined",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := new(probe).runs(t, "first", "--one", "1")
		var wrong *UsageError
		require.ErrorAs(t, err, &wrong, text)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestInvalidCommandLinesAreRefused(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"first":                               "missing flags: --one=STRING",
		"first --one 1 --most 1 --other 2":    "--most and --other cannot be combined. Pass one of them",
		"--one 1":                             `expected "<first>"`,
		"first --one 1 --txet x":              `unknown flag --txet, did you mean "--text"?`,
		"first --one 1 -x":                    `unknown flag -x, did you mean one of "-t", "-h"?`,
		"first --one 1 --number 1.5":          `--number: expected a whole number but got "1.5"`,
		"first --one 1 --wait 5":              `--wait: expected a duration such as 10m but got "5"`,
		"first --one 1 --rates 1,x":           `--rates: expected numbers with commas between them but got "1,x"`,
		"first --one 1 --most 9999999999":     `--most: expected a whole number but got "9999999999"`,
		"first --one 1 --pair a":              `--pair: expected NAME=VALUE but got "a"`,
		"first --one 1 --color blue":          `--color must be one of "red","green" but got "blue"`,
		"first --one 1 --text":                "--text needs a value",
		"first --one 1 --text a --text a":     "--text was given twice. Pass it once",
		"first --one 1 -t a --text=":          "--text was given twice. Pass it once",
		"first --one 1 --list=":               "--list must not be empty",
		"first --one 1 --rates 1 --rates=":    "--rates must not be empty",
		"first --one 1 --on --no-on":          "--on was given twice. Pass it once",
		"first --one 1 --maybe a --maybe":     "--maybe needs a value",
		"first --one 1 --pair a=1 --pair a=2": "--pair a was given twice. Pass it once",
		"first --one 1 --text --switch":       "--text needs a value, but the next argument starts with a dash. Pass --text=STRING",
		"first --one 1 -t -1":                 "--text needs a value, but the next argument starts with a dash. Pass --text=STRING",
	} {
		p := new(probe)
		printed, err := p.runs(t, strings.Fields(line)...)
		require.EqualError(t, err, says, line)
		require.Empty(t, printed, line)
		require.False(t, p.hasSaid, line)
	}
	require.Equal(t, "--switch", good(t, "--text=--switch").Text)
	require.Equal(t, []string{"-t"}, good(t, "--", "-t").Rest)
}

func TestValidateRunsBeforeTheCommand(t *testing.T) {
	t.Parallel()
	p := &probe{refusal: os.ErrInvalid}
	_, err := p.runs(t, "first", "--one", "1")
	require.EqualError(t, err, "group probe: "+os.ErrInvalid.Error())
	printed, err := p.runs(t, "--version")
	require.NoError(t, err)
	require.Equal(t, "program 1.2.3\n", printed)
	require.False(t, p.hasSaid)
}

func TestHelpDescribesFlagsAndArguments(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	printed, err := new(probe).runs(t, "--help")
	require.NoError(t, err)
	for _, part := range []string{
		"Usage: program group probe --one=STRING <first> [<rest> ...]\n[flags]\n",
		"\nProbe it.\n\nExamples:\n\n  program group probe a\n\nArguments:\n  <first>         The first.\n",
		"\n  -t, --text=\"default\"   ", "\n      --[no-]on ", "(default true,", "\n      --wait=1m ",
		"\n      --pair=NAME=VALUE ", "\n      --list=x,... ",
		"\n      --color=COLOR ",
	} {
		require.Contains(t, printed, part)
	}
	require.NotContains(t, printed, "--no-on")
	for line := range strings.Lines(printed) {
		require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 60, line)
	}
}

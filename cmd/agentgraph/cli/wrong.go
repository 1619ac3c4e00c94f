package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mostNamed is how many commands an error names when any would do.
const mostNamed = 5

// NotACommand returns the error for words that name no command of a group: which may be meant or, without words, which
// there are.
func NotACommand(group *cobra.Command, words []string) error {
	var names []string
	for _, child := range group.Commands() {
		if !child.Hidden {
			names = append(names, child.Name())
		}
	}
	if len(words) > 0 {
		return &UsageError{fmt.Errorf("there is no command %q%s", strings.Join(append(wordsOf(group), words[0]), " "),
			didYouMean(words[0], names))}
	}
	if len(names) == 1 {
		return &UsageError{fmt.Errorf("expected %q", names[0])}
	}
	listed := quoted(names[:min(len(names), mostNamed)])
	if len(names) > mostNamed {
		listed = append(listed, "...")
	}
	return &UsageError{errors.New("expected one of " + strings.Join(listed, ", "))}
}

// flagError makes a sentence of what pflag says of a command line.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var alone *pflag.ValueRequiredError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		word := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			word = "-" + unknown.GetSpecifiedName()
		}
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			names = append(names, "--"+flag.Name)
			if flag.Shorthand != "" {
				names = append(names, "-"+flag.Shorthand)
			}
		})
		err = errors.New("unknown flag " + word + didYouMean(word, names))
	case errors.As(err, &invalid):
		err = invalid.Unwrap()
	case errors.As(err, &alone):
		err = fmt.Errorf("--%s needs a value", alone.GetFlag().Name)
	}
	return &UsageError{err}
}

// refuseFlagsAsValues refuses a flag where the value of the one before it should be, which pflag would take for that
// value. One that begins with a dash can be written behind a =.
func refuseFlagsAsValues(program *cobra.Command, words []string) error {
	cmd, words, err := program.Find(words)
	if err != nil || cmd == program {
		return err // Without a command the words may be those that a shell wants to be completed.
	}
	for i := 0; i+1 < len(words) && words[i] != "--"; i++ {
		flag := flagOf(cmd, words[i])
		if flag == nil || flag.NoOptDefVal != "" {
			continue
		}
		i++
		if len(words[i]) > 1 && words[i][0] == '-' {
			// What it is stays unsaid: a key may begin so.
			return fmt.Errorf("--%[1]s: expected a value, but the next argument starts with a dash; write --%[1]s=VALUE to "+
				"use it as the value", flag.Name)
		}
	}
	return nil
}

// refuseUnknownCommands refuses words that name no command where one is expected. Otherwise --help behind them would
// show the help of the group.
func refuseUnknownCommands(program *cobra.Command, words []string) error {
	cmd, words, err := program.Find(words)
	if err != nil || !cmd.HasSubCommands() {
		return err
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch flag := flagOf(cmd, word); {
		case flag != nil && flag.NoOptDefVal == "":
			i++ // Its value.
		case len(word) > 1 && word[0] == '-':
		case word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd:
			return nil
		default:
			return NotACommand(cmd, words[i:])
		}
	}
	return nil
}

// flagOf returns the flag whose value is the word behind this one, or nil.
func flagOf(cmd *cobra.Command, word string) *pflag.Flag {
	name, isLong := strings.CutPrefix(word, "--")
	switch {
	case isLong:
		return cmd.Flag(name)
	case len(word) == len("-x") && word[0] == '-':
		return cmd.Flags().ShorthandLookup(word[1:])
	}
	return nil
}

// didYouMean asks for those of the names that are like the word or begin with it, if any are.
func didYouMean(word string, names []string) string {
	const mostEdits = 2
	var like []string
	for _, name := range names {
		isNear := strings.HasPrefix(name, word) || levenshtein.ComputeDistance(name, word) <= mostEdits
		if word != "" && name != word && isNear {
			like = append(like, name)
		}
	}
	switch len(like) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(", did you mean %q?", like[0])
	}
	return ", did you mean one of " + strings.Join(quoted(like), ", ") + "?"
}

func quoted(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = strconv.Quote(text)
	}
	return all
}

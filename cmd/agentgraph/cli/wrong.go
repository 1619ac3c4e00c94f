package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxNamed is how many commands an error lists at most.
const maxNamed = 5

// NotACommand returns the error for an unknown or missing subcommand. It suggests similar commands, or lists the
// commands of the group.
func NotACommand(group *cobra.Command, words []string) error {
	var names []string
	for _, child := range group.Commands() {
		if !child.Hidden {
			names = append(names, child.Name())
		}
	}
	if len(words) > 0 {
		return &UsageError{fmt.Errorf("the command %q does not exist%s", strings.Join(append(wordsOf(group), words[0]), " "),
			didYouMean(words[0], names))}
	}
	if len(names) == 1 {
		return &UsageError{fmt.Errorf("expected %q", names[0])}
	}
	listed := quoted(names[:min(len(names), maxNamed)])
	if len(names) > maxNamed {
		listed = append(listed, "...")
	}
	return &UsageError{errors.New("expected one of " + strings.Join(listed, ", "))}
}

// flagError converts pflag's errors to sentences.
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

// refuseFlagsAsValues refuses a word that begins with a dash where the value of a flag is expected, because pflag would
// use it as the value. Such a value can be written after an equals sign.
func refuseFlagsAsValues(program *cobra.Command, words []string) error {
	cmd, words, err := program.Find(words)
	if err != nil || cmd == program {
		return err // Without a command, the words may come from shell completion.
	}
	for i := 0; i+1 < len(words) && words[i] != "--"; i++ {
		flag := flagOf(cmd, words[i])
		if flag == nil || flag.NoOptDefVal != "" {
			continue
		}
		i++
		if len(words[i]) > 1 && words[i][0] == '-' {
			// The error does not repeat the word, because it may be a key.
			placeholder := "VALUE"
			if v, isDeclared := flag.Value.(*value); isDeclared {
				placeholder = cmp.Or(v.Placeholder, v.kind().placeholder)
			}
			return fmt.Errorf("--%[1]s needs a value, but the next argument starts with a dash. Pass --%[1]s=%[2]s", flag.Name,
				placeholder)
		}
	}
	return nil
}

// refuseUnknownCommands refuses a word that is not a subcommand where one is expected. Otherwise, a --help after that
// word would show the help of the group.
func refuseUnknownCommands(program *cobra.Command, words []string) error {
	cmd, words, err := program.Find(words)
	if err != nil || !cmd.HasSubCommands() {
		return err
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch flag := flagOf(cmd, word); {
		case flag != nil && flag.NoOptDefVal == "":
			i++ // The next word is its value.
		case len(word) > 1 && word[0] == '-':
		case word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd:
			return nil
		default:
			return NotACommand(cmd, words[i:])
		}
	}
	return nil
}

// flagOf returns the flag that the word names, such as --name or -n. It returns nil for other words, such as
// --name=VALUE. If NoOptDefVal of the flag is "", the next word is its value.
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

// didYouMean suggests the names that are similar to the word or begin with it. It returns "" if there are none.
func didYouMean(word string, names []string) string {
	const maxEdits = 2
	var like []string
	for _, name := range names {
		isNear := strings.HasPrefix(name, word) || levenshtein.ComputeDistance(name, word) <= maxEdits
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

// serviceVariable matches the variables that Kubernetes sets in every container for a service.
var serviceVariable = regexp.MustCompile(`_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?$`)

// UnknownVariables returns the environment variables that begin with prefix, except those in names and those that a
// flag of the program reads. Each has a suggestion if there is a similar variable.
func UnknownVariables(program *cobra.Command, prefix string, names ...string) (unknown []string) {
	var collect func(*cobra.Command)
	collect = func(cmd *cobra.Command) {
		for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(flag *pflag.Flag) {
				if v, isDeclared := flag.Value.(*value); isDeclared && v.Env != "" && !slices.Contains(names, v.Env) {
					names = append(names, v.Env)
				}
			})
		}
		for _, child := range cmd.Commands() {
			collect(child)
		}
	}
	collect(program)
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, prefix) && !serviceVariable.MatchString(name) &&
			!slices.Contains(names, strings.TrimSuffix(name, "_FILE")) {
			unknown = append(unknown, name+didYouMean(name, names))
		}
	}
	return unknown
}

func quoted(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = strconv.Quote(text)
	}
	return all
}

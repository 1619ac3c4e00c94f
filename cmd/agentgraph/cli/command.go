// Package cli extends cobra. Commands declare each flag once, with its environment variable, default and help. Values
// come from the command line, the environment, secret files and a settings file. Errors are one sentence. Start reading
// at New.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Runner is a command. Its flags set fields of the Runner.
type Runner interface {
	// Run runs the command after the flags have their values. It uses the context, the input and the outputs of cmd.
	Run(cmd *cobra.Command) error
}

// validator is a Runner that checks the values of its flags.
type validator interface{ Validate() error }

// UsageError is an error in a command line, or in values from the environment or a file. Its message is one line.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return strings.ReplaceAll(e.err.Error(), "\n", "; ") }
func (e *UsageError) Unwrap() error { return e.err }

// errAnswered is returned after --version was answered, so that the command does not run.
var errAnswered = errors.New("the version was printed")

// Annotations of commands: the version of the program, and a line for each argument, with a tab before its help.
const (
	versionKey   = "version"
	argumentsKey = "arguments"
)

// NewProgram returns the root command, without subcommands. --version prints the name and the version.
func NewProgram(name, version, help string) *cobra.Command {
	program := Group(name, help)
	program.Annotations = map[string]string{versionKey: version}
	program.SilenceUsage, program.SilenceErrors = true, true
	// Subcommands check their arguments themselves.
	program.Args = cobra.ArbitraryArgs
	program.CompletionOptions.DisableDefaultCmd = true
	program.SetFlagErrorFunc(flagError)
	program.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd) })
	flags := program.PersistentFlags()
	flags.SortFlags = false
	flags.BoolP("help", "h", false, "Show context-sensitive help.")
	add(flags, Flag{
		Into: new(string), Name: configFlag, Env: "AGENTGRAPH_CONFIG", Placeholder: "FILE",
		Help: "Read settings from this YAML file.",
	})
	flags.Bool(versionKey, false, "Print the version.")
	return program
}

// AddGroup adds commands to a program. The help lists them under the title.
func AddGroup(program *cobra.Command, title string, commands ...*cobra.Command) {
	program.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, command := range commands {
		command.GroupID = title
	}
	program.AddCommand(commands...)
}

// Version returns the version of the program that the command belongs to.
func Version(cmd *cobra.Command) string { return cmd.Root().Annotations[versionKey] }

// New completes a command that can be run. cmd has its name, help and examples. The flags and arguments set fields of
// c, and the help lists them in their order. The command first calls the Validate method of c, if there is one. Then it
// refuses missing flags and arguments. Last, it calls Run.
func New(c Runner, cmd *cobra.Command, arguments []Argument, flags ...Declarer) *cobra.Command {
	cmd.Flags().SortFlags = false
	for _, group := range flags {
		for _, f := range group.Declare() {
			add(cmd.Flags(), f)
		}
		completeFlags(cmd, group.Declare())
	}
	describeArguments(cmd, arguments)
	completeArguments(cmd, arguments)
	cmd.PreRunE = func(cmd *cobra.Command, words []string) error {
		if err := answerVersion(cmd); err != nil {
			return err
		}
		if err := prepare(c, cmd, arguments, words); err != nil {
			return &UsageError{err}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.Run(cmd) }
	return cmd
}

// Group returns a command that only has subcommands.
func Group(name, help string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: name, Short: help}
	group.AddCommand(commands...)
	group.PreRunE = func(cmd *cobra.Command, _ []string) error { return answerVersion(cmd) }
	group.RunE = NotACommand
	return group
}

// answerVersion prints the version if the command line asks for it. In that case it returns errAnswered.
func answerVersion(cmd *cobra.Command) error {
	if isAsked, err := cmd.Flags().GetBool(versionKey); err != nil || !isAsked {
		return err
	}
	if err := PrintVersion(cmd); err != nil {
		return err
	}
	return errAnswered
}

// PrintVersion prints the name and the version of the program.
func PrintVersion(cmd *cobra.Command) error {
	_, err := fmt.Fprintln(cmd.OutOrStdout(), cmd.Root().Name(), Version(cmd))
	return err
}

// Execute runs a command line of the program. Errors in the command line are a *UsageError.
func Execute(ctx context.Context, program *cobra.Command, words []string) error {
	if err := refuseFlagsAsValues(program, words); err != nil {
		return &UsageError{err}
	}
	if err := refuseUnknownCommands(program, words); err != nil {
		return err
	}
	// With nil, cobra would use the arguments of the process.
	program.SetArgs(slices.Concat([]string{}, words))
	if err := program.ExecuteContext(ctx); !errors.Is(err, errAnswered) {
		return err
	}
	return nil
}

// prepare sets the fields of c, and validates them.
func prepare(c Runner, cmd *cobra.Command, arguments []Argument, words []string) error {
	if err := cmp.Or(refuseMore(arguments, words), refuseWrongValues(cmd)); err != nil {
		return err
	}
	givenFlags, err := resolve(cmd)
	if err != nil {
		return err
	}
	if err := assign(arguments, words); err != nil {
		return err
	}
	if v, isValidator := c.(validator); isValidator {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(wordsOf(cmd), " "), err)
		}
	}
	if err := checkFlagSet(cmd, givenFlags); err != nil {
		return err
	}
	return requireArguments(arguments, words)
}

// wordsOf returns the words of a command, without the program's name.
func wordsOf(cmd *cobra.Command) []string { return strings.Fields(cmd.CommandPath())[1:] }

func refuseMore(arguments []Argument, words []string) error {
	if last := len(arguments) - 1; last >= 0 && arguments[last].isList() {
		return nil
	}
	if len(words) > len(arguments) {
		return fmt.Errorf("unexpected argument %s", words[len(arguments)])
	}
	return nil
}

func assign(arguments []Argument, words []string) error {
	for i, argument := range arguments[:min(len(arguments), len(words))] {
		values := words[i : i+1]
		switch into := argument.Into.(type) {
		case *string:
			*into = words[i]
		case *[]string:
			values = words[i:]
			*into = values
		}
		if err := checkEnum(argument.summary(), argument.Enum, values); err != nil {
			return err
		}
	}
	return nil
}

func requireArguments(arguments []Argument, words []string) error {
	var missing []string
	for _, argument := range arguments[min(len(arguments), len(words)):] {
		if !argument.Optional {
			missing = append(missing, argument.summary())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("expected %s", strconv.Quote(strings.Join(missing, " ")))
}

// describeArguments stores how the arguments are written, and their help.
func describeArguments(cmd *cobra.Command, arguments []Argument) {
	var lines strings.Builder
	for _, argument := range arguments {
		lines.WriteString(argument.summary() + "\t" + argument.Help + "\n")
	}
	cmd.Annotations = map[string]string{argumentsKey: lines.String()}
}

func (a Argument) isList() bool {
	_, isList := a.Into.(*[]string)
	return isList
}

// summary returns how the argument is written in the help.
func (a Argument) summary() string {
	text := "<" + a.Name + ">"
	if a.isList() {
		text += " ..."
	}
	if a.Optional {
		text = "[" + text + "]"
	}
	return text
}

// Refuse returns an error with the text if isWrong is true, otherwise nil.
func Refuse(isWrong bool, format string, args ...any) error {
	if !isWrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// ExpandPath returns the absolute path of a file or directory. A leading ~/ is the user's home. If the home or the
// working directory is not known, it returns the path without changes.
func ExpandPath(path string) string {
	expanded := path
	if below, isHome := strings.CutPrefix(path, "~/"); isHome {
		home, err := os.UserHomeDir()
		if err != nil {
			return path
		}
		expanded = filepath.Join(home, below)
	}
	absolute, err := filepath.Abs(expanded)
	if err != nil {
		return path
	}
	return absolute
}

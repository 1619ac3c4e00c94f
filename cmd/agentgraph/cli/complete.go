package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Completer returns candidates for a partly typed value. Candidates that do not begin with it are removed later.
type Completer func(cmd *cobra.Command, prefix string) []string

// completeFlags registers the completion of flag values.
func completeFlags(cmd *cobra.Command, flags Flags) {
	for _, f := range flags {
		complete := f.Complete
		if f.Enum != nil {
			complete = func(*cobra.Command, string) []string { return f.Enum }
		}
		if complete == nil {
			continue
		}
		isList := (&value{Flag: f}).kind().isList
		// An error is impossible: the flag exists, and has no function yet.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			before := ""
			if at := strings.LastIndex(prefix, ","); isList && at >= 0 {
				before, prefix = prefix[:at+1], prefix[at+1:]
			}
			var words []string
			for _, word := range completed(cmd, complete, prefix) {
				if isList {
					word = strings.ReplaceAll(word, ",", `\,`)
				}
				words = append(words, before+word)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// completeArguments registers the completion of arguments.
func completeArguments(cmd *cobra.Command, arguments []Argument) {
	hasNames := false
	for _, argument := range arguments {
		if argument.Enum != nil {
			cmd.ValidArgs = argument.Enum
		}
		hasNames = hasNames || argument.Complete != nil
	}
	if !hasNames {
		return
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, words []string, prefix string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		if len(words) >= len(arguments) || arguments[len(words)].Complete == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return completed(cmd, arguments[len(words)].Complete, prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// completed returns the candidates that begin with the typed word, ignoring case.
func completed(cmd *cobra.Command, complete Completer, prefix string) []string {
	if _, err := resolve(cmd); err != nil {
		return nil
	}
	var words []string
	for _, word := range complete(cmd, prefix) {
		if word != "" && len(word) >= len(prefix) && strings.EqualFold(word[:len(prefix)], prefix) {
			words = append(words, word)
		}
	}
	return words
}

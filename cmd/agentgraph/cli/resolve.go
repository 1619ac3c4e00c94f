package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// resolve sets each flag that is not on the command line. The sources are, in this order: its environment variable, the
// file that the variable with the suffix _FILE names, the settings file, and the default. It returns the names of the
// flags that have a value other than the default. It does not change pflag's Changed, which is true only for flags on
// the command line.
func resolve(cmd *cobra.Command) (given map[string]bool, err error) {
	given = map[string]bool{}
	var file settings
	set := func(flag *pflag.Flag) error {
		v, isDeclared := flag.Value.(*value)
		if !isDeclared {
			return nil
		}
		if flag.Changed {
			given[flag.Name] = true
			return nil
		}
		text, source, err := v.find(file.valueOf(wordsOf(cmd), flag.Name))
		if err != nil {
			return fmt.Errorf("--%s: %w", flag.Name, err)
		}
		if source != "" {
			given[flag.Name], v.source = true, source
			if err := v.Set(text); err != nil {
				return fmt.Errorf("%w (from %s)", err, source)
			}
			return nil
		}
		if v.Default == "" {
			return nil
		}
		return v.Set(v.Default)
	}
	config := cmd.Flags().Lookup(configFlag)
	if err := set(config); err != nil {
		return nil, err
	}
	if file, err = readSettings(config.Value.String(), cmd.Root()); err != nil {
		return nil, err
	}
	file.inherit(cmd)
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if err == nil && flag != config {
			err = set(flag)
		}
	})
	return given, err
}

// refuseWrongValues refuses a second value for a flag that takes one, because the later value would silently win. It
// also refuses a flag that was given without a value. Otherwise, an unset variable in a script would select everything,
// or turn off what it was meant to set. An empty environment variable counts as unset.
func refuseWrongValues(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		switch v, isDeclared := flag.Value.(*value); {
		case !isDeclared || err != nil:
		case v.repeated != "":
			err = fmt.Errorf("%s was given twice. Pass it once", v.repeated)
		case v.isEmpty:
			err = fmt.Errorf("--%s must not be empty", v.Name)
		}
	})
	return err
}

// find returns the value of a flag that is not on the command line, and its source, which is "" without a value.
// setting is the value in the settings file. An empty environment variable counts as unset.
func (v *value) find(setting string, isSetting bool) (text, source string, err error) {
	if v.Env != "" {
		text = os.Getenv(v.Env)
		if path := os.Getenv(v.Env + "_FILE"); path != "" {
			return v.readSecret(text, path)
		}
	}
	switch {
	case text != "":
		return text, v.Env, nil
	case isSetting:
		return setting, "the settings", nil
	}
	return "", "", nil
}

// readSecret reads a value from a secret file, such as containers mount. It removes surrounding white space, such as a
// final newline.
func (v *value) readSecret(text, path string) (secret, source string, err error) {
	variable := v.Env + "_FILE"
	if text != "" {
		return "", "", fmt.Errorf("%s and %s are both set. Set only one of them", v.Env, variable)
	}
	content, err := ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read %s: %w", variable, err)
	}
	return strings.TrimSpace(string(content)), variable, nil
}

// checkFlagSet refuses missing required flags, and combinations of flags that exclude each other.
func checkFlagSet(cmd *cobra.Command, givenFlags map[string]bool) error {
	var missing []string
	var conflict error
	chosen := map[string]string{}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		v, isDeclared := flag.Value.(*value)
		switch {
		case isDeclared && v.Required && !givenFlags[v.Name]:
			missing = append(missing, v.summary())
		case !isDeclared || v.Xor == "" || !givenFlags[v.Name]:
		case chosen[v.Xor] != "" && conflict == nil:
			conflict = fmt.Errorf("%s and %s cannot be combined. Pass one of them", chosen[v.Xor], v.sourceName())
		default:
			chosen[v.Xor] = v.sourceName()
		}
	})
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("missing flags: %s", strings.Join(missing, ", "))
	}
	return conflict
}

// sourceName returns the name of the flag, and the source of its value if that is not the command line.
func (v *value) sourceName() string {
	if v.source != "" {
		return fmt.Sprintf("--%s (from %s)", v.Name, v.source)
	}
	return "--" + v.Name
}

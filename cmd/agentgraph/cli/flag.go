package cli

import (
	"encoding"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flag declares a flag of a command.
type Flag struct {
	// Into is a pointer to the variable that takes the value: a string, bool, int, int32, int64, time.Duration, time.Time
	// (a day in UTC) or encoding.TextUnmarshaler. A []string or []float64 is split at commas, and its flag may repeat.
	// So may that of a map[string]string, as NAME=VALUE. A pointer to a *string, *int32 or *float64 leaves that nil unless
	// there is a value. A func(string) error takes the text itself.
	Into any
	// Name is the long name, without dashes, and Short the letter, or "".
	Name, Short string
	// Env is the environment variable that sets the flag, or "". With _FILE behind it, it names a file with the value.
	Env string
	// Default is the value if there is no other, as text.
	Default string
	// Enum are the only values, or nil.
	Enum []string
	// Complete completes values in the shell; nil completes those of Enum.
	Complete Completer
	// Required flags need a value, from wherever it comes.
	Required bool
	// Xor is a name that flags share of which only one may have a value, or "".
	Xor string
	// Negatable gives a bool a flag --no-NAME, too.
	Negatable bool
	// Placeholder stands for the value in the help. Without one the default does, or what the type is.
	Placeholder string
	// Secret values do not belong on command lines, which process lists show. The help says so.
	Secret bool
	// Help is a sentence, with its period.
	Help string
	// Docs is more for the documentation, in Markdown, or "".
	Docs string
}

// Flags are declared flags.
type Flags []Flag

// Declare returns the flags themselves.
func (f Flags) Declare() Flags { return f }

// Declarer has fields that flags set.
type Declarer interface {
	// Declare returns those flags, in the order of the help.
	Declare() Flags
}

// Argument declares a positional argument of a command.
type Argument struct {
	// Into is a pointer to a string or, for the last argument, to a []string, which takes one or more.
	Into any
	Name string
	// Optional arguments come last.
	Optional bool
	// Enum are the only values, or nil.
	Enum []string
	// Complete completes the argument in the shell; nil completes the values of Enum.
	Complete Completer
	// Help is a sentence, with its period.
	Help string
}

// value is the pflag.Value of a declared flag.
type value struct {
	pflag.Value
	Flag
	// isSet says that it has been set. repeated is what was set twice although it has one value: the flag, or a name of
	// its pairs. It is refused when the command runs, as completion sets flags twice.
	isSet    bool
	repeated string
}

// kind is what sets a type of values apart from others.
type kind struct {
	// expected is what an error says was expected; "" leaves the word to the cause.
	expected string
	// placeholder is what stands for a value in the help.
	placeholder string
	isList      bool
}

// kind returns that of the flag's value.
func (v *value) kind() kind {
	switch v.Into.(type) {
	case *bool:
		return kind{expected: "true or false"}
	case *string, **string:
		return kind{placeholder: "STRING"}
	case *int, *int32, *int64, **int32:
		return kind{expected: "a whole number", placeholder: "NUMBER"}
	case **float64:
		return kind{expected: "a number", placeholder: "NUMBER"}
	case *time.Duration:
		return kind{expected: "a duration such as 10m", placeholder: "DURATION"}
	case *time.Time:
		return kind{expected: "a day such as 2026-03-01", placeholder: "DAY"}
	case *[]string:
		return kind{placeholder: strings.ToUpper(v.Name), isList: true}
	case *[]float64:
		return kind{expected: "numbers with commas between them", placeholder: "NUMBER", isList: true}
	case *map[string]string:
		return kind{expected: "NAME=VALUE", placeholder: "NAME=VALUE", isList: true}
	}
	return kind{placeholder: strings.ToUpper(v.Name)}
}

// Set takes a value. Its error names the flag.
func (v *value) Set(text string) error {
	if err := checkEnum("--"+v.Name, v.Enum, v.parts(text)); err != nil {
		return err
	}
	parsed := text
	if _, isBool := v.Into.(*bool); isBool {
		parsed = truth(text)
	}
	v.noteRepetition(text)
	err := v.Value.Set(parsed)
	if expected := v.kind().expected; err != nil && expected != "" {
		return fmt.Errorf("--%s: expected %s but got %q", v.Name, expected, text)
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", v.Name, err)
	}
	v.isSet = true
	return nil
}

// noteRepetition notes if the text replaces a value, of the flag or of a name of its pairs.
func (v *value) noteRepetition(text string) {
	if pairs, isMap := v.Into.(*map[string]string); isMap {
		name, _, _ := strings.Cut(text, "=")
		if _, isThere := (*pairs)[name]; isThere {
			v.repeated = "--" + v.Name + " " + name
		}
		return
	}
	if v.isSet && !v.kind().isList {
		v.repeated = "--" + v.Name
	}
}

// truth returns yes and no as pflag's bools have them, true and false.
func truth(text string) string {
	text = strings.ToLower(text)
	switch text {
	case "yes":
		return "true"
	case "no":
		return "false"
	}
	return text
}

// parts are the values that the text has.
func (v *value) parts(text string) []string {
	if v.kind().isList {
		return split(text)
	}
	return []string{text}
}

// Type tells completion which flags may stand several times.
func (v *value) Type() string {
	if v.kind().isList {
		return "stringSlice"
	}
	return v.Value.Type()
}

// checkEnum refuses a value that is not one of those allowed, if only some are.
func checkEnum(what string, allowed, values []string) error {
	if allowed == nil {
		return nil
	}
	for _, v := range values {
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("%s must be one of %s but got %q", what,
				strings.Join(quoted(slices.DeleteFunc(slices.Clone(allowed), isEmpty)), ","), v)
		}
	}
	return nil
}

func isEmpty(text string) bool { return text == "" }

// add adds a declared flag. It panics if Into is nothing that it knows.
func add(flags *pflag.FlagSet, f Flag) {
	define(flags, f)
	flag := flags.Lookup(f.Name)
	flag.Value = &value{Value: flag.Value, Flag: f}
	if !f.Negatable {
		return
	}
	flags.BoolFunc("no-"+f.Name, "Turn --"+f.Name+" off.", func(text string) error {
		isOff, err := strconv.ParseBool(truth(text))
		if err != nil {
			return fmt.Errorf("--no-%s: expected true or false but got %q", f.Name, text)
		}
		flag.Changed = true
		return flag.Value.Set(strconv.FormatBool(!isOff))
	})
}

// define adds the flag with the type of pflag that fits.
func define(flags *pflag.FlagSet, f Flag) {
	parsedBy := func(set func(string) error) { flags.FuncP(f.Name, f.Short, f.Help, set) }
	switch into := f.Into.(type) {
	case *string:
		flags.StringVarP(into, f.Name, f.Short, "", f.Help)
	case *bool:
		flags.BoolVarP(into, f.Name, f.Short, false, f.Help)
	case *int:
		flags.IntVarP(into, f.Name, f.Short, 0, f.Help)
	case *int32:
		flags.Int32VarP(into, f.Name, f.Short, 0, f.Help)
	case *int64:
		flags.Int64VarP(into, f.Name, f.Short, 0, f.Help)
	case *time.Duration:
		flags.DurationVarP(into, f.Name, f.Short, 0, f.Help)
	case *time.Time:
		flags.TimeVarP(into, f.Name, f.Short, time.Time{}, []string{time.DateOnly}, f.Help)
	case **string:
		parsedBy(optional(into, func(text string) (string, error) { return text, nil }))
	case **int32:
		parsedBy(optional(into, func(text string) (int32, error) {
			n, err := strconv.ParseInt(text, 0, 32)
			return int32(n), err
		}))
	case **float64:
		parsedBy(optional(into, number))
	case *[]string:
		parsedBy(func(text string) error {
			*into = append(*into, split(text)...)
			return nil
		})
	case *[]float64:
		parsedBy(func(text string) error { return appendNumbers(into, text) })
	case *map[string]string:
		parsedBy(func(text string) error { return putPair(into, text) })
	case encoding.TextUnmarshaler:
		parsedBy(func(text string) error { return into.UnmarshalText([]byte(text)) })
	case func(string) error:
		parsedBy(into)
	default:
		panic(fmt.Sprintf("cli: --%s: %T takes no flag", f.Name, f.Into))
	}
}

func number(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// optional returns what makes a pointer point to the value of a text.
func optional[T any](into **T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		parsed, err := parse(text)
		if err == nil {
			*into = &parsed
		}
		return err
	}
}

func appendNumbers(into *[]float64, text string) error {
	for _, part := range split(text) {
		n, err := number(part)
		if err != nil {
			return err
		}
		*into = append(*into, n)
	}
	return nil
}

func putPair(into *map[string]string, text string) error {
	name, text, found := strings.Cut(text, "=")
	if !found {
		return errors.New("there is no =")
	}
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[name] = text
	return nil
}

// split splits a text at commas, except those with a backslash before them. pflag's own lists are lines of CSV, in
// which names with quotation marks could not stand.
func split(text string) []string {
	const comma = "\x00"
	parts := strings.Split(strings.ReplaceAll(text, `\,`, comma), ",")
	if last := len(parts) - 1; parts[last] == "" {
		parts = parts[:last]
	}
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], comma, ",")
	}
	return parts
}

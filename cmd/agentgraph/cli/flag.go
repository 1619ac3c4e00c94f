package cli

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flag declares a flag of a command.
type Flag struct {
	// Into is a pointer to the variable that receives the value: a string, bool, int, int32, int64, time.Duration,
	// time.Time (a day in UTC) or encoding.TextUnmarshaler. A []string or []float64 is split at commas, and the flag may
	// repeat. A map[string]string takes NAME=VALUE, and the flag may repeat too. A *string, *int32 or *float64 stays nil
	// without a value. A func(string) error receives the text itself.
	Into any
	// Name is the long name without dashes. Short is a letter, or "".
	Name, Short string
	// Env is the environment variable that sets the flag, or "". The variable with the suffix _FILE names a file with the
	// value.
	Env string
	// Default is the default value, as text.
	Default string
	// Enum lists the allowed values. Nil allows all.
	Enum []string
	// Complete completes values in the shell. If Enum is set, its values are completed instead.
	Complete Completer
	// Required flags need a value from any source.
	Required bool
	// NotEmpty refuses an empty value on the command line, such as "$NAME" in a script that does not set NAME. Lists
	// always refuse it.
	NotEmpty bool
	// Xor is a name shared by flags that exclude each other, or "".
	Xor string
	// Negatable adds a flag --no-NAME to a bool.
	Negatable bool
	// Placeholder represents the value in the help. Without one, the help shows the default or the type.
	Placeholder string
	// Secret marks values that should not be on command lines, because process lists show them. The help says so.
	Secret bool
	// Help is one sentence, with its period.
	Help string
	// Docs is additional Markdown for the documentation, or "".
	Docs string
}

// Flags is a list of declared flags.
type Flags []Flag

// Declare returns the flags themselves.
func (f Flags) Declare() Flags { return f }

// Declarer is a struct with fields that flags set.
type Declarer interface {
	// Declare returns the flags, in the order of the help.
	Declare() Flags
}

// Argument declares a positional argument of a command.
type Argument struct {
	// Into is a pointer to a string. The last argument may have a []string, which takes one or more words.
	Into any
	Name string
	// Optional arguments come last.
	Optional bool
	// Enum lists the allowed values. Nil allows all.
	Enum []string
	// Complete completes the argument in the shell. If Enum is set, its values are completed instead.
	Complete Completer
	// Help is one sentence, with its period.
	Help string
}

// value is the pflag.Value of a declared flag.
type value struct {
	pflag.Value
	Flag
	// isSet is set once the flag has a value. repeated names a flag that was given twice although it takes one value, or a
	// pair whose name was given twice. A repetition is refused only when the command runs, because completion sets flags
	// twice.
	isSet    bool
	repeated string
	// isEmpty is set if the flag was given without a value although it needs one.
	isEmpty bool
	// source is where the value comes from, or "" for the command line and the default.
	source string
}

// kind describes a type of values.
type kind struct {
	// expected completes the error "expected …". If it is empty, the parser's error is shown.
	expected string
	// placeholder represents a value in the help.
	placeholder string
	isList      bool
}

// kind returns the kind of the flag's value.
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

// Set sets the value. Its error names the flag.
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
	v.isEmpty = v.isEmpty || text == "" && (v.NotEmpty || v.kind().isList)
	return nil
}

// noteRepetition sets repeated if the text would replace the value of the flag or, in NAME=VALUE pairs, the value of
// the same name.
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

// truth converts yes and no to true and false, which pflag expects.
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

func (v *value) parts(text string) []string {
	if v.kind().isList {
		return split(text)
	}
	return []string{text}
}

// Type tells completion whether the flag may repeat.
func (v *value) Type() string {
	if v.kind().isList {
		return "stringSlice"
	}
	return v.Value.Type()
}

// checkEnum refuses values that are not allowed. If allowed is nil, all are.
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

// add adds a declared flag. It panics if the type of Into is unknown.
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

// define adds the flag with the matching pflag type.
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

// optional returns a function that parses a text and points the pointer to the value.
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
		return fmt.Errorf("expected NAME=VALUE but got %q", text)
	}
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[name] = text
	return nil
}

// split splits a text at commas that have no backslash before them. pflag's own lists are CSV, which would not allow
// quotation marks in names.
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

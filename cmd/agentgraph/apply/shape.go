package apply

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// form says how a value is compared and sent.
type form int

const (
	scalar    form = iota // a text, a number or a truth value
	text                  // a text that may be absent: the empty text is as good as null
	moment                // a date-time
	sequence              // a list
	distinct              // a list without doubles
	set                   // a list whose order means nothing
	record                // an object, replaced whole
	merged                // an object of which only what is given counts
	values                // an object with keys of the user's, whose order and whose nulls mean nothing
	schema                // a JSON object as it is
	reference             // the name of something else
	delimiter             // a text with escapes, as parserConfig.delimiter is
)

// shape describes the values of a field.
type shape struct {
	form
	// initial is the value of what is new and says nothing, and what null stands for.
	initial any
	// of is the shape of a list's elements, members those of an object.
	of      *shape
	members []field
	// to is the kind of what is named.
	to *kind
	// isNullable says that null is a value of its own.
	isNullable bool
}

// field is a member of an object.
type field struct {
	name string
	shape
	// isApart is sent by requests of its own.
	isApart bool
	// isFixed cannot be changed later.
	isFixed bool
}

// resolve returns what a reference names, or nil to leave out what names it.
type resolve func(to *kind, name string, at path) any

// normal returns a value in the form in which it can be compared.
func (s shape) normal(value any, resolve resolve, at path) any {
	if value == nil {
		value = s.initial
	}
	if value == nil {
		return nil
	}
	if s.form == merged && isEqual(value, s.initial) {
		value = s.empty()
	}
	switch s.form {
	case text:
		if value == "" {
			return nil
		}
	case moment:
		if moment, err := time.Parse(time.RFC3339, value.(string)); err == nil {
			return moment.UTC().Format("2006-01-02T15:04:05.000Z")
		}
	case delimiter:
		return escapes.Replace(value.(string))
	case reference:
		return resolve(s.to, value.(string), at)
	case sequence, distinct, set:
		return s.normalList(value.(list), resolve, at)
	case record, merged:
		return s.normalObject(value.(object), resolve, at)
	case values:
		return slices.DeleteFunc(value.(object).sorted(), func(m member) bool { return m.value == nil })
	}
	return value
}

// empty returns an object whose members all say nothing, so that all of them are cleared.
func (s shape) empty() object {
	o := make(object, len(s.members))
	for i, f := range s.members {
		o[i].name = f.name
	}
	return o
}

// escapes are those that the server decodes, and escaped is the other way round.
var (
	escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t")
	escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
)

func (s shape) normalList(values list, resolve resolve, at path) list {
	normal := list{}
	for i, value := range values {
		value = s.of.normal(value, resolve, at.index(i))
		if value == nil && !s.of.isNullable || s.form != sequence &&
			slices.ContainsFunc(normal, func(v any) bool { return isEqual(v, value) }) {
			continue
		}
		normal = append(normal, value)
	}
	if s.form == set {
		slices.SortStableFunc(normal, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	}
	return normal
}

// normalObject returns the members in the order of the shape; of what is merged, only those that are given. It is nil
// if it names what is to be left out.
func (s shape) normalObject(o object, resolve resolve, at path) any {
	normal := object{}
	for _, f := range s.members {
		value, isGiven := o.get(f.name)
		if !isGiven && s.form == merged {
			continue
		}
		n := f.normal(value, resolve, at.member(f.name))
		if n == nil && f.form == reference && !f.isNullable && s.form == record {
			return nil
		}
		normal = append(normal, member{f.name, n})
	}
	return normal
}

// nameOf is what sets are ordered by.
func nameOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case *thing:
		return v.reference()
	case object:
		if name := v.text("technicalName"); name != "" {
			return name
		}
		for _, m := range v {
			if name := nameOf(m.value); name != "" {
				return name
			}
		}
	}
	return ""
}

// written returns a normal value as files have it: with references, and without what says nothing.
func (s shape) written(value any) any {
	switch v := value.(type) {
	case string:
		if s.form == delimiter {
			return escaped.Replace(v)
		}
	case *thing:
		return v.reference()
	case list:
		l := make(list, len(v))
		for i, one := range v {
			l[i] = s.of.written(one)
		}
		return l
	case object:
		if s.form != record && s.form != merged {
			return v
		}
		o := object{}
		for _, f := range s.members {
			one, isGiven := v.get(f.name)
			if isGiven && (s.form == merged || !isEqual(one, f.normal(nil, nil, path{}))) {
				o = append(o, member{f.name, f.written(one)})
			}
		}
		return o
	}
	return value
}

// sent returns a normal value as requests have it: with ids, and with the value that clears instead of null.
func (s shape) sent(value any) any {
	switch v := value.(type) {
	case nil:
		if s.form == text || s.form == reference {
			return ""
		}
	case string:
		if s.form == delimiter {
			return escaped.Replace(v)
		}
	case *thing:
		// While things are only checked, there may be no id yet.
		return cmp.Or(v.id, v.reference())
	case list:
		l := make(list, len(v))
		for i, one := range v {
			l[i] = s.of.sentWithin(one)
		}
		return l
	case object:
		if s.form != record && s.form != merged {
			return v
		}
		o := object{}
		for _, f := range s.members {
			if one, isGiven := v.get(f.name); isGiven && (one != nil || s.form == merged) {
				o = append(o, member{f.name, f.sentWithin(one)})
			}
		}
		return o
	}
	return value
}

// sentWithin is sent for a part of something that is replaced whole, where null is null.
func (s shape) sentWithin(value any) any {
	if value == nil && s.form != text {
		return nil
	}
	return s.sent(value)
}

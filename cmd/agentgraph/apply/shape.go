package apply

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// form determines how a value is compared and sent.
type form int

const (
	scalar    form = iota // a string, a number or a boolean
	text                  // an optional text: empty is equal to null
	moment                // a date-time
	sequence              // a list
	distinct              // a list without duplicates
	set                   // a list whose order does not matter
	record                // an object that is replaced as a whole
	merged                // an object whose omitted members stay unchanged
	values                // an object with the user's own keys, whose order and nulls do not matter
	schema                // a JSON object, unchanged
	reference             // the name of another resource
	delimiter             // a text with escapes, like parserConfig.delimiter
)

// shape describes the values of a field.
type shape struct {
	form
	// initial is the default of a new resource, and the meaning of null.
	initial any
	// A list has the shape of its elements in element. An object has the shapes of its members in members.
	element *shape
	members []field
	// to is the kind that a reference points to.
	to *kind
	// isNullable is set if null is a value in itself.
	isNullable bool
}

// field is a member of an object.
type field struct {
	name string
	shape
	// isSeparate is set if the field is sent by separate requests.
	isSeparate bool
	// isFixed is set if the field cannot be changed after creation.
	isFixed bool
	// selected replaces the field in a query, if the server has it under another name or in another form.
	selected string
}

// selection returns the members of the values in a query, or "" if they have none.
func (s shape) selection() string {
	for s.element != nil {
		s = *s.element
	}
	if s.members == nil {
		return ""
	}
	text := " {"
	for _, f := range s.members {
		text += " " + f.name + f.selection()
	}
	return text + " }"
}

// resolve returns the target of a reference. If it returns nil, the object that contains the reference is left out.
type resolve func(to *kind, name string, at path) any

// normalize returns the normal form of a value, which can be compared.
func (s shape) normalize(value any, resolve resolve, at path) any {
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
		given := slices.DeleteFunc(slices.Clone(value.(object)), func(m member) bool { return m.value == nil })
		slices.SortFunc(given, func(a, b member) int { return strings.Compare(a.name, b.name) })
		return given
	}
	return value
}

// empty returns an object whose members are all null, so that all of them are cleared.
func (s shape) empty() object {
	o := make(object, len(s.members))
	for i, f := range s.members {
		o[i].name = f.name
	}
	return o
}

// escapes decodes escapes as the server does, and escaped encodes them.
var (
	escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t")
	escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
)

func (s shape) normalList(values list, resolve resolve, at path) list {
	normal := list{}
	for i, value := range values {
		value = s.element.normalize(value, resolve, at.index(i))
		if value == nil && !s.element.isNullable || s.form != sequence &&
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

// normalObject returns the members in the order of the shape. For a merged shape, it returns only the members that are
// given. For a record, it returns nil if a required reference has no target.
func (s shape) normalObject(o object, resolve resolve, at path) any {
	normal := object{}
	for _, f := range s.members {
		value, isGiven := o.get(f.name)
		if !isGiven && s.form == merged {
			continue
		}
		n := f.normalize(value, resolve, at.member(f.name))
		if n == nil && f.form == reference && !f.isNullable && s.form == record {
			return nil
		}
		normal = append(normal, member{f.name, n})
	}
	return normal
}

// nameOf returns the key by which sets are sorted.
func nameOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case *resource:
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

// fileValue returns a normal value in the format of files: references are names, and defaults of records are left out.
func (s shape) fileValue(value any) any {
	switch v := value.(type) {
	case string:
		if s.form == delimiter {
			return escaped.Replace(v)
		}
	case *resource:
		return v.reference()
	case list, object:
		return s.mapParts(v, shape.fileValue, func(f field, one any) bool {
			return s.form == merged || !isEqual(one, f.normalize(nil, nil, path{}))
		})
	}
	return value
}

// requestValue returns a normal value in the format of requests: references are ids, and null becomes the value that
// clears the field.
func (s shape) requestValue(value any) any {
	switch v := value.(type) {
	case nil:
		if s.form == text || s.form == reference {
			return ""
		}
	case string:
		if s.form == delimiter {
			return escaped.Replace(v)
		}
	case *resource:
		// During checks, the resource may have no id yet.
		return cmp.Or(v.id, v.reference())
	case list, object:
		return s.mapParts(v, shape.nestedRequestValue, func(_ field, one any) bool {
			return one != nil || s.form == merged
		})
	}
	return value
}

// nestedRequestValue does the same as requestValue, for a part of a value that is replaced as a whole. In such parts,
// null stays null, except that an optional text becomes empty.
func (s shape) nestedRequestValue(value any) any {
	if value == nil && s.form != text {
		return nil
	}
	return s.requestValue(value)
}

// mapParts converts the elements of a list, or the members of an object that are kept. An object with the user's own
// keys stays unchanged.
func (s shape) mapParts(value any, convert func(shape, any) any, isKept func(field, any) bool) any {
	if values, isList := value.(list); isList {
		l := make(list, len(values))
		for i, one := range values {
			l[i] = convert(*s.element, one)
		}
		return l
	}
	if s.form != record && s.form != merged {
		return value
	}
	o := object{}
	for _, f := range s.members {
		if one, isGiven := value.(object).get(f.name); isGiven && isKept(f, one) {
			o = append(o, member{f.name, convert(f.shape, one)})
		}
	}
	return o
}

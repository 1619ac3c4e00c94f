package offline

import "strings"

// surelyCode is the length from which a code in the instructions is recognized by its shape alone, in bytes.
const surelyCode = 8

// finding is what the instructions tell of a property.
type finding struct {
	value any
	ok    bool
}

func (b *brief) instructed(p property) (any, bool) {
	if known, ok := b.told.Load(p.place); ok {
		found := known.(finding)
		return found.value, found.ok
	}
	var found finding
	found.value, found.ok = b.findInstructed(p)
	b.told.Store(p.place, found)
	return found.value, found.ok
}

// findInstructed looks in the agent's instructions, which hold the values of the data bag, for unmistakable forms, and
// in the opening paragraph for what follows a label.
func (b *brief) findInstructed(p property) (any, bool) {
	first := b.opening
	if strings.HasPrefix(first, "#") {
		first = ""
	}
	switch {
	case p.kind == "array", p.kind == "boolean", p.kind == "number", p.kind == "integer", len(p.enum) > 0, p.holder != "",
		p.isFreeText(),
		p.isPhone && p.isMail:
		return nil, false
	case p.format == "" && (p.pattern != nil || p.hasExample):
		for line := range strings.Lines(b.system) {
			if value, ok := p.in(line, false, b.today); ok &&
				(len(value.(string)) >= surelyCode || p.near(line, value.(string))) {
				return value, true
			}
		}
		return nil, false
	case p.isPhone, p.format == "email", p.isText(), p.isCode:
		return p.in(first, false, b.today)
	}
	return nil, false
}

package dbtest

import (
	"regexp"
	"slices"
	"strings"
)

// level is one SELECT, INSERT, UPDATE or DELETE of a statement, without the subqueries in it. The arms of a UNION are
// levels of their own.
type level struct {
	outer *level
	// place is the index of the level's subquery among the tokens of the outer level.
	place  int
	tokens []token
	tables []tableRef
	// common are the names of common table expressions. Deeper levels can use them, too.
	common []string
}

// tableRef is a table in the FROM clause of a level, or the target of its change.
type tableRef struct{ name, alias string }

type kind int

const (
	word kind = iota
	quotedWord
	constant
	symbol
	subquery
)

// token is a word, a constant, a symbol, or a whole subquery in parentheses.
type token struct {
	kind kind
	text string
	// group is the innermost pair of parentheses that the token is in, or all of its level. The parentheses around a
	// subquery are not a group.
	group *group
}

// group is a pair of parentheses, or all of a level. If it contains OR, no single condition in it must hold for every
// row.
type group struct {
	parent *group
	hasOr  bool
}

func (t token) is(texts ...string) bool {
	return (t.kind == word || t.kind == symbol) && slices.Contains(texts, t.text)
}

func (t token) isName() bool { return t.kind == quotedWord || t.kind == word && !t.is(reserved...) }

// reserved are the words that can follow a table, and therefore are not aliases.
var reserved = strings.Fields("as on using where group order limit offset having set returning window for fetch " +
	"union intersect except join left right inner cross full lateral only select from values do default with and or not natural")

var tokenForm = regexp.MustCompile(`"(?:[^"]|"")*"|(?:\b[eE])?'[^']*'|\$\d+|[A-Za-z_]\w*|\d[\w.]*|::|<>|[<>!]=|\S`)

func tokensOf(text string) (tokens []token) {
	for _, text := range tokenForm.FindAllString(text, -1) {
		switch {
		case text[0] == '"':
			tokens = append(tokens, token{kind: quotedWord, text: strings.Trim(text, `"`)})
		case strings.HasSuffix(text, "'"), text[0] == '$', text[0] >= '0' && text[0] <= '9':
			tokens = append(tokens, token{kind: constant, text: text})
		case text[0] == '_' || text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z':
			tokens = append(tokens, token{kind: word, text: strings.ToLower(text)})
		default:
			tokens = append(tokens, token{kind: symbol, text: text})
		}
	}
	return tokens
}

// levelsOf returns the levels of a statement, each after the ones that contain it.
func levelsOf(text string) []*level {
	p := &parser{tokens: tokensOf(text)}
	p.parse(nil)
	for _, l := range p.levels {
		l.findTables()
	}
	return p.levels
}

type parser struct {
	tokens []token
	levels []*level
}

func (p *parser) begin(outer *level) (*level, *group) {
	l := &level{outer: outer}
	if outer != nil {
		l.place = len(outer.tokens)
	}
	p.levels = append(p.levels, l)
	return l, &group{}
}

// parse reads the levels up to the parenthesis that ends them.
func (p *parser) parse(outer *level) {
	l, root := p.begin(outer)
	current := root
	for len(p.tokens) > 0 {
		t := p.tokens[0]
		p.tokens = p.tokens[1:]
		switch {
		case t.is("(") && len(p.tokens) > 0 && p.tokens[0].is("select", "with", "insert", "update", "delete"):
			p.parse(l)
			t = token{kind: subquery}
		case t.is("("):
			current = &group{parent: current}
		case t.is(")") && current == root:
			return
		case t.is("or"):
			current.hasOr = true
		case t.is("union", "intersect", "except") && current == root:
			common := l.common
			l, root = p.begin(outer)
			l.common, current = common, root
			continue
		case len(l.tokens) > 1 && t.is("as") && p.startsSubquery() && current == root && l.tokens[len(l.tokens)-1].isName() &&
			!l.has("from"):
			l.common = append(l.common, l.tokens[len(l.tokens)-1].text)
		}
		t.group = current
		l.tokens = append(l.tokens, t)
		if t.is(")") {
			current = current.parent
		}
	}
}

func (p *parser) startsSubquery() bool {
	next := slices.IndexFunc(p.tokens, func(t token) bool { return !t.is("not", "materialized") })
	return next >= 0 && p.tokens[next].is("(")
}

func (l *level) has(texts ...string) bool {
	return slices.ContainsFunc(l.tokens, func(t token) bool { return t.group.parent == nil && t.is(texts...) })
}

// tokenAt returns the token with the index, or an empty one outside of the level.
func (l *level) tokenAt(i int) token {
	if i < 0 || i >= len(l.tokens) {
		return token{kind: symbol}
	}
	return l.tokens[i]
}

// findTables finds the tables in the FROM clause, and the target of a change.
func (l *level) findTables() {
	isInFrom := false
	for i, t := range l.tokens {
		if t.group.parent != nil {
			continue
		}
		switch {
		case t.is("from") && !l.tokenAt(i-1).is("distinct"), t.is("join"),
			t.is("using") && !l.tokenAt(i+1).is("("):
			isInFrom = true
			l.addTable(i + 1)
		case t.is("into"), t.is("update") && !l.tokenAt(i-1).is("for", "do", "key"):
			l.addTable(i + 1)
		case t.is(",") && isInFrom:
			l.addTable(i + 1)
		case t.is("where", "group", "order", "limit", "set", "returning", "having", "for", "select"):
			isInFrom = false
		}
	}
}

// addTable adds the table whose name begins at the token, unless a subquery, a function or a common table expression is
// there.
func (l *level) addTable(i int) {
	for l.tokenAt(i).is("only", "lateral") {
		i++
	}
	if !l.tokenAt(i).isName() {
		return
	}
	for l.tokenAt(i + 1).is(".") {
		i += 2
	}
	table := tableRef{name: l.tokenAt(i).text, alias: l.tokenAt(i).text}
	if l.tokenAt(i+1).is("(") && !l.tokenAt(i-1).is("into") || l.isCommonTable(table.name) {
		return
	}
	if l.tokenAt(i + 1).is("as") {
		i++
	}
	if l.tokenAt(i + 1).isName() {
		table.alias = l.tokenAt(i + 1).text
	}
	l.tables = append(l.tables, table)
}

// isCommonTable reports whether a common table expression has the name.
func (l *level) isCommonTable(name string) bool {
	return l != nil && (slices.Contains(l.common, name) || l.outer.isCommonTable(name))
}

// verb returns the word that says what the level does.
func (l *level) verb() string {
	i := slices.IndexFunc(l.tokens, func(t token) bool {
		return t.group.parent == nil && t.is("select", "insert", "update", "delete")
	})
	return l.tokenAt(i).text
}

// isChange reports whether the level changes rows.
func (l *level) isChange() bool {
	return slices.Contains([]string{"insert", "update", "delete"}, l.verb())
}

// isJoined reports whether Postgres makes the subquery a join of the outer level: it is an EXISTS that is a condition
// of every row.
func (l *level) isJoined() bool {
	if l.outer == nil || !l.outer.tokenAt(l.place-1).is("exists") || !l.outer.isCondition(l.place) ||
		!l.outer.tokenAt(l.place-2).is("(", "and", "where", "on", "not") {
		return false
	}
	for i := l.place; i >= 0; i-- {
		if t := l.outer.tokenAt(i); t.group != nil && t.group.parent == nil && t.is("where", "on", "order", "select", "set") {
			return t.is("where", "on")
		}
	}
	return false
}

// isInOuterJoin reports whether the token is in the condition of an outer join.
func (l *level) isInOuterJoin(i int) bool {
	for ; i >= 0; i-- {
		switch t := l.tokenAt(i); {
		case t.group.parent != nil:
		case t.is("where"):
			return false
		case t.is("join"):
			return l.tokenAt(i-1).is("left", "right", "full", "outer")
		}
	}
	return false
}

// isCondition reports whether the token is part of a condition that every row satisfies.
func (l *level) isCondition(i int) bool {
	for g := l.tokenAt(i).group; g != nil; g = g.parent {
		if g.hasOr {
			return false
		}
	}
	return true
}

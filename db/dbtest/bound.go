package dbtest

import (
	"slices"
	"strings"
)

// The members of a sameCompany are aliases of tables and these constants. No alias contains a space.
const (
	oneCompany = "a constant"
	outerTable = "an outer table"
)

// sameCompany is a union-find structure. Two members in the same set have the same company.
type sameCompany map[string]string

func (s sameCompany) find(alias string) string {
	for s[alias] != "" {
		alias = s[alias]
	}
	return alias
}

func (s sameCompany) union(a, b string) {
	if a, b = s.find(a), s.find(b); a != b {
		s[a] = b
	}
}

// company returns which tables of a level have the same company according to its conditions. It ignores an unqualified
// column if the level has several sharded tables, because the column could belong to any of them. It ignores the
// condition of an outer join that compares a table with a function or a subquery: Citus does not combine it with the
// conditions of other tables.
func (l *level) company(sharded []string) sameCompany {
	same := sameCompany{}
	for i, t := range l.tokens {
		switch {
		case !l.isCondition(i):
		case t.is("="):
			left, right := l.memberBefore(i, sharded), l.memberAfter(i, sharded)
			isOpen := (left == outerTable || right == outerTable) && l.isInOuterJoin(i)
			if left != "" && right != "" && !isOpen {
				same.union(left, right)
			}
		case t.is("in") && l.tokenAt(i+1).is("(") && l.tokenAt(i+2).kind == constant && l.tokenAt(i+3).is(")"):
			if left := l.memberBefore(i, sharded); left != "" {
				same.union(left, oneCompany)
			}
		case t.is("using") && l.tokenAt(i+1).is("(") && l.tokenAt(i+2).text == companyID:
			for _, table := range l.tablesNamed(sharded) {
				same.union(table.alias, l.tablesNamed(sharded)[0].alias)
			}
		}
	}
	if from := l.insertsFrom(sharded); from != "" {
		same.union(l.tables[0].alias, from)
	}
	return same
}

const companyID = "company_id"

func (l *level) memberBefore(i int, sharded []string) string {
	for l.tokenAt(i - 1).is(")") {
		i--
	}
	if l.tokenAt(i-1).text != companyID || !l.tokenAt(i-2).is(".") {
		return l.member(l.tokenAt(i-1), "", sharded)
	}
	return l.member(l.tokenAt(i-1), l.tokenAt(i-3).text, sharded)
}

func (l *level) memberAfter(i int, sharded []string) string {
	if l.tokenAt(i + 2).is(".") {
		return l.member(l.tokenAt(i+3), l.tokenAt(i+1).text, sharded)
	}
	return l.member(l.tokenAt(i+1), "", sharded)
}

// member returns the member that one side of an equation stands for, or "" if that side is not a company.
func (l *level) member(t token, alias string, sharded []string) string {
	switch {
	case t.kind == constant:
		return oneCompany
	case t.text != companyID:
		return ""
	case alias != "":
		if slices.ContainsFunc(l.tables, func(table tableRef) bool { return table.alias == alias }) {
			return alias
		}
		return outerTable
	}
	refs := l.tablesNamed(sharded)
	if l.verb() == "insert" { // its SELECT does not see the target
		refs = slices.DeleteFunc(refs, func(t tableRef) bool { return t == l.tables[0] })
	}
	if len(refs) == 0 || len(refs) > 1 && !l.has("using") {
		return ""
	}
	return refs[0].alias
}

// tablesNamed returns the tables of the level with one of the names.
func (l *level) tablesNamed(names []string) (found []tableRef) {
	for _, t := range l.tables {
		if slices.Contains(names, t.name) {
			found = append(found, t)
		}
	}
	return found
}

// insertsFrom returns the member that an INSERT takes the company of its rows from: a constant, or the table that it
// selects from. It returns "" for anything else.
func (l *level) insertsFrom(sharded []string) (from string) {
	columns := slices.IndexFunc(l.tokens, func(t token) bool { return t.is("(") })
	if l.verb() != "insert" || l.tokenAt(columns+1).text != companyID {
		return ""
	}
	for i, t := range l.tokens {
		switch {
		case t.is("conflict", "returning"):
			return from
		case t.is("select"):
			return l.memberAfter(i, sharded)
		case t.is("(") && i > columns && t.group.parent.parent == nil &&
			(l.tokenAt(i-1).is("values") || l.tokenAt(i-1).is(",") && l.tokenAt(i-2).is(")")):
			if from = l.memberAfter(i, sharded); from != oneCompany {
				return ""
			}
		}
	}
	return from
}

// readsOneCompany reports whether each sharded table is restricted to one company, by a constant in its own level or by
// another table of that level. Citus requires a constant in each subquery, except in a subquery that is a join.
func readsOneCompany(levels []*level, sharded []string) bool {
	return !slices.ContainsFunc(levels, func(l *level) bool {
		same := l.company(sharded)
		if l.isJoined() {
			same.union(outerTable, oneCompany)
		}
		return slices.ContainsFunc(l.tablesNamed(sharded),
			func(t tableRef) bool { return same.find(t.alias) != same.find(oneCompany) })
	})
}

// readsAllCompanies reports whether a statement about all companies can run on each node separately, for the companies
// of that node. Such a statement joins only rows of the same company, locks no rows, and uses no reference table.
func readsAllCompanies(levels []*level, sharded, reference []string) bool {
	for _, l := range levels {
		if l.isChange() || l.has("for") || len(l.tablesNamed(reference)) > 0 ||
			l.outer != nil && l.has("limit", "offset") {
			return false
		}
		same, tables := l.company(sharded), l.tablesNamed(sharded)
		for _, t := range tables {
			if same.find(t.alias) != same.find(tables[0].alias) || l.outer != nil &&
				same.find(t.alias) != same.find(outerTable) {
				return false
			}
		}
	}
	return true
}

// namesCompany reports whether one of the levels restricts a sharded table to a constant company.
func namesCompany(levels []*level, sharded []string) bool {
	return slices.ContainsFunc(levels, func(l *level) bool {
		same := l.company(sharded)
		return slices.ContainsFunc(l.tablesNamed(sharded),
			func(t tableRef) bool { return same.find(t.alias) == same.find(oneCompany) })
	})
}

func anyTable(levels []*level, find func(tableRef) bool) bool {
	return slices.ContainsFunc(levels, func(l *level) bool { return slices.ContainsFunc(l.tables, find) })
}

// readsRiver reports whether a statement uses a table of the queue. Only the coordinator has these tables.
func readsRiver(levels []*level) bool {
	return anyTable(levels, func(t tableRef) bool { return strings.HasPrefix(t.name, "river_") })
}

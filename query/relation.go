package query

import (
	"reflect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// shape says how many rows a relation leads to.
type shape int

const (
	toOne shape = iota
	toMany
	toPage
	toTotal
)

// relation leads from a row to others, by the key that stands in a column of it.
type relation struct {
	shape  shape
	rows   pg.Rows
	list   pg.List
	column string
	// at is where the column is in the struct of the row.
	at []int
	// key takes the column's place where the row is none of the database.
	key func(row any) string
	// value is the column that is the response itself, where the field is no object.
	value string
	// isFirst says that at most one row hangs on a key: the field is that row, or null.
	isFirst bool
	// isWhole says that resolvers read all columns, and reading which ones they read whatever is selected.
	isWhole bool
	reading string
	// isSummed leaves the number of all rows of a list to resolvers.
	isSummed bool
	filter   makeFilter
}

func one(column string, rows pg.Rows) relation {
	return relation{shape: toOne, rows: rows, column: column}
}
func many(rows pg.Rows) relation  { return relation{shape: toMany, rows: rows, column: "id"} }
func page(list pg.List) relation  { return relation{shape: toPage, list: list, column: "id"} }
func count(list pg.List) relation { return relation{shape: toTotal, list: list, column: "id"} }

func (r relation) part(column string) relation {
	r.value = column
	return r
}

// first makes the field the row that hangs on a key, of which there is one at most.
func (r relation) first() relation {
	r.isFirst, r.isWhole = true, true
	return r
}

func (r relation) by(key func(row any) string) relation {
	r.key = key
	return r
}

// whole lets resolvers of several fields share what one of them has read.
func (r relation) whole() relation {
	r.isWhole = true
	return r
}

// only lets resolvers read one column of the rows, of which they make what the field is. It is not planned.
func (r relation) only(column string) relation {
	r.reading = column
	return r
}

// same is what relations that lead to the same rows have in common.
func (r *relation) same() any {
	if r.key != nil {
		return r
	}
	return leading{r.shape, r.column, r.rows, r.list}
}

type leading struct {
	shape  shape
	column string
	rows   pg.Rows
	list   pg.List
}

// that narrows a page by arguments of its field.
func (r relation) that(filter makeFilter) relation {
	r.filter = filter
	return r
}

// row is the struct of the rows that the relation leads to.
func (r relation) row() reflect.Type {
	if r.shape == toOne || r.shape == toMany {
		return r.rows.Row()
	}
	return r.list.Row()
}

// root is a field of Query: a row by its id, or a list of the company.
type root struct {
	relation
	// existing are the rows that arguments must name, if they are given.
	existing map[string]pg.Rows
	// not is an argument that is not planned.
	not string
}

// summed says that db knows the number of all rows of a list otherwise than by counting them.
func (r root) summed() root {
	r.isSummed = true
	return r
}

func byID(rows pg.Rows) root { return root{relation: relation{shape: toOne, rows: rows}} }
func all(list pg.List) root  { return root{relation: relation{shape: toPage, list: list}} }

func (r root) that(filter makeFilter) root {
	r.filter = filter
	return r
}

func (r root) of(argument string, rows pg.Rows) root {
	existing := map[string]pg.Rows{argument: rows}
	for known, its := range r.existing {
		existing[known] = its
	}
	r.existing = existing
	return r
}

func (r root) unless(argument string) root {
	r.not = argument
	return r
}

// resolvedAgent is the agent that used something, if it still exists.
func resolvedAgent(row any) string {
	consumption := row.(*model.AgentConsumption)
	if consumption.NameStatus != model.NameStatusResolved {
		return ""
	}
	return consumption.AgentID
}

// resolvedCampaign is the campaign that something was used for, if it still exists.
func resolvedCampaign(row any) string {
	consumption := row.(*model.CampaignConsumption)
	if consumption.NameStatus != model.NameStatusResolved {
		return ""
	}
	return consumption.CampaignID
}

// existingTest is the test that is compared, if it still exists.
func existingTest(row any) string { return orNone(row.(*model.AgentTestComparisonTest).ExistingID) }

// executedTest is the test that was executed, if it still exists.
func executedTest(row any) string { return orNone(row.(*model.AgentTestExecutionTest).ExistingID) }

// folderOfExecuted is the folder of the test that was executed, if it still exists and is in one.
func folderOfExecuted(row any) string { return orNone(row.(*model.AgentTestExecutionTest).FolderID) }

func orNone(key *string) string {
	if key == nil {
		return ""
	}
	return *key
}

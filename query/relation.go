package query

import (
	"reflect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// shape is how many rows a relation leads to.
type shape int

const (
	toOne shape = iota
	toMany
	toPage
	toTotal
)

// relation leads from a row to other rows, by the key in one of its columns.
type relation struct {
	shape  shape
	rows   pg.Rows
	list   pg.List
	column string
	// fieldIndex is the index of the column's field in the struct of the row.
	fieldIndex []int
	// key replaces the column if the row is not from the database.
	key func(row any) string
	// value is the column that the field returns, if the field is not an object.
	value string
	// isFirst is set if a key has at most one row: the field is that row, or null.
	isFirst bool
	// readsAllColumns makes resolvers read all columns, for any selection.
	readsAllColumns bool
	resolverColumn  string
	// hasResolverTotal leaves the total of a list to resolvers.
	hasResolverTotal bool
	filter           makeFilter
}

func one(column string, rows pg.Rows) relation {
	return relation{shape: toOne, rows: rows, column: column}
}
func many(rows pg.Rows) relation  { return relation{shape: toMany, rows: rows, column: "id"} }
func page(list pg.List) relation  { return relation{shape: toPage, list: list, column: "id"} }
func count(list pg.List) relation { return relation{shape: toTotal, list: list, column: "id"} }

func (r relation) returning(column string) relation {
	r.value = column
	return r
}

// atMostOne marks a relation whose keys have at most one row. The field is that row, or null.
func (r relation) atMostOne() relation {
	r.isFirst, r.readsAllColumns = true, true
	return r
}

func (r relation) keyedBy(key func(row any) string) relation {
	r.key = key
	return r
}

// allColumns makes resolvers read all columns, so that several fields can share the rows.
func (r relation) allColumns() relation {
	r.readsAllColumns = true
	return r
}

// computedFrom makes resolvers read one column of the rows, from which they compute the field. The field is not
// planned.
func (r relation) computedFrom(column string) relation {
	r.resolverColumn = column
	return r
}

// identity returns the same value for relations that lead from a row to the same rows. Such relations can share a read.
func (r *relation) identity() any {
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

// filteredBy filters a page by the arguments of its field.
func (r relation) filteredBy(filter makeFilter) relation {
	r.filter = filter
	return r
}

// row returns the struct type of the rows that the relation leads to.
func (r relation) row() reflect.Type {
	if r.shape == toOne || r.shape == toMany {
		return r.rows.Row()
	}
	return r.list.Row()
}

// root is a field of Query: a row by its id, or a list of the company.
type root struct {
	relation
	// existing maps optional arguments to the rows that their ids must name.
	existing map[string]pg.Rows
	// unplannedArgument is an argument that plans do not support. A field with this argument is left to the generated
	// executor.
	unplannedArgument string
}

// summed marks a list whose total comes from sums instead of counting rows.
func (r root) summed() root {
	r.hasResolverTotal = true
	return r
}

func byID(rows pg.Rows) root { return root{relation: relation{shape: toOne, rows: rows}} }
func all(list pg.List) root  { return root{relation: relation{shape: toPage, list: list}} }

func (r root) filteredBy(filter makeFilter) root {
	r.filter = filter
	return r
}

func (r root) mustExist(argument string, rows pg.Rows) root {
	existing := map[string]pg.Rows{argument: rows}
	for known, its := range r.existing {
		existing[known] = its
	}
	r.existing = existing
	return r
}

func (r root) unless(argument string) root {
	r.unplannedArgument = argument
	return r
}

// resolvedAgent returns the id of the agent in a usage row, if the agent still exists.
func resolvedAgent(row any) string {
	consumption := row.(*model.AgentConsumption)
	if consumption.NameStatus != model.NameStatusResolved {
		return ""
	}
	return consumption.AgentID
}

// resolvedCampaign returns the id of the campaign in a usage row, if the campaign still exists.
func resolvedCampaign(row any) string {
	consumption := row.(*model.CampaignConsumption)
	if consumption.NameStatus != model.NameStatusResolved {
		return ""
	}
	return consumption.CampaignID
}

// goodRun and badRun return the ids of the runs that a blame compares.
func goodRun(row any) string { return row.(*model.AgentTestBlame).GoodRunID }
func badRun(row any) string  { return row.(*model.AgentTestBlame).BadRunID }

// queuedRun returns the id of a run whose verdict is to be labeled. wrongRun returns the id of a run whose verdict a
// label contradicts.
func queuedRun(row any) string { return row.(*model.CriterionQueueEntry).RunID }
func wrongRun(row any) string  { return row.(*model.JudgeDisagreement).RunID }

// existingTest returns the id of the compared test, if it still exists.
func existingTest(row any) string { return orNone(row.(*model.AgentTestComparisonTest).ExistingID) }

// executedTest returns the id of the executed test, if it still exists.
func executedTest(row any) string { return orNone(row.(*model.AgentTestExecutionTest).ExistingID) }

// folderOfExecuted returns the id of the executed test's folder, if the folder still exists.
func folderOfExecuted(row any) string { return orNone(row.(*model.AgentTestExecutionTest).FolderID) }

func orNone(key *string) string {
	if key == nil {
		return ""
	}
	return *key
}

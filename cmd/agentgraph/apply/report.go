package apply

import "slices"

// planReport is a change set as JSON.
type planReport struct {
	Created int            `json:"created"`
	Changed int            `json:"changed"`
	Deleted int            `json:"deleted"`
	Changes []changeReport `json:"changes"`
	Notes   []string       `json:"notes"`
	// Warnings are about the written tests.
	Warnings []string `json:"warnings"`
}

// changeReport is the change of one resource.
type changeReport struct {
	// Verb is create, change or delete.
	Verb string `json:"verb"`
	// Kind is the GraphQL type, such as SimulationTest.
	Kind string `json:"kind"`
	// ID is null until the resource exists.
	ID    *string `json:"id"`
	Name  string  `json:"name"`
	Agent *string `json:"agent"`
	// File is the place in the files, null for a deletion.
	File   *string            `json:"file"`
	Fields []differenceReport `json:"fields"`
	Added  []documentReport   `json:"addedDocuments"`
	Gone   []documentReport   `json:"deletedDocuments"`
	// SendsHeaders is set if the values of a tool's headers are sent.
	SendsHeaders bool `json:"sendsHeaders"`
	// Headers are the environment variables of the headers that are sent.
	Headers []headerReport `json:"headers"`
	// Done is set if the change was applied, at least in part.
	Done bool `json:"done"`
}

type differenceReport struct {
	Field string `json:"field"`
	Old   any    `json:"old"`
	New   any    `json:"new"`
}

type headerReport struct {
	Name     string `json:"name"`
	Variable string `json:"variable"`
}

type documentReport struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// report returns the change set and its progress for JSON output.
func (p *changeSet) report() planReport {
	all := planReport{
		Created: p.count("create"), Changed: p.count("change"), Deleted: p.count("delete"), Changes: []changeReport{},
		Notes: append([]string{}, p.notes...), Warnings: append([]string{}, p.warnings...),
	}
	for _, ch := range p.changes {
		all.Changes = append(all.Changes, ch.report())
	}
	return all
}

func (ch *change) report() changeReport {
	t := ch.resource
	one := changeReport{
		Verb: ch.verb, Kind: t.kind.typeName, Name: t.name(), SendsHeaders: ch.headers, Done: ch.isDone,
		Fields: []differenceReport{}, Headers: []headerReport{}, Added: []documentReport{}, Gone: []documentReport{},
	}
	if t.id != "" {
		one.ID = &t.id
	}
	if t.agent != nil {
		one.Agent = new(t.agent.name())
	}
	if t.at.source != nil {
		one.File = new(t.at.String())
	}
	for _, d := range slices.Concat(ch.inline, ch.separate) {
		one.Fields = append(one.Fields, differenceReport{d.name, d.shape.fileValue(d.old), d.shape.fileValue(d.desired)})
	}
	for _, h := range ch.sentHeaders() {
		variable, _, _ := environment(h.value.(string))
		one.Headers = append(one.Headers, headerReport{h.name, variable})
	}
	for _, d := range ch.addedDocuments {
		one.Added = append(one.Added, documentReport{d.name, d.size})
	}
	for _, s := range ch.deletedDocuments {
		one.Gone = append(one.Gone, documentReport{s.name, s.size})
	}
	return one
}

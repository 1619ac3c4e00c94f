package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Dataset is a collection of documents that knowledge base chats use.
type Dataset struct {
	bun.BaseModel `bun:"table:datasets,alias:dataset"`
	Owned

	ID           string `bun:",pk"`
	Name         string
	Description  *string
	ChunkMethod  string
	ParserConfig ParserConfig `bun:"type:jsonb"`
	// Language is one of Languages, or AnyLanguage.
	Language  string
	CreatedAt time.Time
	// UpdatedAt is nil until the dataset is changed. Changes of its documents do not count.
	UpdatedAt *time.Time
}

// DatasetCounts is the number of a dataset's documents, and of all their chunks.
type DatasetCounts struct{ Documents, Chunks int32 }

// ParserConfig says how documents are parsed.
type ParserConfig struct {
	ChunkTokenNum   int32  `json:"chunkTokenNum"`
	LayoutRecognize bool   `json:"layoutRecognize"`
	Delimiter       string `json:"delimiter"`
	TaskPageSize    int32  `json:"taskPageSize"`
}

// ChunkMethods are the ways to split documents into chunks. The first is the default.
var ChunkMethods = []string{
	"naive", "book", "email", "laws", "manual", "one", "paper", "picture", "presentation", "qa", "table", "tag",
}

// Cursor returns the position of this object in a list of datasets.
func (d *Dataset) Cursor() Cursor { return Cursor{d.CreatedAt, d.ID} }

var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t")

// NewDataset returns the dataset that the input describes, with defaults for missing fields, or BAD_INPUT with every
// bound that it breaks.
func NewDataset(in CreateDatasetInput, now time.Time) (*Dataset, error) {
	d := &Dataset{
		ID: NewID("dataset"), ChunkMethod: ChunkMethods[0], Language: AnyLanguage, CreatedAt: now,
		ParserConfig: ParserConfig{ChunkTokenNum: 512, LayoutRecognize: true, Delimiter: "\n", TaskPageSize: 12},
	}
	return d, d.Update(UpdateDatasetInput{
		Name: &in.Name, Description: in.Description, ChunkMethod: in.ChunkMethod, ParserConfig: in.ParserConfig,
		Language: in.Language,
	})
}

// ChangedAt returns the time of the last change, or of the creation if there was no change.
func (d *Dataset) ChangedAt() time.Time { return *cmp.Or(d.UpdatedAt, &d.CreatedAt) }

// Update applies all fields that the input sets, and merges objects key by key. It returns BAD_INPUT with every fault
// when the dataset would break a bound.
func (d *Dataset) Update(in UpdateDatasetInput) error {
	setIfGiven(&d.Name, in.Name)
	setIfGiven(&d.ChunkMethod, in.ChunkMethod)
	setIfGiven(&d.Language, in.Language)
	if in.Description != nil {
		d.Description = in.Description
	}
	var faults Fields
	faults.name("name", d.Name, 255)
	faults.optional("description", d.Description, 5_000)
	if !slices.Contains(ChunkMethods, d.ChunkMethod) {
		faults.Add("chunkMethod", "must be one of %s", strings.Join(ChunkMethods, ", "))
	}
	if d.Language != AnyLanguage && !slices.Contains(Languages, d.Language) {
		faults.Add("language", "must be %s, or one of %s", AnyLanguage, strings.Join(Languages, ", "))
	}
	if p := in.ParserConfig; p != nil {
		setIfGiven(&d.ParserConfig.ChunkTokenNum, p.ChunkTokenNum)
		setIfGiven(&d.ParserConfig.LayoutRecognize, p.LayoutRecognize)
		setIfGiven(&d.ParserConfig.TaskPageSize, p.TaskPageSize)
		if p.Delimiter != nil {
			d.ParserConfig.Delimiter = escapes.Replace(*p.Delimiter)
		}
		faults.count("parserConfig.chunkTokenNum", &d.ParserConfig.ChunkTokenNum, 1, 2048)
		faults.text("parserConfig.delimiter", d.ParserConfig.Delimiter, 1, 255)
		faults.count("parserConfig.taskPageSize", &d.ParserConfig.TaskPageSize, 1, 1000)
	}
	return faults.Err()
}

// Indexes reports whether both datasets split documents into the same chunks, with the same terms.
func (d *Dataset) Indexes(as *Dataset) bool {
	return d.ChunkMethod == as.ChunkMethod && d.ParserConfig == as.ParserConfig && d.Language == as.Language
}

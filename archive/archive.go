// Package archive keeps a company in one file: a tar, compressed by gzip, of JSON lines for the rows of each table and
// of the files of documents. It is written and read in little memory, however large the company is.
package archive

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Format and Version say what an archive is. The version grows when older readers would misread it.
const (
	Format  = "agentgraph-company"
	Version = 1
)

const (
	manifestName = "manifest.json"
	// filesName is the folder of the files of documents, which come after the rows of the table filesAfter.
	filesName  = "files"
	filesAfter = "documents"
)

// Bounds of what is read, in bytes.
const (
	mostManifest = 1 << 20
	mostLine     = 32 << 20
	// mostRatio is how many times larger than itself an archive may become, once it has become larger than freeBytes.
	mostRatio = 250
	freeBytes = 64 << 20
)

// Manifest is the first entry of an archive.
type Manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// ID tells archives apart, so that the same one is taken in once.
	ID      string  `json:"id"`
	Program string  `json:"program,omitempty"`
	Company Company `json:"company"`
	// ExportedAt is the moment at which the company was as the archive says.
	ExportedAt time.Time `json:"exportedAt"`
	// Rows is how many rows the archive has of each table, and Files how many files. They are compared with what is read
	// if Rows is given.
	Rows  map[string]int64 `json:"rows,omitempty"`
	Files int64            `json:"files,omitempty"`
	// LeftOut are the tools whose headers are not in the archive.
	LeftOut []db.ToolHeaders `json:"leftOut,omitempty"`
	// PausedSchedules is how many schedules were enabled in the archive, and are disabled by its import.
	PausedSchedules int `json:"-"`
	// PausedCampaigns is how many campaigns were running in the archive, and are paused by its import.
	PausedCampaigns int `json:"-"`
}

// Company is whose archive it is.
type Company struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
}

// check returns an error unless this program can read the archive.
func (m *Manifest) check() error {
	switch {
	case m.Format != Format:
		return fmt.Errorf("%s: format must be %q", manifestName, Format)
	case m.Version < 1:
		return fmt.Errorf("%s: version must be 1 or more", manifestName)
	case m.Version > Version:
		return fmt.Errorf("%s: version is %d, and this program reads up to %d: run a newer agentgraph", manifestName,
			m.Version, Version)
	case !model.IsID(m.Company.ID):
		return fmt.Errorf("%s: company.id must have 1 to %d letters, digits and . _ ~ : @ -, and begin with a letter or a "+
			"digit", manifestName, model.MaxIDLength)
	case m.ID != "" && !model.IsID(m.ID):
		return fmt.Errorf("%s: id must be of the same form as company.id, or absent", manifestName)
	}
	for table, rows := range m.Rows {
		if placeOf(table) < 0 || table == filesName || rows < 0 {
			return fmt.Errorf("%s: rows must map tables to numbers of rows", manifestName)
		}
	}
	_, err := model.NewCompany(m.Company.Name, m.Company.CreatedAt)
	if err != nil {
		return fmt.Errorf("%s: company.%w", manifestName, err)
	}
	return nil
}

// total is how many rows and files there are.
func (m *Manifest) total() int64 {
	total := m.Files
	for _, rows := range m.Rows {
		total += rows
	}
	return total
}

// order is that in which the entries of an archive stand.
var order = func() []string {
	names := db.ArchivedTables()
	return slices.Insert(names, slices.Index(names, filesAfter)+1, filesName)
}()

// placeOf is the place of a table, or of files, in the order; -1 for neither.
func placeOf(name string) int { return slices.Index(order, name) }

// kindOf says what the entry of a name holds: the table of table.jsonl or table/part.jsonl, or a file, with its
// document's id.
func kindOf(name string) (kind, documentID string, ok bool) {
	name = path.Clean(name)
	folder, file := path.Split(name)
	folder = strings.TrimSuffix(folder, "/")
	if folder == filesName && model.IsID(file) {
		return filesName, file, true
	}
	file, isLines := strings.CutSuffix(file, ".jsonl")
	if folder == "" {
		folder = file
	}
	return folder, "", isLines && folder != filesName && placeOf(folder) >= 0
}

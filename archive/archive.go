// Package archive exports a company to a file and imports it. The file is a gzipped tar with JSON lines for the rows of
// each table, and with the documents' files. Export and Import use little memory for a company of any size. FromV1
// creates an archive from a v1 server. Start reading at Export and Import.
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

// Format and Version identify the file format. The version increases when older readers would misread an archive.
const (
	Format  = "agentgraph-company"
	Version = 1
)

const (
	manifestName = "manifest.json"
	// filesName is the folder of the documents' files, which follow the rows of the table filesAfter.
	filesName  = "files"
	filesAfter = "documents"
)

// Bounds of an archive that is read, in bytes.
const (
	maxManifest = 1 << 20
	maxLine     = 32 << 20
	// maxRatio bounds the ratio of decompressed to compressed size. It applies after the first freeBytes decompressed
	// bytes.
	maxRatio  = 250
	freeBytes = 64 << 20
)

// Manifest is the first entry of an archive.
type Manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// ID identifies the archive, so that it is imported only once.
	ID      string  `json:"id"`
	Program string  `json:"program,omitempty"`
	Company Company `json:"company"`
	// ExportedAt is the time of the exported snapshot.
	ExportedAt time.Time `json:"exportedAt"`
	// Rows is the number of rows of each table, and Files the number of files. If Rows is given, Import compares both with
	// what it reads.
	Rows  map[string]int64 `json:"rows,omitempty"`
	Files int64            `json:"files,omitempty"`
	// LeftOut are the tools and MCP servers whose headers are not in the archive.
	LeftOut []db.ToolHeaders `json:"leftOut,omitempty"`
	// PausedSchedules is the number of enabled schedules, which the import disables.
	PausedSchedules int `json:"-"`
	// PausedCampaigns is the number of running campaigns, which the import pauses.
	PausedCampaigns int `json:"-"`
}

// Company is the archived company.
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
		return fmt.Errorf("%s: version must be at most %[3]d for this program, not %[2]d: run a newer agentgraph",
			manifestName, m.Version, Version)
	case !model.IsID(m.Company.ID):
		return fmt.Errorf("%s: company.id must have 1 to %d letters, digits or . _ ~ : @ -, and must begin with a "+
			"letter or a digit", manifestName, model.MaxIDLength)
	case m.ID != "" && !model.IsID(m.ID):
		return fmt.Errorf("%s: id must be absent, or have the form of company.id", manifestName)
	}
	for table, rows := range m.Rows {
		if orderIndex(table) < 0 || table == filesName || rows < 0 {
			return fmt.Errorf("%s: rows must be an object that has known tables as keys, and their numbers of rows as "+
				"values", manifestName)
		}
	}
	_, err := model.NewCompany(m.Company.Name, m.Company.CreatedAt)
	if err != nil {
		return fmt.Errorf("%s: company.%w", manifestName, err)
	}
	return nil
}

// total returns the number of rows and files in the archive.
func (m *Manifest) total() int64 {
	total := m.Files
	for _, rows := range m.Rows {
		total += rows
	}
	return total
}

// order lists the tables and filesName in the order of an archive's entries.
var order = func() []string {
	names := db.ArchivedTables()
	return slices.Insert(names, slices.Index(names, filesAfter)+1, filesName)
}()

// orderIndex returns the place of a table or of filesName in order, or -1.
func orderIndex(name string) int { return slices.Index(order, name) }

// parseEntryName returns the kind of an entry: the table for table.jsonl or table/part.jsonl, or filesName with the
// document's id.
func parseEntryName(name string) (kind, documentID string, ok bool) {
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
	return folder, "", isLines && folder != filesName && orderIndex(folder) >= 0
}

// Counted returns a number with its noun, given in the plural: "1 agent", "2 usage_entries".
func Counted[N int | int64](n N, nouns string) string {
	switch {
	case n != 1:
	case strings.HasSuffix(nouns, "ies"):
		nouns = strings.TrimSuffix(nouns, "ies") + "y"
	case strings.HasSuffix(nouns, "ches"):
		nouns = strings.TrimSuffix(nouns, "es")
	default:
		nouns = strings.TrimSuffix(nouns, "s")
	}
	return fmt.Sprintf("%d %s", n, nouns)
}

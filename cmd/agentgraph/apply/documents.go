package apply

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

// document is a file that belongs to a dataset.
type document struct {
	name string
	// folder is the directory of the YAML file, and path is relative to it: knowledge/…
	folder, path string
	size         int64
	// digest is the SHA-256 of the content, in hexadecimal.
	digest string
}

// storedDocument is a document that the server has.
type storedDocument struct {
	id, name, digest string
	size             int64
}

// knowledgeFolder is the directory of the documents. It is next to the files that name them.
const knowledgeFolder = "knowledge"

// documentsIn returns the documents that the files list for a dataset.
func documentsIn(t *resource, wrong *faults) []document {
	var all []document
	seen := map[string]bool{}
	for i, entry := range t.raw.list("documents") {
		at := t.at.member("documents").index(i)
		file, isText := entry.(string)
		d := document{name: filepath.Base(filepath.FromSlash(file))}
		if !isText {
			file, d.name = entry.(object).text("file"), entry.(object).text("name")
		}
		// A second document with the same name must have its name next to its file, as pull writes it.
		if seen[d.name] && isText {
			wrong.addFault(at, "is a second document with the name %q", d.name)
		}
		seen[d.name] = true
		if !filepath.IsLocal(filepath.FromSlash(file)) {
			wrong.addFault(at, "must be a path inside the directory %s", knowledgeFolder)
			continue
		}
		d.folder, d.path = filepath.Dir(at.source.name), filepath.Join(knowledgeFolder, filepath.FromSlash(file))
		if err := d.readDigest(); err != nil {
			wrong.addFault(at, "%v", err)
			continue
		}
		if d.size > model.MaxDocumentBytes {
			wrong.addFault(at, "the file %s has %d bytes, but a document has at most %d", filepath.Join(d.folder, d.path),
				d.size, model.MaxDocumentBytes)
		}
		if !isText && slices.ContainsFunc(all, func(o document) bool { return o.name == d.name && o.digest == d.digest }) {
			wrong.addFault(at, "is a second document with the name %q and the same content", d.name)
		}
		all = append(all, d)
	}
	return all
}

// readDigest sets the size and the digest.
func (d *document) readDigest() error {
	file, err := openWithin(d.folder, d.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	digest := sha256.New()
	if d.size, err = io.Copy(digest, file); err != nil {
		return fmt.Errorf("the file %s cannot be read", filepath.Join(d.folder, d.path))
	}
	d.digest = hex.EncodeToString(digest.Sum(nil))
	return nil
}

// content reads the file. It returns an error if the size has changed since the comparison.
func (d document) content() ([]byte, error) {
	file, err := openWithin(d.folder, d.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, d.size+1))
	if err != nil || int64(len(content)) != d.size {
		return nil, fmt.Errorf("the file %s changed while it was read", filepath.Join(d.folder, d.path))
	}
	return content, nil
}

// storedAs returns the index of the first stored document with the same name and content, or -1.
func (d document) storedAs(stored []storedDocument) int {
	return slices.IndexFunc(stored, d.equals)
}

func (d document) equals(s storedDocument) bool { return s.name == d.name && s.digest == d.digest }

// compareDocuments sets the documents to add and to delete. It deletes a stored document if a file has its name but
// other content. With prune, it also deletes stored documents that are missing from the list in the files.
func (ch *change) compareDocuments(prune bool) {
	t := ch.resource
	named := map[string]bool{}
	for _, d := range t.documents {
		named[d.name] = true
		if d.storedAs(t.stored) < 0 {
			ch.addedDocuments = append(ch.addedDocuments, d)
		}
	}
	_, isTold := t.raw.get("documents")
	for _, s := range t.stored {
		isKept := slices.ContainsFunc(t.documents, func(d document) bool { return d.equals(s) })
		if !isKept && (named[s.name] || prune && isTold) {
			ch.deletedDocuments = append(ch.deletedDocuments, s)
		}
	}
}

// safeName returns a file name of at most 200 bytes that stays in its folder, without characters that a file system may
// refuse or a terminal would interpret.
func safeName(name string) string {
	safe := strings.Map(func(r rune) rune {
		if model.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	if strings.Trim(safe, ". ") == "" || len(safe) > 200 {
		return "document"
	}
	return safe
}

const questionsQuery = `query ($id: ID!) { dataset(id: $id) { labelledQuestions { question documentId passage } } }`

// questionsPerRequest bounds the questions of one request, so that the longest ones fit in its body.
const questionsPerRequest = 50

// moveQuestions moves the labeled questions of documents that will be deleted to the documents that replace them. kept
// has the ids of the remaining documents by name.
func (ch *change) moveQuestions(ctx context.Context, w *writer, kept map[string]string) error {
	newIDs := map[string]string{}
	for _, s := range ch.deletedDocuments {
		if id := kept[s.name]; id != "" {
			newIDs[s.id] = id
		}
	}
	if len(newIDs) == 0 {
		return nil
	}
	var answer struct {
		Dataset struct {
			LabelledQuestions []struct {
				Question, DocumentID string
				Passage              *string
			}
		}
	}
	if err := w.api.Query(ctx, questionsQuery, client.Variables{"id": ch.resource.id}, &answer); err != nil {
		return err
	}
	var moved list
	for _, q := range answer.Dataset.LabelledQuestions {
		isBlank := strings.TrimSpace(q.Question) == "" || q.Passage != nil && strings.TrimSpace(*q.Passage) == ""
		if id := newIDs[q.DocumentID]; id != "" && !isBlank { // earlier versions stored blank texts
			moved = append(moved, object{{"question", q.Question}, {"documentId", id}, {"passage", q.Passage}})
		}
	}
	for some := range slices.Chunk(moved, questionsPerRequest) {
		input := object{{"datasetId", ch.resource.id}, {"questions", some}}
		if _, err := w.mutate(ctx, "addLabelledQuestions", "labelledQuestions { id }", input, nil); err != nil {
			return err
		}
	}
	return nil
}

const (
	// rowColumn is the column with the names of rows.
	rowColumn = "row"
	// maxTable bounds a table, in bytes. The total size of a test's values is smaller.
	maxTable = 4 << 20
)

// withRows reads the rows of a test from a file, if the test names one.
func (c *company) withRows(w declaration) declaration {
	value, _ := w.raw.get("rows")
	name, isFile := value.(string)
	if !isFile {
		return w
	}
	rows, err := readRows(filepath.Dir(w.at.source.name), name)
	if err != nil {
		c.faults.addFault(w.at.member("rows"), "%v", err)
	}
	w.raw = w.raw.with("rows", rows)
	return w
}

// readRows reads the rows of a file in the directory: CSV, or JSON lines.
func readRows(directory, name string) (list, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, errors.New("must be a path inside the directory of this file")
	}
	file, err := openWithin(directory, filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := cli.ReadText(file, maxTable)
	var rows list
	switch ending := strings.ToLower(filepath.Ext(name)); {
	case err != nil:
	case ending == ".csv":
		rows, err = rowsOfCSV(text)
	case ending == ".jsonl" || ending == ".ndjson":
		rows, err = rowsOfLines(text)
	default:
		err = errors.New("its name must end with .csv, .jsonl or .ndjson")
	}
	if err == nil && len(rows) > model.MaxRows {
		err = fmt.Errorf("it has %d rows, but a test has at most %d", len(rows), model.MaxRows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rows, nil
}

// rowsOfCSV reads a table whose first line has the column names.
func rowsOfCSV(text []byte) (list, error) {
	table, err := cli.NewCSV(text).ReadAll()
	if err != nil {
		return nil, err
	}
	const noRows = "must have the names of the columns on its first line, and then rows"
	if len(table) < 2 {
		return nil, errors.New(noRows)
	}
	known := map[string]bool{}
	for i, name := range table[0] {
		name = strings.TrimSpace(name)
		if known[name] {
			return nil, fmt.Errorf("has two columns %q: rename or delete one of them", name)
		}
		table[0][i], known[name] = name, true
	}
	rows := list{}
	for _, cells := range table[1:] {
		if strings.TrimSpace(strings.Join(cells, "")) == "" {
			continue // spreadsheets write blank lines
		}
		row := object{}
		for i, cell := range cells {
			row = append(row, member{table[0][i], cell})
		}
		rows = append(rows, rowOf(row))
	}
	if len(rows) == 0 {
		return nil, errors.New(noRows)
	}
	return rows, nil
}

// rowsOfLines reads an object from each line.
func rowsOfLines(text []byte) (list, error) {
	rows := list{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxTable)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		value, err := decodeExactly(lines.Bytes())
		if changed, isChanged := errors.AsType[cli.LostDigits](err); isChanged {
			return nil, fmt.Errorf("line %d: %w", n, changed)
		}
		row, isObject := value.(object)
		if err != nil || !isObject {
			return nil, fmt.Errorf("line %d must be a JSON object", n)
		}
		rows = append(rows, rowOf(row))
	}
	return rows, lines.Err()
}

// rowOf returns a test row with the values of a table's columns. The column rowColumn is the row's name.
func rowOf(columns object) object {
	row := object{}
	if name := columns.text(rowColumn); name != "" {
		row = append(row, member{"name", name})
	}
	return append(row, member{"values", columns.without(rowColumn)})
}

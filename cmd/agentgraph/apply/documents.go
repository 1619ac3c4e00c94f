package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

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

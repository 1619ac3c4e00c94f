package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
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
		if seen[d.name] {
			wrong.addFault(at, "is a second document with the name %q", d.name)
		}
		seen[d.name] = true
		if !filepath.IsLocal(filepath.FromSlash(file)) {
			wrong.addFault(at, "must be a path within the folder %s", knowledgeFolder)
			continue
		}
		d.folder, d.path = filepath.Dir(at.source.name), filepath.Join(knowledgeFolder, filepath.FromSlash(file))
		if err := d.readDigest(); err != nil {
			wrong.addFault(at, "%v", err)
			continue
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

// storedAs returns the documents of the server with the same name: the first with the same content, and all others.
func (t *resource) storedAs(d document) (same *storedDocument, others []storedDocument) {
	for _, s := range t.stored {
		if s.name != d.name {
			continue
		}
		if same == nil && s.digest == d.digest {
			same = &s
			continue
		}
		others = append(others, s)
	}
	return same, others
}

// safeName returns a file name of at most 200 bytes that stays in its folder, without characters that a file system may
// refuse.
func safeName(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	if strings.Trim(safe, ". ") == "" || len(safe) > 200 {
		return "document"
	}
	return safe
}

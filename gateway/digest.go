package gateway

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"mime"
	"net/http"
)

type digest struct {
	io.ReadCloser
	hash hash.Hash
	to   io.Writer
	// mediaType is the body's media type without parameters.
	mediaType string
}

// digestOf wraps the body of a request so that reading it hashes it.
func digestOf(r *http.Request) *digest {
	d := &digest{ReadCloser: r.Body, hash: sha256.New()}
	d.to = d.hash
	given := r.Header.Get("Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(given)
	if err != nil {
		d.mediaType = given
		return d
	}
	d.mediaType = mediaType
	if boundary := parameters["boundary"]; boundary != "" {
		d.to = &formDigest{hash: d.hash, delimiter: []byte("--" + boundary)}
	}
	return d
}

func (d *digest) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	_, _ = d.to.Write(p[:n])
	return n, err
}

// formDigest hashes a form without its boundary and without everything after its end. Clients generate a new boundary
// for each attempt.
type formDigest struct {
	hash      hash.Hash
	delimiter []byte
	// line is the start of a line that can be a delimiter.
	line []byte
	// isContent is set if the rest of the line is content.
	isContent, ended bool
}

func (d *formDigest) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !d.ended {
		end := bytes.IndexByte(p, '\n') + 1
		if d.isContent {
			if d.isContent = end == 0; d.isContent {
				end = len(p)
			}
			_, _ = d.hash.Write(p[:end])
			p = p[end:]
			continue
		}
		// The last delimiter ends with two more dashes.
		if missing := len(d.delimiter) + 2 - len(d.line); end == 0 || end > missing {
			end = min(missing, len(p))
		}
		d.line, p = append(d.line, p[:end]...), p[end:]
		if broken := d.line[len(d.line)-1] == '\n'; broken || len(d.line) == len(d.delimiter)+2 {
			d.begin()
			d.isContent = !broken
		}
	}
	return n, nil
}

// begin hashes the start of a line, or a marker if the line is a delimiter.
func (d *formDigest) begin() {
	if rest, found := bytes.CutPrefix(d.line, d.delimiter); found {
		d.ended = string(rest) == "--"
		_, _ = d.hash.Write([]byte("--"))
		_, _ = d.hash.Write(rest)
	} else {
		_, _ = d.hash.Write(d.line)
	}
	d.line = d.line[:0]
}

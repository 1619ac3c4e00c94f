package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// The content of a document is stored in parts in document_contents, or in one object of a Bucket. A document's
// object_id says which, so both can be in use at the same time.

// partSize bounds how much of a document is in memory while it is stored, in bytes.
const partSize = 1 << 20

// saveContent stores the file of a document in Postgres, and sets the document's digest.
func (t tenantTx) saveContent(ctx context.Context, document *model.Document, content io.Reader) error {
	digest := sha256.New()
	if err := t.saveParts(ctx, document.ID, io.TeeReader(content, digest)); err != nil {
		return err
	}
	document.Digest = new(hex.EncodeToString(digest.Sum(nil)))
	return exec(ctx, t.db.Update(document).Column("digest").WherePK())
}

func (t tenantTx) saveParts(ctx context.Context, documentID string, content io.Reader) error {
	part := make([]byte, partSize)
	for i := 0; ; i++ {
		n, err := io.ReadFull(content, part)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return fmt.Errorf("read an uploaded file: %w", err)
		}
		if n == 0 {
			return nil
		}
		// pgx sends binary values; bun would write them as text.
		if err := t.db.PGX(ctx, func(tx *pg.OpenTx) error {
			_, err := tx.Exec(ctx, "INSERT INTO document_contents (company_id, document_id, part, content) VALUES ($1, $2, "+
				"$3, $4)",
				t.CompanyID(), documentID, i, part[:n])
			return err
		}); err != nil {
			return err
		}
		if ended {
			return nil
		}
	}
}

// documentContent is a part of a document's uploaded file.
type documentContent struct {
	bun.BaseModel `bun:"table:document_contents,alias:document_content"`
	model.Owned

	DocumentID string `bun:",pk"`
	Part       int32  `bun:",pk"`
	Content    []byte
}

// saveOrKeep stores the content of an added document in Postgres, unless it is in the bucket already.
func (t tenantTx) saveOrKeep(ctx context.Context, added *model.Document, content io.Reader) error {
	if added.ObjectID != nil {
		return t.keepObject(ctx, *added.ObjectID)
	}
	return t.saveContent(ctx, added, content)
}

// ContentOfDocument returns the uploaded file of a document. It is empty if the document was deleted.
func (t *Tenant) ContentOfDocument(ctx context.Context, id string) ([]byte, error) {
	return t.content(ctx, id, 0, math.MaxInt32)
}

// PartOfDocument returns at most length bytes of a document's uploaded file, from the offset. It returns fewer at the
// end of the file, and none after it. The length must be 1 byte to 1 MiB.
func (t *Tenant) PartOfDocument(ctx context.Context, id string, offset, length int32) ([]byte, error) {
	var faults model.Fields
	if offset < 0 {
		faults.Add("offset", "must not be negative")
	}
	if length < 1 || length > partSize {
		faults.Add("length", "must be 1 to %d", partSize)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return t.content(ctx, id, int64(offset), int64(length))
}

// content returns at most length bytes of a document's content, from the offset.
func (t *Tenant) content(ctx context.Context, id string, offset, length int64) ([]byte, error) {
	for isRetry := false; ; isRetry = true {
		// One statement, because the content may be moved at the same time.
		parts := []struct {
			Size             int32
			Digest, ObjectID *string
			Content          []byte
		}{}
		err := t.db.Select((*model.Document)(nil)).ColumnExpr("?TableAlias.size, ?TableAlias.digest, ?TableAlias.object_id").
			ColumnExpr("substring(part.content FROM greatest(0, ?0 - part.part * ?1::bigint)::int + 1 FOR ?2) AS content",
				offset, partSize, min(length, partSize)).
			Join("LEFT JOIN document_contents AS part ON part.company_id = ?TableAlias.company_id AND part.document_id = "+
				"?TableAlias.id AND part.part BETWEEN ? AND ?", offset/partSize, (offset+length-1)/partSize).
			Where("?TableAlias.id = ?", id).OrderExpr("part.part").Scan(ctx, &parts)
		if err != nil || len(parts) == 0 {
			return nil, err
		}
		if stored := parts[0]; stored.ObjectID != nil {
			content, err := t.readObject(ctx, &model.Document{Size: stored.Size, Digest: stored.Digest,
				ObjectID: stored.ObjectID}, offset, length)
			if errors.Is(err, fs.ErrNotExist) && !isRetry {
				continue // the document was moved or deleted after the statement
			}
			return content, err
		}
		content := parts[0].Content
		for _, part := range parts[1:] {
			content = append(content, part.Content...)
		}
		return content[:min(length, int64(len(content)))], nil
	}
}

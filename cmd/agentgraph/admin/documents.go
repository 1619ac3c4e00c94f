package admin

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/bucket"
	"github.com/agentgraph/agentgraph/model"
)

// BucketFlag names the bucket with document contents.
type BucketFlag struct {
	DocumentBucket string
}

// Declare returns the flag.
func (f *BucketFlag) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.DocumentBucket, Name: "document-bucket", Env: "AGENTGRAPH_DOCUMENT_BUCKET", Placeholder: "URL",
			Help: "S3-compatible bucket for document contents: " +
				"s3://bucket/prefix?endpoint=URL&region=NAME. Without it, they are in Postgres. The credentials " +
				"come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from AWS_SHARED_CREDENTIALS_FILE.",
			Docs: "See [documents in a bucket](../guides/production.md#documents-in-a-bucket)."},
	}
}

// Bucket returns the bucket, or nil without one. It makes no request.
func (f BucketFlag) Bucket() (*bucket.Bucket, error) {
	if f.DocumentBucket == "" {
		return nil, nil
	}
	b, err := bucket.Parse(f.DocumentBucket)
	if err != nil {
		return nil, fmt.Errorf("--document-bucket %w", err)
	}
	return b, nil
}

// Use sets o.Bucket if the flag names a bucket.
func (f BucketFlag) Use(o *db.Options) error {
	b, err := f.Bucket()
	if b != nil { // a nil pointer in the interface would not equal nil
		o.Bucket = b
	}
	return err
}

type documentsMove struct {
	DatabaseFlag
	BucketFlag
	cli.OutputFlag
	To string
}

func newDocumentsMove() *cobra.Command {
	c := &documentsMove{}
	return cli.New(c, &cobra.Command{
		Use: "move", Short: "Move the contents of all companies' documents into the bucket, or back to Postgres, while " +
			"servers run.",
		Long: "To continue an interrupted move, run the command again. The servers' workers delete " +
			"the objects that were moved back to Postgres.",
		Example: `agentgraph documents move --document-bucket "s3://documents?endpoint=https://minio.example.com"
agentgraph documents move --document-bucket "s3://documents?endpoint=https://minio.example.com" --to postgres`,
	}, nil, &c.DatabaseFlag, &c.BucketFlag, &c.OutputFlag, cli.Flags{
		{Into: &c.To, Name: "to", Default: "bucket", Enum: []string{"bucket", "postgres"}, Help: "bucket or postgres."},
	})
}

func (c *documentsMove) Validate() error {
	return errors.Join(c.DatabaseFlag.Validate(), cli.Refuse(c.DocumentBucket == "",
		"--document-bucket or AGENTGRAPH_DOCUMENT_BUCKET must name a bucket"))
}

func (c *documentsMove) Run(cmd *cobra.Command) error {
	var moved struct {
		Documents int64 `json:"documents"`
		Bytes     int64 `json:"bytes"`
	}
	err := withBucket(cmd.Context(), c.DatabaseFlag, c.BucketFlag, func(store *db.Store) error {
		companies, err := store.Companies(cmd.Context())
		if err != nil {
			return err
		}
		for _, company := range companies {
			if err := store.Tenant(company.ID).MoveDocuments(cmd.Context(), c.To == "bucket", func(d *model.Document) {
				moved.Documents++
				moved.Bytes += int64(d.Size)
			}); err != nil {
				return fmt.Errorf("%d documents were moved, then: %w", moved.Documents, err)
			}
		}
		return nil
	})
	if err != nil {
		return client.Cancelled(cmd.Context(), err, fmt.Sprintf("%d documents were moved; run the command again to move "+
			"the rest", moved.Documents))
	}
	return c.Print(cmd.OutOrStdout(), moved, [][]string{
		{"moved documents", strconv.FormatInt(moved.Documents, 10)}, {"bytes", strconv.FormatInt(moved.Bytes, 10)},
	})
}

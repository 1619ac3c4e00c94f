package server

import (
	"context"
	"strings"
)

// bucket writes, reads, lists and deletes an object in the bucket with the documents, if there is one.
func (c *Doctor) bucket(ctx context.Context) []finding {
	const name = "document bucket"
	if c.DocumentBucket == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	b, err := c.Bucket()
	if err == nil {
		err = b.Check(ctx)
	}
	if err != nil {
		return []finding{problem(name, strings.ReplaceAll(err.Error(), "\n", ": "), "check AGENTGRAPH_DOCUMENT_BUCKET, AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY, and the rights to write, read, list and delete objects")}
	}
	return []finding{ok(name, "can be written, read, listed and deleted from")}
}

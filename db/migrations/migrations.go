// Package migrations has the SQL files that create the schema.
package migrations

import "embed"

// Files are the migrations, by file name.
//
//go:embed *.sql
var Files embed.FS

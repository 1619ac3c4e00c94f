// Package migrations holds the SQL files that make the schema.
package migrations

import "embed"

// Files are the migrations, by their names.
//
//go:embed *.sql
var Files embed.FS

package pg

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5/pgconn"
)

// readStatements is the maximum number of prepared statements on a connection for reads. The least recently used one is
// deallocated first. Each takes tens of kB in Postgres.
const readStatements = 256

// Statement is a read of one company's rows. Postgres plans its text once on each connection. The text has placeholders
// instead of values: $1 is the company's id.
type Statement struct{ text, name string }

// NewStatement returns a statement with the text. Its name is a hash of the text.
func NewStatement(text string) Statement {
	hash := sha256.Sum256([]byte(text))
	return Statement{text, "read_" + hex.EncodeToString(hash[:12])}
}

// statements are the prepared statements of a connection, by name. The description is nil until Postgres has sent it.
type statements = simplelru.LRU[string, *pgconn.StatementDescription]

const statementsKey = "reads"

// isUsed reports whether the connection has run a Statement before.
func isUsed(conn *pgconn.PgConn) bool {
	_, ok := conn.CustomData()[statementsKey]
	return ok
}

func statementsOf(conn *pgconn.PgConn) *statements {
	if known, ok := conn.CustomData()[statementsKey]; ok {
		return known.(*statements)
	}
	// The only error is a size below one.
	known, _ := simplelru.NewLRU[string, *pgconn.StatementDescription](readStatements, nil)
	conn.CustomData()[statementsKey] = known
	return known
}

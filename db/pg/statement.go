package pg

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5/pgconn"
)

// readStatements is how many prepared statements a connection for reads keeps, the most recently used ones. Each takes
// Postgres some tens of kB.
const readStatements = 256

// Statement is a read of one company's rows. Its text is written once, and Postgres plans it once on each connection:
// the values have places in it, the first of which is the company's.
type Statement struct{ text, name string }

// NewStatement returns the statement with the text.
func NewStatement(text string) Statement {
	hash := sha256.Sum256([]byte(text))
	return Statement{text, "read_" + hex.EncodeToString(hash[:12])}
}

// statements are the prepared statements of a connection by name. The description is nil until Postgres has sent it.
type statements = simplelru.LRU[string, *pgconn.StatementDescription]

const statementsKey = "reads"

// isUsed reports whether the connection has read anything before.
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

package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// RightError is returned when the role of the address lacks a right or a connection, or cannot use its search path.
type RightError struct {
	// Found names the role and the cause. Advice is the next step.
	Found, Advice string
}

func (e *RightError) Error() string { return e.Found + "; " + e.Advice }

// explainRights returns a RightError if Postgres refused a statement or a connection of the role, or has no connection
// left, and otherwise the same error.
func explainRights(role string, err error) error {
	refused, _ := errors.AsType[*pgconn.PgError](err)
	switch {
	case refused != nil && refused.Code == "53300":
		return &RightError{Found: "the database accepts no more connections: " + refused.Message,
			Advice: "raise max_connections of Postgres or the role's limit, lower AGENTGRAPH_MAX_CONNECTIONS, or use a pooler"}
	case refused == nil || refused.Code != "42501":
		return err
	}
	object, _ := strings.CutPrefix(refused.Message, "permission denied for ")
	kind, name, _ := strings.Cut(object, " ")
	grant := func(rights string) string {
		return fmt.Sprintf("GRANT %s ON %s %s TO %s", rights, strings.ToUpper(kind), pgx.Identifier{strings.Trim(name, `"`)}.
			Sanitize(), pgx.Identifier{role}.Sanitize())
	}
	lacking := &RightError{Found: fmt.Sprintf("the role %q lacks a right: %s", role, refused.Message)}
	switch {
	case kind == "database" && strings.Contains(refused.Detail, "CONNECT"):
		lacking.Advice = grant("CONNECT")
	case kind == "database":
		lacking.Advice = grant("CREATE")
	case kind == "schema" && name != "migration" && name != "company":
		lacking.Advice = grant("USAGE, CREATE")
	default:
		lacking.Advice = "name the role that migrated the database in DATABASE_URL, because it owns the tables"
	}
	return lacking
}

// explain returns why a migration failed, with the migration's name.
func (m *Migrator) explain(err error) error {
	if failed, isMigration := errors.AsType[*goose.PartialError](err); isMigration {
		return fmt.Errorf("%s: %w", failed.Failed.Source.Path, m.explain(failed.Err))
	}
	return explainRights(m.pool.Config().ConnConfig.User, err)
}

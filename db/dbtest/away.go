package dbtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// SimulateNodeDown simulates that the machine with a company's rows is down: every statement that reads one of the
// company's rows in the table fails with the error of Citus. It skips the test on a real cluster, whose tables cannot
// be replaced by a view.
func SimulateNodeDown(t testing.TB, conn interface {
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
}, table, companyID string) {
	t.Helper()
	SkipIfSharded(t)
	// The high COST makes Postgres call the function last, for rows that satisfy all other conditions.
	for _, statement := range []string{
		fmt.Sprintf(`CREATE FUNCTION is_near(company text) RETURNS bool LANGUAGE plpgsql COST 100000 AS $$ BEGIN
				IF company = '%s' THEN
					RAISE 'connection to the remote node postgres@db-2:5432 failed with the following error: Connection refused'
						USING ERRCODE = 'connection_failure';
				END IF;
				RETURN true;
			END $$`, companyID),
		fmt.Sprintf("ALTER TABLE %[1]s RENAME TO %[1]s_there", table),
		fmt.Sprintf("CREATE VIEW %[1]s AS SELECT * FROM %[1]s_there WHERE is_near(company_id)", table),
		fmt.Sprintf("GRANT ALL ON %s TO PUBLIC", table),
	} {
		_, err := conn.Exec(context.Background(), statement)
		require.NoError(t, err)
	}
}

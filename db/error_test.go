package db_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

// Each text argument of a method contains, in turn, a character that Postgres cannot store.
func TestUnstorableTextIsAUserError(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	own := newFixture(t, store, "OWN")
	before := rowsOf(t, conn)
	methods := reflect.TypeFor[*db.Tenant]()
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		// ReindexForModel takes any text for the name of another model.
		if slices.Contains([]string{"Tx", "WithAPIKey", "CreateSimulationChat", "ReindexForModel", "Read", "Reader"},
			method.Name) {
			continue
		}
		t.Run(method.Name, func(t *testing.T) {
			var valid []any
			for p := firstArgument(method); p < method.Type.NumIn(); p++ {
				if method.Type.IsVariadic() && p == method.Type.NumIn()-1 {
					break
				}
				if values, known := arguments(method.Type.In(p), own, own); known {
					valid = append(valid, values[0])
				}
			}
			for p, arg := range valid {
				for _, bad := range []string{"a\x00b", "\x00", "a\xffb"} {
					for _, broken := range spoil(arg, bad) {
						args := []reflect.Value{reflect.ValueOf(own.tenant), reflect.ValueOf(t.Context())}[:firstArgument(method)]
						for q, other := range valid {
							if p == q {
								other = broken
							}
							args = append(args, reflect.ValueOf(other))
						}
						requireHonest(t, method.Func.Call(args), broken)
					}
				}
			}
			require.Equal(t, before, rowsOf(t, conn))
		})
	}
	_, err := own.tenant.Agents(t.Context(), model.PageArgs{First: 1}, &model.AgentFilter{Tags: []string{"a\x00b"}})
	faults(t, err, model.BadInput, "filter.tags.0", "U+0000")
	_, err = own.tenant.Agents(t.Context(), model.PageArgs{First: 1}, &model.AgentFilter{NameContains: new("a\x00b")})
	faults(t, err, model.BadInput, "filter.nameContains", "U+0000")
	_, err = store.CreateCompany(t.Context(), "a\x00b")
	faults(t, err, model.BadInput, "name", "U+0000")
}

// spoil returns a copy of the argument for each text in it, with that text replaced.
func spoil(arg any, bad string) []any {
	switch arg.(type) {
	case string:
		return []any{bad}
	case *string:
		return []any{&bad}
	case []string:
		return []any{[]string{bad}}
	}
	var all []any
	value := reflect.ValueOf(arg)
	if name := value.Type().Name(); value.Kind() != reflect.Struct || !strings.HasSuffix(name, "Input") &&
		!strings.HasSuffix(name, "Filter") {
		return nil
	}
	for i := range value.NumField() {
		broken := reflect.New(value.Type()).Elem()
		broken.Set(value)
		switch field := broken.Field(i); {
		case field.Kind() == reflect.String:
			field.SetString(bad)
		case field.Type() == reflect.TypeFor[*string]():
			field.Set(reflect.ValueOf(&bad))
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf([]string{bad}))
		default:
			continue
		}
		all = append(all, broken.Interface())
	}
	return all
}

func requireHonest(t *testing.T, results []reflect.Value, broken any) {
	t.Helper()
	if len(results) == 0 || results[len(results)-1].Type() != errorType || results[len(results)-1].IsNil() {
		return
	}
	err := results[len(results)-1].Interface().(error)
	var known *model.Error
	require.ErrorAs(t, err, &known, "%#v", broken)
	require.Contains(t, []model.Code{model.BadInput, model.NotFound}, known.Code, "%v", err)
}

func TestConstraintViolationsAreUserErrors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant := freshTenant(t)
	newTool(t, tenant, "search")
	_, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: "Other", TechnicalName: "search"})
	faults(t, err, model.Unprocessable, "technicalName", "another tool")

	_, err = tenant.WithAPIKey("key_unknown").CreateAgent(ctx, agentInput())
	fails(t, err, model.Conflict)
	page, err := tenant.Agents(ctx, model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	require.Empty(t, page.Nodes, "the agent was rolled back with its version")
}

func TestUnknownCompanyIsReported(t *testing.T) {
	t.Parallel()
	stranger := dbtest.New(t).Tenant("company_unknown")
	_, err := stranger.Company(t.Context())
	fails(t, err, model.NotFound)
	_, err = stranger.CreateAgent(t.Context(), agentInput())
	fails(t, err, model.Conflict)
}

func TestCancelledContextIsReported(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tenant.Agent(ctx, "any")
	require.ErrorIs(t, err, context.Canceled)
	_, err = tenant.CreateAgent(ctx, agentInput())
	require.ErrorIs(t, err, context.Canceled)
	ctx, cancel = context.WithCancel(t.Context())
	err = tenant.Tx(ctx, func(ctx context.Context, tenant *db.Tenant) error {
		_, err := tenant.CreateAgent(ctx, agentInput())
		cancel()
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	page, err := tenant.Agents(t.Context(), model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	require.Empty(t, page.Nodes)
}

func TestUnreachableDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	at, err := url.Parse(address)
	require.NoError(t, err)
	database := strings.TrimPrefix(at.Path, "/")
	name := pgx.Identifier{database}.Sanitize()
	store, conn := dbtest.Open(t, address, db.Options{MaxConnections: 2}), connect(t, dbtest.EmptyURL(t))
	tenant, _ := newCompany(t, store)
	require.NoError(t, store.Ping(ctx))
	cut := func(ctx context.Context) {
		_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "+
			"'agentgraph' AND datname = $1", database)
		require.NoError(t, err)
	}
	err = tenant.Tx(ctx, func(ctx context.Context, tenant *db.Tenant) error {
		newAgent(t, tenant)
		cut(ctx)
		_, err := tenant.CreateAgent(ctx, agentInput())
		return err
	})
	require.Error(t, err)
	fails(t, err, model.Unavailable)

	// The next statement opens a new connection.
	require.Eventually(t, func() bool { return store.Ping(ctx) == nil }, waitFor, tick)
	_, err = conn.Exec(ctx, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	require.NoError(t, err)
	cut(ctx)
	require.Eventually(t, func() bool {
		_, err := tenant.Agent(ctx, "any")
		var known *model.Error
		return errors.As(err, &known) && known.Code == model.Unavailable
	}, waitFor, tick)
	fails(t, store.Ping(ctx), model.Unavailable)
	_, err = conn.Exec(ctx, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return store.Ping(ctx) == nil }, waitFor, tick)
}

func TestReadOnlyDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	tenant, _ := newCompany(t, store)
	require.NoError(t, store.Ping(ctx))
	name := pgx.Identifier{connect(t, address).Config().Database}.Sanitize()
	_, err := connect(t, address).Exec(ctx, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	require.NoError(t, err)
	again := dbtest.Open(t, address, db.Options{}) // the setting applies to new connections only
	fails(t, again.Ping(ctx), model.Unavailable)
	again = dbtest.Reopen(t, again)
	_, err = again.Tenant(tenant.CompanyID()).CreateAgent(ctx, agentInput())
	fails(t, err, model.Unavailable)
	_, err = again.Tenant(tenant.CompanyID()).Agents(ctx, model.PageArgs{First: 1}, nil)
	require.NoError(t, err, "reads go on")
}

// An operator may limit waits for the role or the database.
func TestTimeoutsOfPostgresAreUnavailable(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	conn := connect(t, address)
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	for _, setting := range []string{"lock_timeout = '50ms'", "idle_in_transaction_session_timeout = '50ms'"} {
		_, err := conn.Exec(ctx, "ALTER DATABASE "+name+" SET "+setting)
		require.NoError(t, err)
	}
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))

	held, err := conn.Begin(ctx)
	require.NoError(t, err)
	_, err = held.Exec(ctx, "LOCK TABLE agents")
	require.NoError(t, err)
	_, err = tenant.Agents(ctx, model.PageArgs{First: 1}, nil)
	fails(t, err, model.Unavailable)
	_, err = tenant.CreateAgent(ctx, agentInput())
	fails(t, err, model.Unavailable)
	require.NoError(t, held.Rollback(ctx))

	err = tenant.Tx(ctx, func(ctx context.Context, tenant *db.Tenant) error {
		newAgent(t, tenant)
		require.Eventually(t, func() bool {
			var idle int
			require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' "+
				"AND datname = current_database()").Scan(&idle))
			return idle == 0
		}, waitFor, tick)
		_, err := tenant.CreateAgent(ctx, agentInput())
		return err
	})
	fails(t, err, model.Unavailable)
}

func schemaError(ctx context.Context, address string) error {
	_, err := schema.NewMigrator(ctx, address)
	return err
}

func inspectError(ctx context.Context, address string) error {
	_, err := schema.Inspect(ctx, address)
	return err
}

func TestOpenReportsErrors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, err := db.Open(ctx, "postgres://user:hunter2@%zz", db.Options{})
	const invalid = "open database: the address is not a valid Postgres URL: "
	require.EqualError(t, err, invalid+"write special characters of the password as %40 for @ and %2F for /, as in "+
		"postgres://user:p%40ssword@host:5432/database")
	for address, says := range map[string]string{
		"postgres://user:hunter2@127.0.0.1/x?sslmode=some":             "sslmode is invalid",
		"postgres://user:hunter2@127.0.0.1/x?sslrootcert=/none/ca.pem": "/none/ca.pem: no such file or directory",
		"postgres://user:p@hunter2/w:rd@127.0.0.1/x":                   "write special characters",
		"postgres://user:hunter2/w:rd@127.0.0.1/x":                     "write special characters",
	} {
		_, err = db.Open(ctx, address, db.Options{})
		require.ErrorContains(t, err, invalid)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "hunter2")
		_, err = db.Open(ctx, dbtest.URL(t), db.Options{SessionAddress: address})
		require.ErrorContains(t, err, "open database: the address for sessions: the address is not a valid Postgres URL: ")
		for _, err := range []error{schemaError(ctx, address), inspectError(ctx, address)} {
			require.ErrorContains(t, err, says)
			require.NotContains(t, err.Error(), "hunter2")
		}
	}
	_, err = db.Open(ctx, "postgres://user:hunter2@127.0.0.1:1/none", db.Options{})
	require.ErrorContains(t, err, "open database: ")
	require.NotContains(t, err.Error(), "hunter2")
	_, err = db.Open(ctx, dbtest.URL(t), db.Options{SecretKey: make([]byte, 31)})
	require.EqualError(t, err, "open database: the secret key must have 32 bytes, not 31")
}

// A transaction fails if its connection breaks, even if its function returns no error.
func TestTransactionOnClosedConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	own := newFixture(t, store, "OWN")
	err := own.tenant.Tx(t.Context(), func(ctx context.Context, tenant *db.Tenant) error {
		_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "+
			"current_database() AND pid <> pg_backend_pid()")
		require.NoError(t, err)
		_, err = tenant.Agents(ctx, model.PageArgs{First: 1}, nil)
		require.Error(t, err)
		return nil
	})
	_ = fails(t, err, model.Unavailable)
}

// The second error on a broken connection comes from database/sql, not from Postgres.
func TestStatementOnClosedConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	_, companyID := newCompany(t, store)
	_, otherID := newCompany(t, store)
	err := store.Tx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "+
			"current_database() AND pid <> pg_backend_pid()")
		require.NoError(t, err)
		_, err = db.Raw(tx.Tenant(companyID)).ExecContext(ctx, "SELECT 1")
		require.Error(t, err)
		_, err = db.Raw(tx.Tenant(otherID)).ExecContext(ctx, "SELECT 1") // it cannot be bound to the other company
		require.ErrorIs(t, err, driver.ErrBadConn)
		_ = fails(t, err, model.Unavailable)
		return err
	})
	require.Error(t, err)
}

// Postgres refuses to write for lack of disk space in the first two rounds, and of memory in the third.
func TestShortagesOfPostgresAreLoggedOncePerMinute(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn := connect(t, address)
	log, lines := newLog()
	store := dbtest.Open(t, address, db.Options{Log: log})
	for _, code := range []string{"53100", "53100", "53200"} {
		_, err := conn.Exec(t.Context(), `CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				RAISE 'could not extend file' USING ERRCODE = '`+code+`', HINT = 'Check free disk space.';
			END $$;
			CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON companies FOR EACH ROW EXECUTE FUNCTION fail()`)
		require.NoError(t, err)
		_, err = store.CreateCompany(t.Context(), "Acme")
		var known *model.Error
		require.ErrorAs(t, err, &known)
		require.Equal(t, model.Errorf(model.Unavailable, "the database is not available; try again"), known)
	}
	for _, code := range []string{"53100", "53200"} {
		var line map[string]string
		require.NoError(t, json.Unmarshal([]byte(lines.next(t)), &line))
		delete(line, "time")
		require.Equal(t, map[string]string{"level": "ERROR", "msg": "Postgres lacks a resource", "sqlstate": code,
			"error": "could not extend file", "hint": "Check free disk space."}, line)
	}
	require.Empty(t, lines.rest(store))
}

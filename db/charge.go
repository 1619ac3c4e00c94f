package db

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/model"
)

// Memory that a row and each of its values take beside their bytes.
const (
	bytesPerRow   = 64
	bytesPerValue = 24
)

// openCharged returns a database that charges each row, as it is read, to the model.Budget of the statement's context. An
// exhausted budget ends the reading with an error that is model.ErrTooLarge, so a client's reads are bounded by memory
// and not by the number of rows that a statement finds. The pool's connections are shared fairly between companies.
func openCharged(pool *pgxpool.Pool, gate *fair.Gate) *sql.DB {
	charged := sql.OpenDB(chargedConnector{stdlib.GetPoolConnector(pool), gate})
	charged.SetMaxIdleConns(0) // the pool keeps them
	return charged
}

// gateOf shares the connections of a pool: one company has at most three quarters of them.
func gateOf(pool *pgxpool.Pool) *fair.Gate {
	connections := int(pool.Config().MaxConns)
	return fair.New(connections, connections*3/4)
}

type chargedConnector struct {
	driver.Connector
	gate *fair.Gate
}

func (c chargedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	party := partyOf(ctx)
	if err := c.gate.Enter(ctx, party); err != nil {
		return nil, err
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		c.gate.Leave(party)
		return nil, err
	}
	return &chargedConn{conn.(*stdlib.Conn), c.gate, party}, nil
}

type partyKey struct{}

// withParty returns a context whose statements use connections of the company, or of the program itself if companyID is
// empty, whatever the principal.
func withParty(ctx context.Context, companyID string) context.Context {
	return context.WithValue(ctx, partyKey{}, companyID)
}

// partyOf returns the party whose connections the statements of a context use.
func partyOf(ctx context.Context) string {
	if party, isSet := ctx.Value(partyKey{}).(string); isSet {
		return party
	}
	principal, _ := model.PrincipalOf(ctx)
	return principal.CompanyID
}

// chargedConn is a connection in use by one party: a company or, with an empty name, the program itself.
type chargedConn struct {
	*stdlib.Conn
	gate  *fair.Gate
	party string
}

// Close returns the connection to the pool.
func (c *chargedConn) Close() error {
	defer c.gate.Leave(c.party)
	return c.Conn.Close()
}

func (c *chargedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	budget := model.BudgetOf(ctx)
	if err != nil || budget == nil {
		return rows, err
	}
	return &chargedRows{rows.(*stdlib.Rows), budget}, nil
}

type chargedRows struct {
	*stdlib.Rows
	budget model.Budget
}

func (r *chargedRows) Next(row []driver.Value) error {
	if err := r.Rows.Next(row); err != nil {
		return err
	}
	bytes := bytesPerRow
	for _, value := range row {
		bytes += bytesPerValue
		switch value := value.(type) {
		case string:
			bytes += len(value)
		case []byte:
			bytes += len(value)
		}
	}
	return r.budget.Spend(bytes)
}

// charge charges a row that was read without database/sql.
func charge(budget model.Budget, row [][]byte) error {
	if budget == nil {
		return nil
	}
	bytes := bytesPerRow
	for _, value := range row {
		bytes += bytesPerValue + len(value)
	}
	return budget.Spend(bytes)
}

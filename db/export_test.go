package db

import "github.com/jackc/pgx/v5"

// Pgx gives tests the transaction that the Tenant is in, as pgx knows one.
func Pgx(t *Tenant, fn func(pgx.Tx) error) error { return t.store.tx.pgx(fn) }

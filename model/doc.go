// Package model holds the types. Each struct is both a row in Postgres and an object in GraphQL, with its bounds. The
// package depends on neither.
package model

//go:generate sh -c "cd .. && go tool gqlgen generate"

// Package model holds the types: each struct is a row of Postgres and an object of GraphQL at once,
// with the bounds that it must keep. It knows neither of them.
package model

//go:generate sh -c "cd .. && go tool gqlgen generate"

// Package model has the types of the domain, with their bounds and state machines. Most structs are both a row in
// Postgres and an object in GraphQL. The package never accesses the database. Start reading at Agent.
package model

//go:generate sh -c "cd .. && go tool gqlgen generate"

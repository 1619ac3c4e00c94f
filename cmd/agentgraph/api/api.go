// Package api has the commands that ask a server by its API: people read their output on a terminal, programs get JSON.
package api

// Package rules decides what needs no language model: whether arguments fit a schema or the conditions of a mock, and whether a
// conversation that is over meets a check or a criterion.
package rules

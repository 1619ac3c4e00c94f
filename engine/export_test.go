package engine

// MaxWaitingCalls is maxWaitingCalls for tests.
const MaxWaitingCalls = maxWaitingCalls

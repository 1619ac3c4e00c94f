package app

import "net/http"

// Handler returns the handler of all requests.
func (a *App) Handler() http.Handler { return a.http.Handler }

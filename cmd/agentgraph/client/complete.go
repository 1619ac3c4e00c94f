package client

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// completeTimeout bounds how long the shell waits for names.
const completeTimeout = time.Second

// CompleteNames returns a function that completes the names of objects on the server. It completes nothing if the
// server does not answer in time.
func (f *Flags) CompleteNames(kind Kind) func(cmd *cobra.Command, prefix string) []string {
	return func(cmd *cobra.Command, prefix string) []string {
		server, err := f.Connect(cmd)
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		found, _ := server.Search(ctx, kind, prefix)
		names := make([]string, len(found))
		for i, n := range found {
			names[i] = Printable(n.Name)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
}

// CompleteContexts completes names of contexts.
func CompleteContexts(*cobra.Command, string) []string {
	contexts, err := ReadContexts()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(contexts.Servers))
}

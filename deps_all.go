//go:build deps

package main

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/coder/websocket"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/graph-gophers/dataloader/v7"
	_ "github.com/openai/openai-go/v3"
	_ "github.com/stretchr/testify/require"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "pgregory.net/rapid"
)

//go:build !linux

package main

import (
	"errors"
	"syscall"
)

// withParent returns nil, because only Linux can end a child with its parent.
func withParent() *syscall.SysProcAttr { return nil }

func mountDisk(string, int) error { return errors.New("a disk to fill can only be mounted on Linux") }

func unmountDisk(string) {}

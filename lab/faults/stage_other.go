//go:build !linux

package main

import (
	"errors"
	"syscall"
)

// withParent leaves children alone: only Linux ends them with their parent.
func withParent() *syscall.SysProcAttr { return nil }

func mountDisk(string, int) error { return errors.New("a disk to fill can only be mounted on Linux") }

func unmountDisk(string) {}

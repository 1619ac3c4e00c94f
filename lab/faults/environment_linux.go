package main

import (
	"fmt"
	"syscall"
)

// withParent makes the kernel kill a child when this program ends.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// mountDisk mounts a disk in memory at the directory. It needs root.
func mountDisk(directory string, bytes int) error {
	if err := syscall.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", bytes)); err != nil {
		return fmt.Errorf("a disk to fill could not be mounted, which takes root: %w", err)
	}
	return nil
}

func unmountDisk(directory string) { _ = syscall.Unmount(directory, syscall.MNT_DETACH) }

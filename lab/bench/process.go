package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of time in /proc/PID/stat, the same on every Linux.
const tick = 10 * time.Millisecond

// process is a process as /proc describes it.
type process struct {
	pid, parent int
	// cpu is the process's own processor time. ended is the processor time of the children that it has waited for.
	cpu, ended time.Duration
}

func readProcess(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	// The name, in parentheses, may contain anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	number := func(i int) int {
		n, _ := strconv.Atoi(string(fields[i])) // the kernel writes numbers
		return n
	}
	return process{
		pid: pid, parent: number(1),
		cpu:   time.Duration(number(11)+number(12)) * tick,
		ended: time.Duration(number(13)+number(14)) * tick,
	}, nil
}

// tree returns the process and all its descendants.
func tree(root int) ([]process, error) {
	first, err := readProcess(root)
	if err != nil {
		return nil, fmt.Errorf("read what process %d uses, which takes Linux: %w", root, err)
	}
	children := map[int][]process{}
	names, _ := filepath.Glob("/proc/[0-9]*") // only fails for a malformed pattern
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil { // an error means that the process has ended
			children[p.parent] = append(children[p.parent], p)
		}
	}
	all := []process{first}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].pid]...)
	}
	return all, nil
}

// cpuOf returns the processor time of the process and its descendants, including those that have ended.
func cpuOf(root int) (time.Duration, error) {
	all, err := tree(root)
	var sum time.Duration
	for _, p := range all {
		sum += p.cpu + p.ended
	}
	return sum, err
}

// peakOf returns the peak resident memory since forgetPeak, in bytes. With descendants, it returns the sum over the
// process and its descendants.
func peakOf(root int, descendants bool) (int64, error) {
	all, err := tree(root)
	if !descendants {
		all = all[:min(len(all), 1)]
	}
	var sum int64
	for _, p := range all {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
		if err != nil {
			continue // it has ended since
		}
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				if err != nil {
					return 0, fmt.Errorf("read the memory of process %d: %w", p.pid, err)
				}
				sum += kilobytes << 10
			}
		}
	}
	return sum, err
}

// forgetPeak makes the kernel restart its record of the peak resident memory.
func forgetPeak(root int) error {
	all, err := tree(root)
	for _, p := range all {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0); err != nil {
			return fmt.Errorf("forget the peak memory of process %d: %w", p.pid, err)
		}
	}
	return err
}

// ownCPU returns the processor time of this program.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

package app

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram releases the memory pages of code and constants. The kernel loads them again on use. It skips mappings
// with private changes, such as breakpoints, which would be lost.
func releaseProgram() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	var from, to uint64
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 2 && strings.Contains(fields[0], "-"):
			from, to = 0, 0
			if first, end, _ := strings.Cut(fields[0], "-"); fields[len(fields)-1] == program && fields[1][0] == 'r' &&
				fields[1][1] == '-' {
				from, _ = strconv.ParseUint(first, 16, 64)
				to, _ = strconv.ParseUint(end, 16, 64)
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && from < to:
			// If the kernel refuses, the pages stay.
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED)
		}
	}
}

package await

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// usage sums the processor time of a process and its descendants from the counters of Linux's scheduler. Threads and
// children that have exited keep the last value that was read.
type usage struct {
	pid int

	mu           sync.Mutex
	workByThread map[string]time.Duration // by thread
}

// total reads all counters again and returns their sum.
func (u *usage) total() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.workByThread == nil {
		u.workByThread = map[string]time.Duration{}
	}
	u.addTree(u.pid)
	sum := time.Duration(0)
	for _, d := range u.workByThread {
		sum += d
	}
	return sum
}

// addTree reads the threads of one process and of all processes below it.
func (u *usage) addTree(pid int) {
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
	for _, task := range tasks {
		if work, ok := readSchedstat(task + "/schedstat"); ok {
			u.workByThread[task] = max(u.workByThread[task], work)
		}
		children, _ := os.ReadFile(task + "/children")
		for _, child := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				u.addTree(n)
			}
		}
	}
}

// readSchedstat returns the first field of a schedstat file: time on a processor, in nanoseconds.
func readSchedstat(file string) (work time.Duration, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	return time.Duration(ns), err == nil
}

package live

import (
	"fmt"
	"slices"
	"strings"
)

// Scheduling is the kernel's scheduling of threads that must be on time: in a lab the data plane's and the own
// hosts'.
type Scheduling string

// Kinds of scheduling. The command weir bench clock compares them on a machine.
const (
	// Nice is an ordinary thread with niceness −20 and a short slice. It may wait while other threads use up their
	// slices.
	Nice Scheduling = "nice"
	// FIFO is SCHED_FIFO (sched(7)) with locked memory, which preempts ordinary threads immediately. It leaves the
	// machine's first processor to hosts and other programs; with one processor it becomes Nice.
	FIFO Scheduling = "fifo"
	// Deadline is SCHED_DEADLINE (sched(7)) with locked memory. A thread has .45 of each millisecond of a processor
	// before all other threads, including SCHED_FIFO, and up to .95 if other such threads leave it. With one
	// processor it becomes Nice.
	Deadline Scheduling = "deadline"
	// Core is Nice on reserved processors, the last ones. The other threads of the process that opened the lab avoid
	// them. With one processor it becomes Nice.
	Core Scheduling = "core"
)

// Schedulings lists all kinds.
var Schedulings = []Scheduling{Nice, FIFO, Deadline, Core}

// DefaultScheduling is the scheduling of a lab without a chosen one (docs/lab.md).
const DefaultScheduling = Deadline

// parseScheduling returns the kind with the given name.
func parseScheduling(name string) (Scheduling, error) {
	if s := Scheduling(name); slices.Contains(Schedulings, s) {
		return s, nil
	}
	return "", fmt.Errorf("scheduling %q is unknown; allowed: %s", name, listKinds())
}

// listKinds returns the names of all kinds for errors.
func listKinds() string {
	var names []string
	for _, s := range Schedulings {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// Duty is the scheduling of one thread on some processors; without Cores it may use any.
type Duty struct {
	Kind  Scheduling
	Cores []int `json:",omitempty"`
}

// DivideCores divides a machine's processors, by number, among the data plane, Weir's own hosts, and the other threads
// of the lab's process. Without a kind it is DefaultScheduling; with one processor it is Nice. rest is nil if they may
// use all, and never empty. Duties without Cores may use any processor.
func (s Scheduling) DivideCores(cores []int) (plane, hosts Duty, rest []int) {
	if s == "" {
		s = DefaultScheduling
	}
	n := len(cores)
	if n < 2 {
		s = Nice
	}
	switch s {
	case FIFO, Deadline: // Deadline falls back to FIFO
		plane = Duty{s, cores[1:]}
		hosts = plane
	case Core:
		plane, hosts, rest = Duty{Core, cores[n-1:]}, Duty{Core, cores[:n-1]}, cores[:n-1]
		if n > 2 {
			hosts.Cores, rest = cores[n-2:n-1], cores[:n-2]
		}
	default:
		plane, hosts = Duty{Kind: Nice}, Duty{Kind: Nice}
	}
	return plane, hosts, rest
}

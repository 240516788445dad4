package live

import (
	"fmt"
	"slices"
	"strings"
)

// Scheduling is how the kernel gives processors to the threads that must be punctual: in a lab the data plane's, and
// that of hosts of Weir's own.
type Scheduling string

// The kinds of scheduling. What they are worth on a machine is measured by weir bench clock.
const (
	// Nice is an ordinary thread with the niceness −20 and a short slice. Now and then it waits while others use up
	// theirs.
	Nice Scheduling = "nice"
	// FIFO is SCHED_FIFO (sched(7)) with locked memory: it takes a processor at once from all that are not. The machine's
	// first processor is never taken, so that hosts and all else go on; with one processor there is only Nice.
	FIFO Scheduling = "fifo"
	// Deadline is SCHED_DEADLINE (sched(7)) with locked memory: a thread has .45 of each millisecond of some processor
	// before all others, those of SCHED_FIFO too, and up to .95 of what other such threads leave. With one processor
	// there is only Nice.
	Deadline Scheduling = "deadline"
	// Core is Nice on processors of their own, the last ones, from which the other threads of the process that has the
	// lab open keep away. With one processor there is only Nice.
	Core Scheduling = "core"
)

// Schedulings are all kinds.
var Schedulings = []Scheduling{Nice, FIFO, Deadline, Core}

// DefaultScheduling is that of a lab for which none is chosen. By weir bench clock on two cores it was the most
// punctual one at 50, 200 and 500 Mb/s; docs/lab.md has the figures.
const DefaultScheduling = Deadline

// parseScheduling finds a kind by its name.
func parseScheduling(name string) (Scheduling, error) {
	if s := Scheduling(name); slices.Contains(Schedulings, s) {
		return s, nil
	}
	return "", fmt.Errorf("scheduling %q; %s are possible", name, kinds())
}

func kinds() string {
	var names []string
	for _, s := range Schedulings {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// Duty is the scheduling of one thread: Kind on some processors; no Cores means any of them.
type Duty struct {
	Kind  Scheduling
	Cores []int `json:",omitempty"`
}

// Duties divides a machine's processors: for the data plane, for hosts of Weir's own, and what is left to all other
// threads of the lab's process; nil means all. What is left is never empty.
func (s Scheduling) Duties(cores []int) (plane, hosts Duty, rest []int) {
	if s == "" {
		s = DefaultScheduling
	}
	n := len(cores)
	if n < 2 {
		s = Nice
	}
	switch s {
	case FIFO, Deadline: // which falls back to FIFO
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

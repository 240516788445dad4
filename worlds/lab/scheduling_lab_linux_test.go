//go:build lab

package lab

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"weir/worlds/live"
)

// thread has the kernel's scheduling state of a thread.
type thread struct {
	policy   uint32
	niceness int32
	cores    []int
}

// threads returns the threads of a process.
func threads(t testing.TB, pid int) (all []thread) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		a, err := unix.SchedGetAttr(id, 0)
		var set unix.CPUSet
		if err == nil {
			err = unix.SchedGetaffinity(id, &set)
		}
		if err == unix.ESRCH {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		x := thread{policy: a.Policy, niceness: a.Nice}
		for c := 0; len(x.cores) < set.Count(); c++ {
			if set.IsSet(c) {
				x.cores = append(x.cores, c)
			}
		}
		all = append(all, x)
	}
	return all
}

// TestSchedule_AppliesToDataPlane checks that the kernel schedules the data plane as configured, one thread of it, as
// its report confirms. Threads of this process avoid its processors until the network is closed.
func TestSchedule_AppliesToDataPlane(t *testing.T) {
	needRoot(t)
	had, err := live.ListCores()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(slices.Clone(live.Schedulings), "") {
		c := shaped("")
		l, err := Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if s != "" {
			if err := l.Schedule(s); err != nil {
				t.Fatal(err)
			}
		}
		p, err := l.Start(again(t, "dataplane "))
		if err != nil {
			t.Fatal(err)
		}
		want, _, rest := s.DivideCores(had)
		got := want.Kind
		if got == live.Deadline && !slices.ContainsFunc(threads(t, p.command.Process.Pid), func(x thread) bool {
			return x.policy == unix.SCHED_DEADLINE
		}) { // other labs have what the kernel grants
			got = live.FIFO
		}
		like := func(x thread) bool {
			switch got {
			case live.Deadline:
				return x.policy == unix.SCHED_DEADLINE && slices.Equal(x.cores, had)
			case live.FIFO:
				return x.policy == unix.SCHED_FIFO && slices.Equal(x.cores, want.Cores)
			}
			return x.policy == unix.SCHED_NORMAL && x.niceness == -20 &&
				(want.Cores == nil || slices.Equal(x.cores, want.Cores))
		}
		all := threads(t, p.command.Process.Pid)
		if n := len(all) - len(slices.DeleteFunc(slices.Clone(all), like)); n != 1 {
			t.Errorf("%q: %d threads as they are to be (%+v): %+v", s, n, want, all)
		}
		for _, x := range threads(t, os.Getpid()) {
			if want := rest; want != nil && !slices.Equal(x.cores, want) || want == nil && !slices.Equal(x.cores, had) {
				t.Errorf("%q: a thread of ours on %v", s, x.cores)
			}
		}
		r, err := p.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if r.Scheduling != got {
			t.Errorf("%q: the report says %q", s, r.Scheduling)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		for _, x := range threads(t, os.Getpid()) {
			if !slices.Equal(x.cores, had) {
				t.Errorf("%q: after its end a thread of ours is on %v", s, x.cores)
			}
		}
	}
}

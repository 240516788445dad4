package realtime

import (
	"fmt"
	"os"
	"strings"
)

// WatchIdle starts to measure the idle time of this machine's cores. The returned function ends that, and marks the
// attempt as disturbed if the cores were idle for less than 10 % of their time.
func (t *Try) WatchIdle() (end func()) {
	idle, all := t.idleTimes()
	return func() {
		if i, a := t.idleTimes(); float64(i-idle) < 0.1*float64(a-all) {
			t.NoteDisturbed("others: no core was idle")
		}
	}
}

// idleTimes returns the idle time and the total time of all cores in ticks (proc(5)).
func (t *Try) idleTimes() (idle, all uint64) {
	t.Helper()
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	for i, f := range strings.Fields(line)[1:9] {
		var n uint64
		if _, err := fmt.Sscan(f, &n); err != nil {
			t.Fatal(err)
		}
		if all += n; i == 3 {
			idle = n
		}
	}
	return idle, all
}

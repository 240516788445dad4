package lab

import (
	"fmt"
	"testing"
)

// TestCPUTimes checks the fields of proc(5): user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice.
func TestCPUTimes(t *testing.T) {
	for _, x := range []struct {
		line        string
		stolen, all uint64
	}{
		{"cpu  10 20 30 40 50 60 70 80 5 6", 80, 360},
		{"cpu  10 20 30 40 50 60 70", 0, 0}, // before Linux 2.6.11
		{"cpu0 10 20 30 40 50 60 70 80 5 6", 0, 0},
		{"cpu  10 20 30 x 50 60 70 80 5 6", 0, 0},
		{"", 0, 0},
	} {
		t.Run(fmt.Sprintf("%q", x.line), func(t *testing.T) {
			if s, a := parseCPU(x.line); s != x.stolen || a != x.all {
				t.Errorf("%q: %d of %d", x.line, s, a)
			}
		})
	}
}

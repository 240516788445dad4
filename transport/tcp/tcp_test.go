package tcp

import (
	"testing"

	"weir/unit"
)

func TestFull(t *testing.T) {
	for _, name := range []string{"reno", "cubic", "dctcp", "bbr"} {
		w := newPipe(t, name, 0, nil)
		w.limit = 85
		if name == "dctcp" {
			w.mark = 20
		}
		w.run(5 * unit.Second)
		b := w.r.counters.ReceivedBytes
		w.run(20 * unit.Second)
		t.Logf("%s: %.2f Mb/s, drops %d, resent %d, timeouts %d, queue %d, cwnd %d srtt %v", name, w.goodput(b, 5*unit.Second), w.drops, w.s.counters.Retransmitted, w.s.timeouts, w.longest, w.s.cwnd(), w.s.SRTT())
	}
}

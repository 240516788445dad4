package uet_test

import (
	"syscall"
	"testing"

	"weir/worlds/sim"
)

// BenchmarkReference measures packet-hops of switch ports, data and headers, a second of processor time: cases A5 and
// A7.
func BenchmarkReference(b *testing.B) {
	for _, name := range []string{"a05", "a07"} {
		b.Run(name, func(b *testing.B) {
			for i := range references {
				if references[i].name != name {
					continue
				}
				s := references[i].of(b)
				hops, spent, best := uint64(0), 0.0, 0.0 // the best run is that which others disturb least
				for b.Loop() {
					b.StopTimer()
					c := config(b, s, 1)
					run, err := sim.New(c)
					if err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					before := processor(b)
					r := run.Run()
					took, n := processor(b)-before, uint64(0)
					for _, p := range r.Ports {
						if c.Wiring.Network.Nodes[p.Node].Switch {
							n += p.TxPackets
						}
					}
					hops, spent = hops+n, spent+took
					best = max(best, float64(n)/took/1e6)
				}
				b.ReportMetric(float64(hops)/spent/1e6, "Mhops/CPU-s")
				b.ReportMetric(best, "best-Mhops/CPU-s")
			}
		})
	}
}

// processor is the time that this process has had, in seconds.
func processor(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

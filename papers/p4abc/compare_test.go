package p4abc_test

import "testing"

// Short uploads of a light user against heavy ones.
func TestUploads(t *testing.T) {
	holds(t, "p4abc/uploads", "repeat=1", "duration=10s", "warmup=6s", "scheme=[without, abc, drr]", "load=[10%, 20%]")
}

// Users that speak QUIC-like, with BBR and others.
func TestMixes(t *testing.T) {
	holds(t, "p4abc/mixes", "repeat=1", "duration=12s", "warmup=6s", "n=16", "kind=[cubic, quic, bbr]")
}

// Calls, and acknowledgements of downloads, do not keep the heavy user's threshold down.
func TestSmallPackets(t *testing.T) {
	holds(t, "p4abc/calls", "repeat=1", "duration=2s", "warmup=4s", "link=50M_20ms", "calls=[39, 100]")
	holds(t, "p4abc/two-way", "repeat=1", "duration=2s", "warmup=4s", "link=50M_20ms", "narrow=up", "uploads=4")
}

// Figures 5 and 6 with every scheme, with the paper's buffer. TestCompareFull has the larger one too.
func TestCompare(t *testing.T) {
	holds(t, "p4abc/compare-fig5", "repeat=1", "duration=3s", "warmup=3s", "n=16", "buffer=24 packets")
	holds(t, "p4abc/compare-fig6", "repeat=1", "duration=2s", "warmup=2s", "r0=[20Mbps, 100Mbps]", "buffer=24 packets")
}

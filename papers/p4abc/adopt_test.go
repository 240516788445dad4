package p4abc

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestBytesCount checks that with thresholds in bytes the bytes count: twenty small frames are a short queue, six full
// ones are not.
func TestBytesCount(t *testing.T) {
	c := defaults()
	c.QMin, c.QBase, c.Gamma = unit.Depth{Bytes: 5000}, unit.Depth{Bytes: 5001}, unit.Depth{Bytes: 1}
	size := func(n int32) func(p *packet.Packet) { return func(p *packet.Packet) { p.Size = n } }
	b := newBench(t, c)
	for i := range 20 {
		b.now += unit.Millisecond
		if !b.send(1, size(100)) {
			t.Fatalf("frame %d of 100 bytes is dropped at %d bytes", i, b.Port(1).Bytes())
		}
	}
	b = newBench(t, c)
	taken := 0
	for range 6 {
		b.now += unit.Millisecond
		if b.send(1) {
			taken++
		}
	}
	if taken != 4 { // the fifth finds 5960 bytes
		t.Errorf("%d full frames are taken, of which three are below 5000 bytes", taken)
	}
}

// TestAdoptPorts checks that a reload keeps each port's queue length in the register, A_avg, and the measurements of
// frames without a mark, and no other port's. Registers that count other units restart.
func TestAdoptPorts(t *testing.T) {
	c := paper()
	c.Domain, c.Register = DomainMember, true
	old := newBenchAt(t, sidesFrom["core"], c)
	old.now = unit.Second
	old.send(1)
	old.send(1, withMark(7))
	same := newBenchAt(t, sidesFrom["core"], c).program
	same.Adopt(2*unit.Second, old.program)
	if same.aqms[1].register != 2 || same.aqms[0].register != 0 ||
		same.AverageActivity(1) != old.program.AverageActivity(1) ||
		same.AverageActivity(0) != 0 || same.AverageActivity(1) == 0 {
		t.Errorf("registers %d and %d, averages %g and %g", same.aqms[0].register, same.aqms[1].register,
			same.AverageActivity(0),
			same.AverageActivity(1))
	}
	if same.unmarked[0].bits != 11920 || same.unmarked[1].bits != 0 {
		t.Errorf("unmarked frames: %g and %g bits", same.unmarked[0].bits, same.unmarked[1].bits)
	}
	c.Register, c.QMin, c.QBase, c.Gamma = false, unit.Depth{Bytes: 9000}, unit.Depth{Bytes: 30000},
		unit.Depth{Bytes: 24000}
	bytes := newBenchAt(t, sidesFrom["core"], c).program
	bytes.Adopt(2*unit.Second, old.program)
	if bytes.aqms[1].register != 0 || bytes.AverageActivity(1) != old.program.AverageActivity(1) {
		t.Errorf("register %d of a program that counts bytes, average %g", bytes.aqms[1].register, bytes.AverageActivity(1))
	}
}

// TestAdoptCounts checks that the metrics' counts of a user continue with any meter and arithmetic: counters never fall
// at a reload.
func TestAdoptCounts(t *testing.T) {
	exact := defaults()
	named, shared, whole := exact, exact, exact
	named.Aggregates = []Aggregate{{Key: "10.0.0.1", Value: 10 * unit.Kbps}}
	shared.SharesDefault, whole.Integer = true, true
	for name, c := range map[string][2]Config{"a source": {exact, exact}, "an aggregate": {named, named},
		"all others": {shared, shared}, "integers": {whole, whole}, "to integers": {exact, whole}} {
		t.Run(name, func(t *testing.T) {
			old := newBench(t, c[0])
			old.now = unit.Second
			for range 40 { // more than the queue has room for
				old.send(1)
			}
			a := newBench(t, c[1]).program
			a.Adopt(2*unit.Second, old.program)
			p := &packet.Packet{Src: 1, Version: 4}
			was, is := old.program.findMeter(p).counts, a.findMeter(p).counts
			if was.bytes == 0 || was.dropped == 0 || is != was {
				t.Errorf("%+v, it was %+v", is, was)
			}
		})
	}
}

// TestAdoptMemory checks that a meter with a changed memory continues with its present rate, and decays with the new
// memory.
func TestAdoptMemory(t *testing.T) {
	c := defaults()
	old := newBench(t, c)
	for old.now < unit.Second {
		old.now += 10 * unit.Millisecond
		old.send(1)
		old.pool.Put(old.take())
	}
	const now = 2 * unit.Second // a second of silence
	c.Memory = 500 * unit.Millisecond
	short := newBench(t, c).program
	short.Adopt(now, old.program)
	p := &packet.Packet{Src: 1, Version: 4}
	was, is := old.program.findMeter(p), short.findMeter(p)
	at := func(when unit.Time) float64 { return is.RateAt(when, c.Memory) }
	if got, want := at(now), was.RateAt(now, 3*unit.Second); !testkit.IsNear(got/want, 1,
		testkit.Tolerance{Absolute: 1e-9}) {
		t.Errorf("rate %g, want %g", got, want)
	}
	// 2.5 s after the start T is M (1 − e^−5); it was M (1 − e^−4)
	if got, want := at(now+500*unit.Millisecond)/at(now),
		0.36787944117144233*0.9816843611112658/0.9932620530009145; !testkit.IsNear(got, want,
		testkit.Tolerance{Absolute: 1e-9}) {
		t.Errorf("after half a second there is %g of it, want %g", got, want)
	}
}

package transport

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestNICDelays checks that a NIC makes answers of a kind in order, each its delay after its cause. Quicker kinds
// overtake, and at one time a CNP goes first.
func TestNICDelays(t *testing.T) {
	const us = unit.Microsecond
	n := NewNIC[int](NICDelays{Ack: 5 * us, Nack: 2 * us, CNP: 3 * us})
	for i, x := range []struct {
		at   unit.Time
		kind packet.Kind
	}{{0, packet.Ack}, {us, packet.Ack}, {us, packet.Probe}, {2 * us, packet.Nack}, {3 * us, packet.Notice},
		{4 * us, packet.Nack}} {
		if !n.MustQueue(x.kind) {
			t.Errorf("answer %d takes no time", i)
		}
		*n.QueueAnswer(x.at, x.kind) = i
	}
	for _, want := range []struct {
		at unit.Time
		i  int
	}{{4 * us, 3}, {5 * us, 0}, {6 * us, 4}, {6 * us, 1}, {6 * us, 2}, {6 * us, 5}} {
		if at := n.NextReady(); at != want.at {
			t.Errorf("answer %d at %v, not %v", want.i, at, want.at)
		}
		if i := *n.TakeAnswer(); i != want.i {
			t.Errorf("answer %d, not %d", i, want.i)
		}
	}
	if n.NextReady() != unit.Never {
		t.Error("something is left")
	}
}

// TestNICProbes checks that an answer to a probe does not overtake NACKs.
func TestNICProbes(t *testing.T) {
	const us = unit.Microsecond
	n := NewNIC[int](NICDelays{Nack: 9 * us})
	*n.QueueAnswer(us, packet.Nack) = 1
	if !n.MustQueue(packet.Probe) || n.MustQueue(packet.Ack) {
		t.Error("an answer to a probe overtakes a NACK, or an ACK waits")
	}
	*n.QueueAnswer(2*us, packet.Probe) = 2
	for want := 1; want <= 2; want++ {
		if at := n.NextReady(); at != 10*us {
			t.Errorf("answer %d at %v", want, at)
		}
		if i := *n.TakeAnswer(); i != want {
			t.Errorf("answer %d, not %d", i, want)
		}
	}
	if n.MustQueue(packet.Probe) {
		t.Error("an answer to a probe waits for no NACK")
	}
}

// TestNICWithoutDelay checks that a kind without a delay goes through the pipeline only while others of its kind are in
// it. Without delays there is no pipeline.
func TestNICWithoutDelay(t *testing.T) {
	if NewNIC[int](NICDelays{}) != nil {
		t.Error("there is a pipeline without delays")
	}
	n := NewNIC[int](NICDelays{Nack: 1})
	if n.MustQueue(packet.Ack) || !n.MustQueue(packet.Nack) {
		t.Error("ACKs take time, or NACKs none")
	}
	n.QueueAnswer(7, packet.Ack)
	if !n.MustQueue(packet.Ack) || n.NextReady() != 7 {
		t.Error("an ACK overtakes one before it")
	}
}

// TestNICAllocates checks that a NIC allocates no memory after it has reached its maximum length.
func TestNICAllocates(t *testing.T) {
	type answer struct{ with packet.Packet }
	n := NewNIC[answer](NICDelays{Ack: 100})
	now := unit.Time(0)
	turn := func() {
		now++
		n.QueueAnswer(now, packet.Ack).with.Seq = int64(now)
		for n.NextReady() <= now {
			if x := n.TakeAnswer(); x.with.Seq != int64(now-100) {
				t.Fatalf("%d at %d", x.with.Seq, now)
			}
		}
	}
	for range 1000 {
		turn()
	}
	if a := testing.AllocsPerRun(1000, turn); a > 0 {
		t.Errorf("%v allocations for an answer", a)
	}
}

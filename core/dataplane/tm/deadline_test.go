package tm

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// comes is a packet that arrives at a port.
type comes struct {
	at   unit.Time
	q    QueueID
	size int32
}

// through sends packets through a port in the order of their arrival. The port needs the time perByte for each byte. It
// returns when the last bit of each packet departs, in the order of arrivals.
func through(s Scheduler, queues int, perByte unit.Time, in []comes) []unit.Time {
	p := NewPort(NewBuffer(queues, Limit{}, Limit{}), s, unit.LinkRate{Bits: unit.Gbps})
	left := make([]unit.Time, len(in))
	free, next := unit.Time(0), 0
	for done := 0; done < len(in); {
		if p.Packets() == 0 {
			free = max(free, in[next].at)
		}
		for ; next < len(in) && in[next].at <= free; next++ { // arrivals come before the port's next choice
			p.Push(in[next].q, &packet.Packet{Size: in[next].size, Enqueued: in[next].at, Seq: int64(next)})
		}
		x, _, _ := p.DequeueNext(free)
		free += unit.Time(x.Size) * perByte
		left[x.Seq] = free
		done++
	}
	return left
}

// arrivals returns n random packets in bursts and gaps, such that the port is busy for a part of the time.
func arrivals(random unit.Random, n, queues int, perByte unit.Time) (in []comes) {
	now, burst := unit.Time(0), QueueID(0)
	for range n {
		if random.IntN(20) == 0 {
			burst = QueueID(random.IntN(queues))
			now += unit.Time(random.IntN(40 * 800 * int(perByte)))
		}
		q := burst
		if random.IntN(3) == 0 {
			q = QueueID(random.IntN(queues))
		}
		in = append(in, comes{now, q, int32(64 + random.IntN(1451))})
		now += unit.Time(random.IntN(1200 * int(perByte)))
	}
	return in
}

// later returns the latest departure of packet i from a first-in, first-out port if it arrived later by d: behind all
// packets that have arrived by then.
func later(in []comes, i int, d unit.Time, perByte unit.Time) unit.Time {
	free := unit.Time(0)
	for k := range in {
		if k != i && in[k].at <= in[i].at+d {
			free = max(free, in[k].at) + unit.Time(in[k].size)*perByte
		}
	}
	return max(free, in[i].at+d) + unit.Time(in[i].size)*perByte
}

// TestDeadlineBound checks that a packet departs no later than from a first-in, first-out port at which it arrives
// later by its queue's offset. The one frame on the wire adds to this bound. So packets of the first queue never wait
// for later arrivals, and others at most for arrivals within the difference of the offsets. Each queue stays in order.
func TestDeadlineBound(t *testing.T) {
	const perByte, frame = 8 * unit.Nanosecond, 1515 * 8 * unit.Nanosecond
	for seed := range uint64(60) {
		random := unit.NewRandom(seed, "deadline")
		offsets := []unit.Time{0, unit.Time(random.IntN(400)) * unit.Microsecond, unit.Time(400+random.IntN(9000)) *
			unit.Microsecond}
		in := arrivals(random, 400, len(offsets), perByte)
		left := through(NewDeadline(offsets), len(offsets), perByte, in)
		overtaken, last := 0, map[QueueID]unit.Time{}
		for i, x := range in {
			if most := later(in, i, offsets[x.q], perByte) + frame; left[i] > most {
				t.Fatalf("seed %d: packet %d of queue %d, offset %v, came at %v and left at %v; %v at the latest", seed, i, x.q,
					offsets[x.q], x.at, left[i], most)
			}
			if left[i] <= last[x.q] {
				t.Fatalf("seed %d: packet %d of queue %d overtakes", seed, i, x.q)
			}
			if last[x.q] = left[i]; i > 0 && left[i] < left[i-1] {
				overtaken++
			}
		}
		if overtaken == 0 {
			t.Errorf("seed %d: no queue was before another", seed)
		}
	}
}

// TestDeadline_BoundsWaitOfLaterQueues checks that the wait of the second queue is bounded by its offset and the
// packets that wait by then, although the first queue overloads the port. Under strict priority it waits for the whole
// load.
func TestDeadline_BoundsWaitOfLaterQueues(t *testing.T) {
	const perByte, offset = 8 * unit.Nanosecond, 2 * unit.Millisecond
	var in []comes
	for i := range 4000 {
		in = append(in, comes{unit.Time(i) * 10 * unit.Microsecond, QueueID(0), 1500})
		if i%100 == 50 {
			in = append(in, comes{unit.Time(i) * 10 * unit.Microsecond, 1, 1500})
		}
	}
	longest := func(s Scheduler) (most unit.Time) {
		for i, at := range through(s, 2, perByte, in) {
			if in[i].q == 1 && in[i].at < 10*unit.Millisecond {
				most = max(most, at-in[i].at)
			}
		}
		return most
	}
	// at 10 ms, 2.1 ms of frames wait: 20 % more arrive than depart
	if d := longest(NewDeadline([]unit.Time{0, offset})); d > offset+2500*unit.Microsecond+10*12*unit.Microsecond {
		t.Errorf("a packet of the second queue waits for %v", d)
	}
	if d := longest(NewStrict()); d < 30*unit.Millisecond {
		t.Errorf("under strict priority it waits for %v only: the test's load is too low", d)
	}
}

// TestDeadlineIsFIFO checks that the port is first in, first out without offsets, and with all packets in one queue.
func TestDeadlineIsFIFO(t *testing.T) {
	const perByte = 8 * unit.Nanosecond
	random := unit.NewRandom(7, "deadline")
	in := arrivals(random, 2000, 3, perByte)
	one := func(q QueueID) (all []comes) {
		for _, x := range in {
			all = append(all, comes{x.at, q, x.size})
		}
		return all
	}
	want := through(NewFIFO(), 1, perByte, one(0))
	apart := make([]comes, len(in)) // no two at one time: then the order of queues would count
	for i, x := range in {
		apart[i] = comes{x.at + unit.Time(i), x.q, x.size}
	}
	for name, got := range map[string][]unit.Time{
		"the first queue":  through(NewDeadline([]unit.Time{0, unit.Millisecond}), 2, perByte, one(0)),
		"the second queue": through(NewDeadline([]unit.Time{0, unit.Millisecond}), 2, perByte, one(1)),
	} {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s alone: not first in, first out", name)
		}
	}
	left := through(NewDeadline([]unit.Time{0, 0, 0}), 3, perByte, apart)
	for i := 1; i < len(left); i++ {
		if left[i] <= left[i-1] {
			t.Fatalf("without offsets packet %d leaves before the one that came before it", i)
		}
	}
}

// TestDeadlinePaused checks that a paused queue is passed over, at any deadline, and continues at its place afterwards.
func TestDeadlinePaused(t *testing.T) {
	b := NewBuffer(2, Limit{}, Limit{})
	b.Push(0, &packet.Packet{Size: 1, Enqueued: 0})
	b.Push(1, &packet.Packet{Size: 2, Enqueued: 5})
	s := NewDeadline([]unit.Time{0, 10})
	b.paused = 1
	if q, _ := s.Next(20, &b); q != 1 {
		t.Errorf("queue %d is served while the first is paused", q)
	}
	b.paused = 0
	if q, _ := s.Next(20, &b); q != 0 {
		t.Errorf("queue %d is served before the earlier deadline", q)
	}
}

func TestDeadlineOffsets(t *testing.T) {
	s := Schemes()[0]
	if s.Name != "deadline" {
		t.Fatal(s.Name)
	}
	for _, x := range []struct {
		params string // name, value, …
		queues int
		says   string // the offsets, or the error
	}{
		{"", 3, "[0s 20ms 40ms]"},
		{"step 5ms", 2, "[0s 5ms]"},
		{"step 5ms offsets {1: 7ms}", 3, "[0s 7ms 10ms]"},
		{"offsets {2: 7ms}", 3, "offsets: queue 2 has 7ms, less than queue 1 before it, 20ms"},
		{"offsets {3: 70ms}", 3, `"3" is not a queue`},
	} {
		t.Run(x.params, func(t *testing.T) {
			given := strings.SplitN(strings.Replace(x.params, " offsets", "\toffsets", 1), "\t", 2)
			var all []string
			for _, g := range given {
				if g != "" {
					all = append(all, strings.SplitN(g, " ", 2)...)
				}
			}
			c, err := s.Configure(all...)
			if err != nil {
				t.Fatal(err)
			}
			built, err := s.Build(x.queues, unit.LinkRate{Bits: unit.Gbps}, c)
			if err != nil {
				if !strings.HasPrefix(err.Error(), x.says) {
					t.Error(err)
				}
			} else if got := fmt.Sprint(built.(*deadline).offset); got != x.says {
				t.Error(got)
			}
		})
	}
}

// FuzzDeadline_KeepsDelayBound checks the bound on the delay for any arrivals.
func FuzzDeadline_KeepsDelayBound(f *testing.F) {
	f.Add(uint16(100), []byte{0, 10, 1, 0, 255, 0, 1, 1, 200, 3})
	f.Fuzz(func(t *testing.T, offset uint16, script []byte) {
		if len(script) > 600 {
			return
		}
		const perByte = unit.Time(8)
		offsets := []unit.Time{0, unit.Time(offset) * 100}
		var in []comes
		now := unit.Time(0)
		for i := 0; i+1 < len(script); i += 2 {
			now += unit.Time(script[i]&0x3f) * 200
			in = append(in, comes{now, script[i] >> 7, 60 + 6*int32(script[i+1])})
		}
		left := through(NewDeadline(offsets), 2, perByte, in)
		for i, x := range in {
			if most := later(in, i, offsets[x.q], perByte) + 1590*perByte; left[i] > most {
				t.Fatalf("packet %d of queue %d left at %v, %v at the latest", i, x.q, left[i], most)
			}
		}
	})
}

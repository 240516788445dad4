package tm

import (
	"math"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// queueLoad is a constant load of a queue from a time on. part is its fraction of the port's rate; 0 means no load.
type queueLoad struct {
	part float64
	from unit.Time
}

// serveLoads has frames of 1514 bytes arrive for the queues of a port of 1 Gb/s until end. It returns the part of the
// port's rate that each queue had from start to end, and the longest time between two frames of the last queue.
func serveLoads(s Scheduler, start, end unit.Time, loads ...queueLoad) (parts []float64, gap unit.Time) {
	const size = 1514
	p := NewPort(NewBuffer(len(loads), Limit{}, Limit{}), s, unit.LinkRate{Bits: unit.Gbps})
	frame := unit.TransmitTime(size, unit.Gbps)
	next, last := make([]unit.Time, len(loads)), unit.Never
	for q, l := range loads {
		next[q] = l.from
	}
	parts = make([]float64, len(loads))
	for now := unit.Time(0); now < end; now += frame {
		for q, l := range loads {
			for l.part > 0 && next[q] <= now {
				f := &packet.Packet{Size: size, Enqueued: next[q]}
				f.Meta.Queue = QueueID(q)
				p.Push(QueueID(q), f)
				next[q] += unit.Time(float64(frame) / l.part)
			}
		}
		f, _, _ := p.DequeueNext(now)
		if f == nil || now < start {
			continue
		}
		parts[f.Meta.Queue] += float64(frame) / float64(end-start)
		if int(f.Meta.Queue) == len(loads)-1 {
			if last != unit.Never {
				gap = max(gap, now-last)
			}
			last = now
		}
	}
	return parts, gap
}

// TestAsNeeded checks BS'19 §4.2: capacity above the guarantees goes to the class that needs it. Mice that offer less
// than the port's rate are served before elephants, which get the rest. Mice that offer more leave elephants their
// guarantee over the span. Within the span, elephants that had more before get a trickle. Without a span both get equal
// parts.
func TestAsNeeded(t *testing.T) {
	const ms, span = unit.Millisecond, 100 * unit.Millisecond
	for _, x := range []struct {
		name            string
		span            unit.Time
		mice, elephants queueLoad
		start, end      unit.Time
		want            [2]float64
	}{
		{"equal parts", 0, queueLoad{1.5, 0}, queueLoad{1.5, 0}, 0, 100 * ms, [2]float64{0.5, 0.5}},
		{"equal parts, mice ask for 60 %", 0, queueLoad{0.6, 0}, queueLoad{1, 0}, 0, 100 * ms, [2]float64{0.5, 0.5}},
		{"mice ask for 60 %", span, queueLoad{0.6, 0}, queueLoad{1, 0}, 0, 100 * ms, [2]float64{0.6, 0.4}},
		{"mice ask for 85 %", span, queueLoad{0.85, 0}, queueLoad{1, 0}, 0, 100 * ms, [2]float64{0.85, 0.15}},
		{"mice ask for all", span, queueLoad{1.5, 0}, queueLoad{1, 0}, 0, 100 * ms, [2]float64{0.9, 0.1}},
		{"elephants alone", span, queueLoad{}, queueLoad{1.5, 0}, 0, 100 * ms, [2]float64{0, 1}},
		{"mice ask for all after elephants had the port", span, queueLoad{1.5, 200 * ms}, queueLoad{1, 0}, 205 * ms,
			295 * ms, [2]float64{0.99, 0.01}},
		{"and after the span", span, queueLoad{1.5, 200 * ms}, queueLoad{1, 0}, 320 * ms, 400 * ms,
			[2]float64{0.9, 0.1}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s, err := NewNCF(3, NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}, unit.Gbps, 1514, 3028)
			if err != nil {
				t.Fatal(err)
			}
			p := NewPort(NewBuffer(3, Limit{}, Limit{}), s, unit.LinkRate{Bits: unit.Gbps})
			if !p.SetAsNeeded(x.span) {
				t.Fatal("it can't")
			}
			got, gap := serveLoads(s, x.start, x.end, queueLoad{}, x.mice, x.elephants)
			for i, want := range x.want {
				if math.Abs(got[i+1]-want) > 0.012 {
					t.Errorf("queue %d has %.3f of the port, want %.3f", i+1, got[i+1], want)
				}
			}
			if gap > 2*ms { // a frame takes 1.2 ms at a hundredth of the rate
				t.Errorf("elephants wait %v for their next frame", gap)
			}
		})
	}
}

// TestNotAsNeeded checks that a scheduler without queues for both classes cannot share as needed.
func TestNotAsNeeded(t *testing.T) {
	two, err := NewNCF(2, NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}, unit.Gbps, 1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Scheduler{"two queues": two, "drr": NewDRR(3, 1514), "fifo": NewFIFO()} {
		p := NewPort(NewBuffer(1, Limit{}, Limit{}), s, unit.LinkRate{Bits: unit.Gbps})
		if p.SetAsNeeded(unit.Second) {
			t.Errorf("%s shares as needed", name)
		}
	}
}

// TestEqualAfterAsNeeded checks that elephants collect no deficit while they get what mice leave, for any length of
// frames. When sharing as needed ends, both get equal parts at once.
func TestEqualAfterAsNeeded(t *testing.T) {
	for _, size := range []int32{600, 1066, 1514} {
		s, err := NewNCF(3, NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}, unit.Gbps, 1514, 3028)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPort(NewBuffer(3, Limit{}, Limit{}), s, unit.LinkRate{Bits: unit.Gbps})
		p.SetAsNeeded(100 * unit.Millisecond)
		frame := unit.TransmitTime(unit.Bytes(size), unit.Gbps)
		const change, end = 60 * unit.Millisecond, 64 * unit.Millisecond
		mice, sum := 0, 0
		for now, due := unit.Time(0), unit.Time(0); now < end; now += frame {
			if now >= change && now < change+frame {
				p.SetAsNeeded(0)
			}
			for ; due <= now; due += unit.Time(float64(frame) / 0.7) {
				f := &packet.Packet{Size: size, Enqueued: due}
				f.Meta.Queue = 1
				p.Push(1, f)
			}
			for range 2 {
				f := &packet.Packet{Size: size, Enqueued: now}
				f.Meta.Queue = 2
				p.Push(2, f)
			}
			f, _, _ := p.DequeueNext(now)
			if now >= change+frame {
				if sum++; f.Meta.Queue == 1 {
					mice++
				}
			}
		}
		if part := float64(mice) / float64(sum); math.Abs(part-0.5) > 0.02 {
			t.Errorf("with frames of %d bytes mice have %.3f of the port after the change, want 0.5", size, part)
		}
	}
}

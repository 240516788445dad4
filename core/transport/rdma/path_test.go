package rdma

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// seeds is how many paths are tried.
const seeds = 600

// TestRandomPaths checks paths with random losses, delays, reordering, duplicates and marks in both directions, under
// controllers with random decisions. Every byte is delivered once and in order, the flow finishes, the window and the
// bound hold, and no flow stalls.
func TestRandomPaths(t *testing.T) {
	var ran, again, timeouts, nacks, cnps int64
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := unit.NewRandom(seed, "rdma")
			size := unit.Bytes(1 + random.IntN(200_000))
			c := &fixed{window: unit.Bytes(1 + random.IntN(60_000))}
			if random.IntN(3) == 0 {
				c.rate = unit.Rate(1+random.IntN(1000)) * 100 * unit.Mbps
			}
			if random.IntN(2) == 0 {
				least := c.window
				c.onAck = func(now unit.Time, _ *cc.Ack) {
					c.window = 1 + unit.Bytes(random.IntN(int(2*least)))
					if c.rate > 0 {
						c.rate = unit.Rate(1+random.IntN(1000)) * 100 * unit.Mbps
					}
					if c.timer = unit.Never; random.IntN(4) == 0 {
						c.timer = now + 1 + unit.Time(random.IntN(int(20*us)))
					}
				}
			}
			w := newPipe(t, size, func(f *Config) {
				f.Recovery = []string{GoBackN, SelectiveRepeat}[random.IntN(2)]
				f.Resends = []string{resendFirst, resendAll}[random.IntN(2)]
				f.Bound = []string{boundNone, boundBDP, boundBytes}[random.IntN(3)]
				f.BoundBytes = unit.Bytes(1 + random.IntN(20_000))
				f.RTO = []string{measuredRTO, fixedRTO}[random.IntN(2)]
				f.RTOLow = unit.Time(random.IntN(2)) * 100 * us
				f.NackInterval = unit.Time(1+random.IntN(500)) * us
				if random.IntN(2) == 0 {
					f.AckEvery = 1 + random.IntN(20)
				}
				f.AckDelay = unit.Time(1 + random.IntN(int(50*us)))
				if f.Recovery == SelectiveRepeat {
					f.Reordering = []string{reorderNone, reorderFixed, reorderAdaptive}[random.IntN(3)]
					f.ReorderWindow = unit.Time(1 + random.IntN(int(20*us)))
					f.Paths = max(1, random.IntN(9)-3)
				}
				f.NIC = slowNIC(seed)
			}, c, []cc.ECNMode{cc.AsConfigured, cc.DCTCPMode, cc.CNPMode}[random.IntN(3)])
			loss, back, twice, reorder, mark := random.Float64()*0.3, random.Float64()*0.3, random.Float64()*0.1,
				random.Float64()*0.3, random.Float64()
			clean := random.IntN(3) == 0
			hook := func(loss float64) func(p *packet.Packet) (int, unit.Time) {
				return func(p *packet.Packet) (copies int, later unit.Time) {
					if p.TOS&packet.ECN == packet.ECT0 && random.Float64() < mark {
						p.TOS |= packet.CE
					}
					if copies = 1; random.Float64() < twice {
						copies = 2
					}
					if random.Float64() < loss && !clean {
						copies = 0
					}
					if random.Float64() < reorder {
						later = unit.Time(random.IntN(int(10 * us)))
					}
					return
				}
			}
			w.onData, w.onBack = hook(loss), hook(back)
			w.runUntil(unit.Never - 1)
			w.done(size)
			if w.s.NextTimer() != unit.Never || w.s.NextSend() != unit.Never || w.s.control.State != cc.Open {
				t.Errorf("it is finished, and yet: timer %v, next %v, %v", w.s.NextTimer(), w.s.NextSend(), w.s.control.State)
			}
			if d := w.s.rate.Delivered; d != w.s.packets {
				t.Errorf("%d packets delivered of %d", d, w.s.packets)
			}
			ran++
			again, timeouts, nacks, cnps = again+w.s.Counters().Retransmitted, timeouts+w.s.Timeouts(), nacks+w.r.nacks, cnps+
				w.s.Notices()
		})
	}
	if ran == seeds && (again < 1000 || timeouts < 100 || nacks < 1000 || cnps < 100) {
		t.Errorf("the paths are too good: %d packets sent again, %d timeouts, %d NACKs, %d notices", again, timeouts,
			nacks, cnps)
	}
}

// slowNIC is a NIC that may take up to 100 us for its answers.
func slowNIC(seed uint64) (d transport.NICDelays) {
	if random := unit.NewRandom(seed, "nic"); random.IntN(2) == 0 {
		slow := func() unit.Time { return unit.Time(random.IntN(3)*random.IntN(60)) * us }
		d = transport.NICDelays{Ack: slow(), Nack: slow(), CNP: slow()}
	}
	return d
}

// FuzzRDMA_FinishesOverAnyPath runs scripts of events, two bytes each: packets are sent, arrive, are lost, doubled and
// forged, in any order. All counts agree. Unless a packet was forged, the flow then finishes over a path without
// faults.
func FuzzRDMA_FinishesOverAnyPath(f *testing.F) {
	f.Add(uint8(0), uint16(9000), []byte{0, 9, 2, 0, 1, 1, 3, 0, 6, 0, 0, 9, 1, 0})
	f.Add(uint8(1), uint16(20_500), []byte{0, 20, 1, 3, 1, 3, 3, 0, 3, 1, 0, 5, 6, 0, 0, 3, 4, 0, 5, 0})
	f.Add(uint8(3), uint16(65_535), []byte{0, 30, 7, 0, 1, 2, 1, 5, 3, 9, 8, 3, 9, 200, 0, 9, 10, 77})
	f.Add(uint8(0x61), uint16(20_500), []byte{0, 20, 1, 3, 1, 3, 3, 0, 3, 1, 0, 5, 6, 0, 0, 3, 4, 0, 5, 0})
	f.Add(uint8(0xc1), uint16(20_500), []byte{0, 20, 1, 3, 1, 3, 3, 0, 3, 1, 0, 5, 6, 0, 0, 3, 4, 0, 5, 0})
	f.Add(uint8(13), uint16(30_000), []byte{0, 30, 2, 0, 2, 0, 2, 0, 6, 0, 0, 9, 1, 0, 3, 0, 11, 44})
	f.Fuzz(func(t *testing.T, mode uint8, size uint16, story []byte) {
		if size == 0 || len(story) > 2000 {
			return
		}
		c := &fixed{window: 20_000}
		w := script{pipe: newPipe(t, unit.Bytes(size), func(c *Config) {
			c.Recovery = []string{GoBackN, SelectiveRepeat}[mode&1]
			c.AckEvery = 1 + int(mode>>1&3)
			c.Resends = []string{resendFirst, resendAll}[mode>>3&1]
			c.RTO = []string{fixedRTO, measuredRTO}[mode>>4&1]
			if c.Recovery == SelectiveRepeat {
				c.Reordering = []string{reorderNone, reorderAdaptive, reorderFixed}[mode>>5/3]
				c.ReorderWindow = 2 * us
				c.Paths = 1 + int(size>>4&3)
			}
		}, c, []cc.ECNMode{cc.AsConfigured, cc.DCTCPMode, cc.CNPMode}[mode>>5%3]), c: c}
		for i := 0; i+1 < len(story); i += 2 {
			n := int(story[i+1])
			w.now += unit.Time(1 + n)
			if w.pathEvent(story[i], n) {
				w.check()
			}
		}
		c.window = 20_000
		if w.forged {
			return
		}
		sortFlights(w.pipe)
		w.runUntil(unit.Never - 1)
		w.done(unit.Bytes(size))
	})
}

// pathEvent plays one event; false: it was a forgery, after which counts need not add up.
func (w *script) pathEvent(kind byte, n int) bool {
	switch kind % 12 {
	case 0:
		w.send(n)
	case 1:
		w.arrive(n)
	case 2:
		take(&w.data, n)
	case 3:
		w.answered(n)
	case 4:
		take(&w.back, n)
	case 5:
		w.answer()
	case 6:
		w.timer()
	case 7:
		if at := w.r.NextTimer(); at != unit.Never {
			w.now = max(w.now, at)
			w.r.Advance(w.now)
		}
	case 8: // doubled
		for _, q := range []*[]flight{&w.data, &w.back} {
			if len(*q) > 0 {
				p := *(*q)[n%len(*q)].p
				*q = append(*q, flight{w.now, &p})
			}
		}
	case 9: // marked
		if len(w.data) > 0 {
			if p := w.data[n%len(w.data)].p; p.TOS&packet.ECN == packet.ECT0 {
				p.TOS |= packet.CE
			}
		}
	case 10: // the controller changes its mind
		w.c.window, w.c.rate = unit.Bytes(1+n*200), unit.Rate(n%5)*20*unit.Gbps
	default:
		if n >= 128 {
			w.now += unit.Time(n) * us
			break
		}
		w.forged = true
		w.s.Receive(w.now, answer(packet.Kind(n&7), int64(n>>3)*500, int64(n>>2)*500))
		w.r.Receive(w.now, &packet.Packet{Kind: packet.Kind(n >> 4), Seq: int64(n & 15), Payload: payload, SrcPort: 10,
			DstPort: 20, Proto: packet.ProtoRDMA})
		return false
	}
	return true
}

// script is a pipe that moves packets as a fuzzer's story has it.
type script struct {
	*pipe
	c      *fixed
	silent bool // something was lost of which nobody says so
}

// take takes the n-th packet out of a queue, counted round; nil: it is empty.
func take(q *[]flight, n int) *packet.Packet {
	if len(*q) == 0 {
		return nil
	}
	n %= len(*q)
	p := (*q)[n].p
	*q = append((*q)[:n], (*q)[n+1:]...)
	return p
}

// send makes the sender send n packets at most.
func (w *script) send(n int) {
	for range n {
		if w.s.NextSend() > w.now {
			break
		}
		p := &packet.Packet{Src: 1, Dst: 2, Sent: w.now}
		w.s.Emit(w.now, p)
		w.data = append(w.data, flight{w.now, p})
		w.check()
	}
}

// arrive is one packet's arrival at the receiver.
func (w *script) arrive(n int) {
	if p := take(&w.data, n); p != nil && w.r.Receive(w.now, p) {
		w.back = append(w.back, flight{w.now, p})
	}
}

// answered is one answer's arrival at the sender.
func (w *script) answered(n int) {
	if p := take(&w.back, n); p != nil {
		w.s.Receive(w.now, p)
	}
}

// answer is that the receiver's NIC has time.
func (w *script) answer() {
	for w.r.NextSend() <= w.now {
		p := &packet.Packet{Src: 2, Dst: 1}
		w.r.Emit(w.now, p)
		w.back = append(w.back, flight{w.now, p})
	}
}

// timer runs the sender's next timer.
func (w *script) timer() {
	if at := w.s.NextTimer(); at != unit.Never {
		w.now = max(w.now, at)
		w.s.Advance(w.now)
	}
}

// sortFlights makes all packets in flight arrive now.
func sortFlights(w *pipe) {
	for _, q := range []*[]flight{&w.data, &w.back} {
		for i := range *q {
			(*q)[i].at = w.now
		}
	}
}

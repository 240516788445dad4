package ndp

import (
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// TestRandomPaths checks paths with random losses, trims, returns, delays and duplicates. Every byte arrives once and
// no flow stalls; bytes on the wire give the same result as fields.
func TestRandomPaths(t *testing.T) { randomPaths(t, 100) }

func randomPaths(t *testing.T, seeds uint64) {
	t.Helper()
	var timeouts, nacks, returned int64
	for seed := range seeds {
		outcome := func(wire bool) string {
			random := unit.NewRandom(seed, "ndp")
			sizes := make([]unit.Bytes, 1+random.IntN(4))
			for i := range sizes {
				sizes[i] = unit.Bytes(1 + random.IntN(100_000))
			}
			window, floor, first := 1+random.IntN(40), unit.Time(20+random.IntN(500))*us, random.IntN(5)
			nic := unit.NewRandom(seed, "nic")
			var d transport.NICDelays
			if nic.IntN(2) == 0 {
				d = transport.NICDelays{Ack: unit.Time(nic.IntN(300)) * us, Nack: unit.Time(nic.IntN(300)) * us}
			}
			w := newPipe(t, sizes, func(i int, c *Config) {
				c.Window, c.RTOMin, c.Priority, c.NIC = window, floor, i == first, d
			})
			w.wire, w.log = wire, &strings.Builder{}
			loss, back, twice, reorder := random.Float64()*0.2, random.Float64()*0.2, random.Float64()*0.1, random.Float64()*0.3
			trim, bounce := random.Float64()*0.9, random.Float64()*0.5
			if random.IntN(2) == 0 {
				loss, back = 0, 0
			}
			hook := func(loss float64) func(p *packet.Packet) fate {
				return func(p *packet.Packet) fate {
					f := fate{copies: 1}
					if random.Float64() < twice {
						f.copies = 2
					}
					if random.Float64() < loss {
						f.copies = 0
					}
					if random.Float64() < reorder {
						f.later = unit.Time(random.IntN(int(10 * us)))
					}
					if f.trim = random.Float64() < trim; f.trim {
						f.back = random.Float64() < bounce
					}
					return f
				}
			}
			w.onData, w.onBack = hook(loss), hook(back)
			w.runUntil(unit.Never - 1)
			w.done()
			if loss == 0 && back == 0 && twice < 0.01 && reorder < 0.01 && w.timeouts() > 0 &&
				max(d.Ack, d.Nack)+10*us < floor {
				t.Errorf("seed %d: nothing is lost, and there are %d timeouts", seed, w.timeouts())
			}
			for i := range w.s {
				timeouts, nacks, returned = timeouts+w.s[i].Timeouts(), nacks+w.r[i].nacks, returned+w.s[i].bounced
			}
			return w.log.String()
		}
		if outcome(false) != outcome(true) {
			t.Errorf("seed %d: bytes give another trace than fields", seed)
		}
	}
	if timeouts < 100 || nacks < 1000 || returned < 1000 {
		t.Errorf("the paths are too good: %d timeouts, %d NACKs, %d returned", timeouts, nacks, returned)
	}
}

// TestNoTimeoutsWithoutLoss checks that without loss there is never a timeout, for any trims and returns. Every packet
// that needs a PULL gets one, or is sent at once (doc.go has the argument).
func TestNoTimeoutsWithoutLoss(t *testing.T) { noTimeoutsWithoutLoss(t, 150) }

func noTimeoutsWithoutLoss(t *testing.T, seeds uint64) {
	t.Helper()
	for seed := range seeds {
		random := unit.NewRandom(seed, "lossless")
		sizes := make([]unit.Bytes, 1+random.IntN(6))
		for i := range sizes {
			sizes[i] = unit.Bytes(1 + random.IntN(80_000))
		}
		window := 1 + random.IntN(40)
		w := newPipe(t, sizes, func(_ int, c *Config) { c.Window = window })
		trim, bounce, reorder := random.Float64()*0.95, random.Float64()*random.Float64(), random.Float64()*random.Float64()
		delays := func(p *packet.Packet) fate {
			f := fate{copies: 1}
			if random.Float64() < reorder {
				f.later = unit.Time(random.IntN(int(10 * us)))
			}
			if f.trim = p.Kind == packet.Data && random.Float64() < trim; f.trim {
				f.back = random.Float64() < bounce
			}
			return f
		}
		w.onData, w.onBack = delays, delays
		w.runUntil(unit.Never - 1)
		w.done()
		if n := w.timeouts(); n > 0 {
			t.Errorf("seed %d: %d timeouts", seed, n)
		}
	}
}

// FuzzNDP_FinishesOverAnyPath runs scripts of events, two bytes each, in any order. Counts are right, and unless a
// packet was forged the flows finish.
func FuzzNDP_FinishesOverAnyPath(f *testing.F) {
	f.Add(uint8(0), uint16(9000), []byte{0, 9, 2, 0, 1, 1, 3, 0, 6, 0, 0, 9, 1, 0})
	f.Add(uint8(3), uint16(20_500), []byte{0, 20, 4, 3, 1, 3, 3, 0, 3, 1, 0, 5, 6, 0, 0, 3, 4, 0, 5, 0})
	f.Add(uint8(77), uint16(65_535), []byte{0, 30, 7, 0, 1, 2, 1, 5, 3, 9, 8, 3, 9, 200, 0, 9, 10, 77})
	f.Fuzz(func(t *testing.T, window uint8, size uint16, script []byte) {
		if size == 0 || len(script) > 2000 {
			return
		}
		w := newPipe(t, []unit.Bytes{unit.Bytes(size), 5000}, func(_ int, c *Config) { c.Window = 1 + int(window) })
		w.wire = true
		forged := false
		for i := 0; i+1 < len(script); i += 2 {
			n := int(script[i+1])
			at := 0
			if len(w.air) > 0 {
				at = n % len(w.air)
			}
			switch script[i] % 9 {
			case 0: // what comes next, n times
				for range n {
					w.step(unit.Never - 1)
				}
			case 1: // one is lost
				if len(w.air) > 0 {
					w.air = append(w.air[:at], w.air[at+1:]...)
				}
			case 2, 3: // one is trimmed, and sent back
				if len(w.air) > 0 && w.air[at].p.Kind == packet.Data && w.air[at].p.TCP.Flags&packet.Trimmable != 0 {
					p := w.air[at].p
					p.Size, p.Payload = p.Size-p.Payload, 0
					if script[i]%9 == 3 {
						p.SwapEnds()
						p.TCP.Flags = p.TCP.Flags&^packet.Trimmable | packet.Returned
					}
				}
			case 4: // one is doubled
				if len(w.air) > 0 {
					w.air = append(w.air, passage{w.air[len(w.air)-1].at, w.cross(w.air[at].p)})
				}
			case 5: // one overtakes
				if len(w.air) > 1 {
					w.air[at].p, w.air[0].p = w.air[0].p, w.air[at].p
				}
			case 6:
				w.now += unit.Time(n) * us
			case 7: // made up, to the sender
				forged = true
				p := answer(packet.Kind(n&7), int64(n>>3)*500, int64(n>>2)*500)
				p.TCP.Flags = uint8(n)
				w.s[0].Receive(w.now, p)
			case 8: // made up, to the receiver
				forged = true
				q := &packet.Packet{Kind: packet.Data, Seq: int64(n&15) * 1000, Ack: int64(n), Payload: int32(n>>7) * payload,
					SrcPort: 10, DstPort: 20, Proto: packet.ProtoOwn}
				q.TCP.Flags = uint8(n)
				before := w.r[0].queue.nextMember()
				w.r[0].Receive(w.now, q)
				w.stir(0, before)
			}
			w.check()
		}
		if !forged {
			w.runUntil(unit.Never - 1)
			w.done()
		}
	})
}

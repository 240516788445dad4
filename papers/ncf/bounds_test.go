package ncf

import (
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// TestCongestionAtCalm checks NCF §4.4, "until the load decreases": congestion ends when use falls below calm, and
// continues while use is exactly calm.
func TestCongestionAtCalm(t *testing.T) {
	for _, packets := range []bool{false, true} {
		m := memory(t, func(c *MemoryConfig) {
			if packets {
				c.Size, c.Packets = 0, 100
			}
		})
		for m.Fits(Elephants, 1000) {
			m.Book(0, Elephants, 1000)
		}
		for m.total() > m.congestionEnd {
			m.Unbook(0, Elephants, 1000)
		}
		if 2*m.total() != m.Size() || !m.IsCongested() {
			t.Errorf("packets %v: with %d of %d in use, congested: %v", packets, m.total(), m.Size(), m.IsCongested())
		}
		if m.Unbook(0, Elephants, 1000); m.IsCongested() {
			t.Errorf("packets %v: congested with %d of %d in use", packets, m.total(), m.Size())
		}
	}
}

// TestBudgetUnderPressure checks NCF §4.4, "to maintain a balance": the time of throttling returns while mice keep
// their balance. Mice with packets that are refused as beyond it do not keep it, although they never have more.
func TestBudgetUnderPressure(t *testing.T) {
	for _, presses := range []bool{false, true} {
		m := memory(t, nil) // a spike of 1 ms, which 4 windows of 1 ms restore
		take(m, 0, Elephants, 200)
		for range 60 {
			victim, ok := m.SelectVictim(0, Mice, 1000, false)
			if !ok {
				break
			}
			m.Unbook(0, victim, 1000)
			m.Book(0, Mice, 1000)
		}
		now := ms
		if m.entitled(now, Mice) != 47_500 {
			t.Fatal("the spike does not end")
		}
		for m.Used(Mice) > 47_000 {
			m.Unbook(now, Mice, 1000)
		}
		take(m, now, Elephants, 200)
		for ; now < 20*ms; now += 100 * us {
			if !presses {
				continue
			}
			if _, ok := m.SelectVictim(now, Mice, 1000, false); ok || m.ExceedsBalance(Mice) {
				t.Fatalf("at %v mice with %d get more than their balance", now, m.Used(Mice))
			}
		}
		if got := m.entitled(now, Mice); (got == 47_500) != presses {
			t.Errorf("mice that want more: %v; their entitlement after 19 ms: %d", presses, got)
		}
	}
}

// TestOfferToMice checks that the offer to one mouse of n flows is the target less control packets, divided by n. It is
// at least the scheduler's share of a class, divided by n, for any number of control packets.
func TestOfferToMice(t *testing.T) {
	for _, c := range []struct {
		name    string
		control float64 // bit/s
		want    float64 // together, bit/s
	}{{"no control packets", 0, 0.9e9}, {"some", 200e6, 0.7e9}, {"most of the port", 700e6, 0.45e9},
		{"more than the port", 1200e6, 0.45e9}} {
		t.Run(c.name, func(t *testing.T) {
			const flows = 10
			x := &offerSpy{}
			r := newRig(t, setup{ports: 3, queues: 3, after: []dataplane.Program{x}, given: []string{"memory", "200kB",
				"duration", "1ms", "target", "90%"}})
			x.g = r.g
			r.sent = func(unit.Time, packet.PortID, *packet.Packet) {}
			control, sent := 0.0, 0
			for now := unit.Time(0); now < 8*ms; now += us {
				if now%(100*us) == 0 {
					r.come(now, 0, r.data(1, 2, many(sent%flows), int64(sent)*100, 100))
					sent++
				}
				for control += c.control * 1e-6; control >= 1066*8; control -= 1066 * 8 {
					p := r.data(3, 2, 11, 0, 1000)
					p.Kind, p.Payload = packet.Probe, 0
					r.come(now, 2, p)
				}
			}
			if got := float64(x.rate) * flows; x.class != Mice || math.Abs(got-c.want) > 0.05*c.want {
				t.Errorf("%d mice are offered %.3g bit/s together, want %.3g", flows, got, c.want)
			}
		})
	}
}

// TestEarlyBegins checks early: an elephant is notified by its first packet that finds the given share of the memory in
// use by elephants, and by no earlier one.
func TestEarlyBegins(t *testing.T) {
	for early, from := range map[string]int64{"5%": 5_000, "20%": 20_000, "60%": 60_000} {
		r := newRig(t, setup{ports: 2, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "early", early,
			"every", "1us"}})
		now := r.fatten(ms, 1, 2, 9, 20)
		for i := range 90 {
			used, before := r.g.Memory(1).Used(Elephants), r.g.NackCounts().Nacks[packet.CauseElephant]
			r.come(now, 0, r.data(1, 2, 9, int64(20+i)*1000, 1000))
			notified := r.g.NackCounts().Nacks[packet.CauseElephant] > before
			if notified != (used >= from) {
				t.Errorf("early %s: with %d bytes of elephants in use, notified: %v", early, used, notified)
			}
			if now += us; notified {
				break
			}
		}
	}
}

// TestEvictionIsCongestion checks NCF §4.3, lack of available memory: a packet that fits only after an eviction starts
// congestion of the memory that lacked room, for any evicted class.
func TestEvictionIsCongestion(t *testing.T) {
	for _, c := range []struct {
		name    string
		control bool // instead of elephants
		setup   setup
		given   []string
	}{
		{"elephants of a port", false, setup{}, []string{"memory", "100kB"}},
		{"control packets of a port", true, setup{}, []string{"memory", "100kB"}},
		{"elephants in a port's part of a pool", false, setup{limit: tm.Limit{Bytes: 70_000}},
			[]string{"memory", "200kB", "pool", "switch"}},
		{"control packets in a port's part of a pool", true, setup{limit: tm.Limit{Bytes: 70_000}},
			[]string{"memory", "200kB", "pool", "switch"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.setup
			s.ports, s.queues = 3, 3
			s.given = append([]string{"least", "15kB", "top", "0", "congested", "100%"}, c.given...)
			r := newRig(t, s)
			now, class, size := r.fatten(ms, 1, 2, 9, 30), Elephants, int32(1066)
			if c.control {
				class, size = Control, 66
			}
			own := r.g.portAt(1).ownMemory()
			for i := 0; own.Fits(class, size); i++ {
				p := r.data(1, 2, 9, int64(30+i)*1000, size-66)
				if c.control {
					p.Kind = packet.Ack
				}
				r.come(now, 0, p)
			}
			if own.IsCongested() {
				t.Fatal("it is congested although all packets found room")
			}
			r.come(now, 2, r.data(3, 2, 100, 0, 1000))
			if n := r.g.NackCounts().Reclaimed; n == 0 || own.Used(Mice) != 1066 || !own.IsCongested() {
				t.Errorf("%d packets are evicted, mice use %d bytes, congested: %v", n, own.Used(Mice), own.IsCongested())
			}
		})
	}
}

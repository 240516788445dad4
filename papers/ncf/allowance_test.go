package ncf

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// hostile offers a port the given multiple of its rate, by senders that ignore NACKs. It returns the switch's output:
// data packets sent, NACKs, and the bytes of both.
func hostile(t *testing.T, s setup, flows, packets int, times float64) (r *rig, data, nacks, bytes, nackBytes int64) {
	r = newRig(t, s)
	r.sent = func(_ unit.Time, _ packet.PortID, p *packet.Packet) {
		if p.IsNotification() {
			nacks, nackBytes = nacks+1, nackBytes+int64(p.Size)
		} else {
			data, bytes = data+1, bytes+int64(p.Size)
		}
	}
	gap := unit.Time(float64(unit.TransmitTime(1066, s.rate)) / times)
	for i := range packets {
		flow := i % flows
		p := r.data(1, 2, uint16(10+flow), int64(i/flows)*1000, 1000)
		p.DstPort = uint16(80 + flow>>15)
		r.come(unit.Time(i)*gap, 0, p)
	}
	r.drain()
	return r, data, nacks, bytes, nackBytes
}

// TestAllowance_BoundsNacksToUnresponsiveSenders checks senders that ignore NACKs and continue at ten times the port's
// rate. NACKs are at most twice the departed packets and the first flights, for any flows, rates and buffers; the rest
// is dropped silently, and counted.
func TestAllowance_BoundsNacksToUnresponsiveSenders(t *testing.T) {
	for _, x := range []struct {
		flows  int
		rate   unit.Rate
		buffer string
		given  []string
	}{
		{1, unit.Gbps, "20kB", nil}, {8, unit.Gbps, "100kB", nil}, {8, unit.Gbps, "100kB", []string{"nack", "elephants"}},
		{8, unit.Gbps, "100kB", []string{"coalesce", "50us"}}, {1000, unit.Gbps, "20kB", nil},
		{8, 100 * unit.Gbps, "2MB", nil}, {1000, 100 * unit.Gbps, "100kB", nil}, {60_000, unit.Gbps, "20kB", nil},
	} {
		t.Run(fmt.Sprintf("%d flows, %v, %s, %v", x.flows, x.rate, x.buffer, x.given), func(t *testing.T) {
			given := append([]string{"memory", x.buffer, "duration", "50us", "top", "0"}, x.given...)
			s := setup{ports: 2, queues: 3, rate: x.rate, given: given}
			r, data, nacks, bytes, nackBytes := hostile(t, s, x.flows, 60_000, 10)
			counts, most := r.g.NackCounts(), int64(r.g.ports[1].maxOutstanding)
			drops := r.sw.DropCounts()
			named := int64(counts.Named)
			if n := drops[dataplane.Notified]; n > counts.Named || n+drops[dataplane.Evicted] < counts.Named {
				t.Errorf("%d were dropped as notified, %d evicted; %d were named", n, drops[dataplane.Evicted], named)
			}
			if limit := 2*data + int64(min(x.flows, allowanceSlots))*most; named > limit || nacks > named {
				t.Errorf("%d packets left; %d NACKs named %d, at most %d may be", data, nacks, named, limit)
			}
			if flights := int64(min(x.flows, allowanceSlots)) * most; flights < data/4 && nackBytes > bytes/4 {
				t.Errorf("%d bytes of NACKs, %d of data", nackBytes, bytes)
			}
			if int64(x.flows)*most < 20_000 && counts.NoBudget == 0 {
				t.Error("none dropped in silence")
			}
			gone := drops[dataplane.Notified] + drops[dataplane.BufferFull] + drops[dataplane.Evicted]
			if counts.Named+counts.Dropped != gone || counts.NoBudget > counts.Dropped {
				t.Errorf("%d packets are gone; %+v", gone, counts)
			}
		})
	}
}

// TestAllowance_LimitsAndRegainsNacks checks that a flow below the limit has every loss named. A flow that has used up
// its NACKs is notified again when other flows' packets have departed. Without a budget there is no limit.
func TestAllowance_LimitsAndRegainsNacks(t *testing.T) {
	a := newAllowance(1)
	const most = 20
	for range most {
		if !a.allows(7, most) {
			t.Fatal("too few")
		}
		a.spend(7)
	}
	if a.allows(7, most) {
		t.Error("too many")
	}
	if a.earn(7); !a.allows(7, most) {
		t.Error("a packet that left gave nothing back")
	}
	a.spend(7)
	for n := 0; !a.allows(7, most); n++ {
		if n > allowanceSlots {
			t.Fatal("others' packets give nothing back")
		}
		a.earn(8)
	}
	sum := uint64(0)
	for _, n := range a.owed {
		sum += uint64(n)
	}
	if sum != a.totalOwed {
		t.Errorf("%d are owed, %d are booked", sum, a.totalOwed)
	}
	for _, budget := range []string{"0", "1"} {
		r, _, _, _, _ := hostile(t, setup{ports: 2, queues: 3, rate: unit.Gbps,
			given: []string{"memory", "100kB", "duration", "50us", "nack_budget", budget}}, 8, 20_000, 4)
		if c := r.g.NackCounts(); (c.NoBudget == 0) != (budget == "0") {
			t.Errorf("nack_budget %s: %+v", budget, c)
		}
	}
}

// TestAllowance_EvictedPacketsReturnNoNack checks that an evicted packet has not departed: it uses a NACK of its flow,
// and returns none.
func TestAllowance_EvictedPacketsReturnNoNack(t *testing.T) {
	r := newRig(t, setup{ports: 3, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "top", "0"}})
	now := r.fatten(ms, 1, 2, 9, 30)
	for i := range 88 {
		r.come(now, 0, r.data(1, 2, 9, int64(30+i)*1000, 1000))
	}
	before := r.g.allowance.totalOwed
	for i := range 60 {
		r.come(now, 2, r.data(3, 2, uint16(100+i), 0, 1000))
	}
	n := r.g.NackCounts()
	if n.Reclaimed < 20 || before != 0 || r.g.allowance.totalOwed != n.Named {
		t.Errorf("%d are owed of %d that were named, %d of them evicted; before, %d", r.g.allowance.totalOwed, n.Named,
			n.Reclaimed,
			before)
	}
}

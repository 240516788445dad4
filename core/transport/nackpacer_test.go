package transport

import (
	"testing"

	"weir/core/unit"
)

// TestNACKPacerConserves checks that for a round trip after a NACK two packets go at once, and then one for each
// delivered packet.
func TestNACKPacerConserves(t *testing.T) {
	var h NACKPacer
	h.HandleNack(100*us, 20*us, false, 0, 1000)
	for range 2 {
		if h.NextSend() != 0 {
			t.Fatalf("the first ones wait until %v", h.NextSend())
		}
		h.RecordSend(100*us, 1)
	}
	if h.NextSend() != 120*us {
		t.Errorf("without a delivery the next goes at %v", h.NextSend())
	}
	if h.HandleDelivery(3, 20*us); h.NextSend() != 0 {
		t.Errorf("with one it goes at %v", h.NextSend())
	}
	if h.Update(110*us, 20*us, unit.Second, 5, 1); !h.InNackRound() {
		t.Error("the round trip is over too early")
	}
	if h.Update(120*us, 20*us, unit.Second, 5, 1); h.InNackRound() || h.NextSend() != 0 {
		t.Errorf("a loss among packets that arrive leaves a gap, until %v", h.NextSend())
	}
}

// TestNACKPacerGap checks the gaps. Resent packets go at the pace of the delivered ones. Without deliveries gaps double
// up to the offer's gap, then up to the gap of eight unsuccessful packets, and to the limit. Deliveries close gaps.
func TestNACKPacerGap(t *testing.T) {
	trip := func(h *NACKPacer, now unit.Time, delivered int, again bool, supply unit.Rate) unit.Time {
		h.HandleNack(now, 20*us, again, supply, 1000)
		if delivered > 0 {
			h.HandleDelivery(delivered, 20*us)
		}
		h.Update(now+20*us, 20*us, unit.Millisecond, 0, 1)
		return h.gap
	}
	var h NACKPacer
	if g := trip(&h, 0, 4, true, 0); g != 5*us {
		t.Errorf("4 packets in 20 us, and a gap of %v", g)
	}
	h = NACKPacer{}
	for i := range 8 {
		want := min(20*us<<i, unit.Millisecond)
		if g := trip(&h, unit.Time(i)*unit.Millisecond, 0, false, 0); g != want {
			t.Errorf("vain round trip %d: a gap of %v, want %v", i, g, want)
		}
	}
	const offer = 200 * unit.Mbps // 40 us a packet
	for _, bursts := range []bool{false, true} {
		h = NACKPacer{Bursts: bursts}
		most, patient := 120*us, 7 // three packets, until the eighth is in vain
		if bursts {
			most, patient = 40*us, 8 // one, until eight were
		}
		for i := range 15 {
			want := min(20*us<<i, most)
			if i >= patient {
				want = min(20*us<<i, 2*most)
			}
			if g := trip(&h, unit.Time(i)*unit.Millisecond, 0, false, offer); g != want {
				t.Errorf("bursts %v, vain round trip %d, with an offer: a gap of %v, want %v", bursts, i, g, want)
			}
		}
	}
	h = NACKPacer{Bursts: true}
	if g := trip(&h, 0, 0, false, unit.Gbps); g != 20*us { // 8 us a packet
		t.Errorf("an offer of more than a packet a round trip, and a gap of %v", g)
	}
	last := h.gap
	for n := 1; h.gap > 0; n++ {
		h.HandleDelivery(1, 20*us)
		if h.gap >= last || n > 100 {
			t.Fatalf("delivery %d leaves a gap of %v of %v", n, h.gap, last)
		}
		last = h.gap
	}
	if h.NextSend() != 0 {
		t.Errorf("without a gap the next packet waits until %v", h.NextSend())
	}
}

// TestNACKPacerRefuted checks that a NACK of a packet that arrives leaves no lasting gap.
func TestNACKPacerRefuted(t *testing.T) {
	h := NACKPacer{gap: 100 * us, minGap: 5 * us, nextSend: unit.Second}
	for _, want := range []unit.Time{25 * us, 6250 * unit.Nanosecond, 0} {
		if h.HandleRefutation(); h.gap != want || h.NextSend() != 0 {
			t.Errorf("a gap of %v until %v, want %v", h.gap, h.NextSend(), want)
		}
	}
}

// TestNACKPacerSpreads checks that senders that are notified at one time resume at different times, about a gap later.
func TestNACKPacerSpreads(t *testing.T) {
	sum, seen := unit.Time(0), map[unit.Time]bool{}
	for seed := range uint32(1000) {
		h := NACKPacer{gap: 100 * us}
		h.RecordSend(0, seed)
		if h.nextSend < 50*us || h.nextSend > 150*us {
			t.Fatalf("a gap of %v", h.nextSend)
		}
		sum += h.nextSend
		seen[h.nextSend] = true
	}
	if mean := sum / 1000; mean < 95*us || mean > 105*us || len(seen) < 300 {
		t.Errorf("gaps of %v on average, %d of 1000 differ", mean, len(seen))
	}
}

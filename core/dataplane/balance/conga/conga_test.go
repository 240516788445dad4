package conga_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/conga"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

const (
	us = unit.Microsecond
	ms = unit.Millisecond
)

var host = dataplanetest.HostAddress

// leaf returns leaf 0 of three, below the given number of spines: ports 0 and 1 are hosts'.
func leaf(t testing.TB, spines int, given ...string) *dataplanetest.SingleSwitch {
	t.Helper()
	a, err := dataplanetest.NewSingleSwitch(conga.Scheme(), dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 3,
		Up: spines},
		given...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// header is CONGA's of a packet: LBTag, CE, FB_LBTag, FB_Metric (§3.1).
func header(t testing.TB, p *packet.Packet) [4]byte {
	t.Helper()
	h, ok := p.Extension(conga.Extension)
	if !ok || len(h) != 4 {
		t.Fatalf("header %v", h)
	}
	return [4]byte(h)
}

// send sends a packet of a flow to another leaf. It returns the uplink from 0 and the header.
func send(t testing.TB, a *dataplanetest.SingleSwitch, now unit.Time, to int, flow uint16, size int32) (int, [4]byte) {
	t.Helper()
	out := a.ReceivePacket(now, 0, a.NewPacket(host(0, 0), host(to, 0), flow, size))
	if len(out) != 1 || out[0].Port < 2 {
		t.Fatalf("a packet to leaf %d: %d leave", to, len(out))
	}
	return int(out[0].Port) - 2, header(t, &out[0].Packet)
}

// deliverFeedback delivers a packet of another leaf. It has taken uplink lb with the congestion ce, and its feedback is
// fb for uplink fbTag.
func deliverFeedback(t testing.TB, a *dataplanetest.SingleSwitch, now unit.Time, from int, lb, ce, fbTag, fb byte) {
	t.Helper()
	p := a.NewPacket(host(from, 0), host(0, 1), 9, 108)
	p.SetExtension(conga.Extension, []byte{lb, ce, fbTag, fb})
	out := a.ReceivePacket(now, packet.PortID(2+lb), p)
	if len(out) != 1 || out[0].Port != 1 || out[0].HasExtensions() || out[0].Size != 100 {
		t.Fatalf("a packet to a host: %d leave, %d B, want it without the header, 100 B", len(out), out[0].Size)
	}
}

// TestEstimator_ConvergesToRate checks CONGA §3.2: X = R·τ at rate R, less the share α that one period removes. After τ
// it has 1 − (1−α)^(τ/T_dre) of that, the rise time of a first-order filter. CE is X in units of Cτ/2^Q, here with 128
// of them.
func TestEstimator_ConvergesToRate(t *testing.T) {
	for _, share := range []float64{0.1, 0.25, 0.5, 0.9} {
		t.Run(fmt.Sprint("share ", share), func(t *testing.T) {
			a := leaf(t, 1, "bits", "7", "age", "60s")
			gap := unit.Time(float64(800*unit.Nanosecond) / share) // 1000 B with their header at 10 Gb/s
			low, high, risen := byte(255), byte(0), byte(0)
			for now := unit.Time(0); now < 3200*us; now += gap {
				_, h := send(t, a, now, 1, 1, 992)
				if now <= 160*us {
					risen = h[1]
				}
				if now > 1600*us {
					low, high = min(low, h[1]), max(high, h[1])
				}
			}
			full := 128 * share // R·τ
			one := 128 * 1000 / (10e9 / 8 * 160e-6)
			if float64(high) > full+one || float64(high) < full-2-one || float64(low) < 0.9*full-2-one {
				t.Errorf("at %g of the rate CE is %d to %d, want %.1f to %.1f", share, low, high, 0.9*full, full)
			}
			if want := 0.65 * full; float64(risen) < 0.9*want-2 || float64(risen) > want+one {
				t.Errorf("at %g of the rate CE is %d after τ, want %.1f of %.1f", share, risen, want, full)
			}
			if _, h := send(t, a, a.Now+16*us*40, 1, 1, 992); float64(h[1]) > full/50+1 {
				t.Errorf("CE is %d after 40 periods without a packet, α = 0.1 each", h[1])
			}
		})
	}
}

// TestEstimator_QuantisesToThreeBits checks CONGA §3.2, three bits: each step is an eighth of the rate, and more than
// the rate is the last step. An event that changes a link's rate changes its steps.
func TestEstimator_QuantisesToThreeBits(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  byte
	}{{0.05, 0}, {0.2, 1}, {0.31, 2}, {0.57, 4}, {0.95, 7}, {1.5, 7}} {
		t.Run(fmt.Sprint("share ", c.share), func(t *testing.T) {
			a := leaf(t, 1)
			gap := unit.Time(float64(800*unit.Nanosecond) / c.share)
			high := byte(0)
			for now := unit.Time(0); now < 3200*us; now += gap {
				_, h := send(t, a, now, 1, 1, 992)
				if now > 1600*us {
					high = max(high, h[1])
				}
			}
			if high != c.want {
				t.Errorf("at %g of the rate CE is %d, want %d", c.share, high, c.want)
			}
			if c.want == 1 {
				a.Ports[2].SetRate(unit.LinkRate{Bits: 40 * unit.Gbps})
				send(t, a, a.Now, 1, 1, 992)
				if _, h := send(t, a, a.Now, 1, 1, 992); h[1] != 0 {
					t.Errorf("on a link four times as fast CE is %d", h[1])
				}
			}
		})
	}
}

// TestSpineRaises checks CONGA §3.3: a spine raises CE to its link's, and never lowers it. It leaves the other fields,
// and data within a leaf has no header.
func TestSpineRaises(t *testing.T) {
	s, err := dataplanetest.NewSingleSwitch(conga.Scheme(), dataplanetest.SwitchPosition{Tiers: 2, Tier: 2, Leaves: 3,
		Node:  3,
		Below: [][]int{{0}, {1}, {2}}})
	if err != nil {
		t.Fatal(err)
	}
	pass := func(now unit.Time, ce byte) [4]byte {
		p := s.NewPacket(host(0, 0), host(1, 0), 1, 1000)
		p.SetExtension(conga.Extension, []byte{5, ce, 2, 3})
		out := s.ReceivePacket(now, 0, p)
		if len(out) != 1 || out[0].Port != 1 || out[0].Size != 1000 {
			t.Fatalf("%d leave", len(out))
		}
		return header(t, &out[0].Packet)
	}
	if h := pass(0, 4); h != [4]byte{5, 4, 2, 3} {
		t.Errorf("an idle link makes %v of it", h)
	}
	for now := unit.Time(0); now < 500*us; now += 800 * unit.Nanosecond {
		pass(now, 0)
	}
	if h := pass(500*us, 4); h != [4]byte{5, 7, 2, 3} {
		t.Errorf("a busy link makes %v of it", h)
	}
	a := leaf(t, 2)
	if out := a.ReceivePacket(0, 0, a.NewPacket(host(0, 0), host(0, 1), 1, 1000)); len(out) != 1 || out[0].Port != 1 ||
		out[0].HasExtensions() {
		t.Errorf("within a leaf: %+v", out)
	}
}

// TestProgram_ReturnsFeedbackInTurn checks CONGA §3.1 and §3.3: the leaf numbers its uplinks by LBTag. A value that
// arrived with a tag returns in packets to that leaf only, one value per packet, in turn. Values that have changed
// since their last report go first.
func TestProgram_ReturnsFeedbackInTurn(t *testing.T) {
	a := leaf(t, 4)
	if _, h := send(t, a, 0, 1, 1, 100); h[2] != 0xff {
		t.Errorf("feedback %v before anything came", h)
	}
	for k := range byte(4) {
		deliverFeedback(t, a, us, 1, k, k+1, 0xff, 0)
	}
	got := func(n int) (tags []int) {
		for range n {
			up, h := send(t, a, 2*us, 1, uint16(n), 100)
			if int(h[0]) != up {
				t.Errorf("uplink %d has the tag %d", up, h[0])
			}
			if h[3] != h[2]+1 {
				t.Errorf("tag %d with %d, want %d", h[2], h[3], h[2]+1)
			}
			tags = append(tags, int(h[2]))
		}
		return tags
	}
	first := got(4)
	if x := slices.Sorted(slices.Values(first)); !slices.Equal(x, []int{0, 1, 2, 3}) {
		t.Fatalf("four packets tell of %v", first)
	}
	if again := got(4); !slices.Equal(again, first) {
		t.Errorf("then of %v, want the same turn %v", again, first)
	}
	deliverFeedback(t, a, 3*us, 1, 1, 2, 0xff, 0) // as before: no change
	if x := got(1)[0]; x != first[0] {
		t.Errorf("tag %d is told, it is the turn of %d", x, first[0])
	}
	deliverFeedback(t, a, 4*us, 1, 2, 7, 0xff, 0) // of tag 2 as it was: 3
	if up, h := send(t, a, 4*us, 1, 50, 100); h[2] != 2 || h[3] != 7 {
		t.Errorf("by uplink %d tag %d is told with %d, tag 2 has changed to 7", up, h[2], h[3])
	}
	if _, h := send(t, a, 4*us, 2, 51, 100); h[2] != 0xff {
		t.Errorf("leaf 2 is told of tag %d, from leaf 1", h[2])
	}
	// and decays, if it is not seen again
	for at, want := range map[unit.Time]byte{9 * ms: 7, 15 * ms: 3, 25 * ms: 1, 35 * ms: 0} {
		t.Run(fmt.Sprint("after ", at), func(t *testing.T) {
			b := leaf(t, 1)
			deliverFeedback(t, b, 0, 1, 0, 7, 0xff, 0)
			if _, h := send(t, b, at, 1, 52, 100); h[2] != 0 || h[3] != want {
				t.Errorf("after %v tag %d is told with %d, want 0 with %d", at, h[2], h[3], want)
			}
		})
	}
}

// TestLeaf_IgnoresFeedbackFromHosts checks that a leaf ignores feedback in a host's packets.
func TestLeaf_IgnoresFeedbackFromHosts(t *testing.T) {
	a := leaf(t, 2)
	p := a.NewPacket(host(0, 0), host(1, 0), 1, 108)
	p.SetExtension(conga.Extension, []byte{0, 7, 0, 7})
	if out := a.ReceivePacket(0, 0, p); len(out) != 1 || header(t, &out[0].Packet)[1] != 0 || header(t,
		&out[0].Packet)[2] != 0xff ||
		out[0].Size != 108 {
		t.Errorf("it leaves as %+v", out)
	}
}

// TestProgram_FlowletMinimisesCongestion checks CONGA §3.5: a new flowlet uses the uplink with the minimum of the
// larger of local and remote congestion, not the one with less local or less remote congestion.
func TestProgram_FlowletMinimisesCongestion(t *testing.T) {
	a := leaf(t, 3)
	deliverFeedback(t, a, 0, 2, 0, 0, 0, 7) // to leaf 2 all but uplink 1 is full
	deliverFeedback(t, a, 0, 2, 2, 0, 2, 7)
	now := unit.Time(0)
	for ; now < 500*us; now += 800 * unit.Nanosecond { // and now that is full too, locally
		if up, _ := send(t, a, now, 2, 1, 992); up != 1 {
			t.Fatalf("to leaf 2 by uplink %d, told is that 0 and 2 are full", up)
		}
	}
	deliverFeedback(t, a, now, 1, 0, 0, 0, 5)
	deliverFeedback(t, a, now, 1, 1, 0, 1, 1)
	deliverFeedback(t, a, now, 1, 2, 0, 2, 6)
	for flow := range uint16(20) {
		// uplink 0: max(0, 5), 1: max(7, 1), 2: max(0, 6)
		if up, _ := send(t, a, now, 1, 100+flow, 100); up != 0 {
			t.Fatalf("by uplink %d, want 0", up)
		}
	}
}

// TestProgram_KeepsUplinkInTies checks CONGA §3.5: among equal uplinks a flow keeps its last one, and a new flow uses a
// random one. Within a flowlet the uplink never changes.
func TestProgram_KeepsUplinkInTies(t *testing.T) {
	a := leaf(t, 4)
	count := [4]float64{}
	now := unit.Time(0)
	for flow := range uint16(400) {
		now += 100 * us
		first, _ := send(t, a, now, 1, flow, 100)
		count[first]++
	}
	for flow := range uint16(400) { // more than T_fl later
		now += 100 * us
		second, _ := send(t, a, now, 1, flow, 100)
		if count[second]--; count[second] < 0 {
			t.Fatal("flows have moved between uplinks that are as good")
		}
	}
	for flow := range uint16(400) {
		first, _ := send(t, a, now, 1, 1000+flow, 100)
		count[first]++
	}
	chi := 0.0
	for _, c := range count {
		chi += (c - 100) * (c - 100) / 100
	}
	if chi > 16.27 { // 99.9 %, three degrees of freedom
		t.Errorf("new flows over uplinks that are as good: %v, χ² %.1f", count, chi)
	}
	up, _ := send(t, a, now, 1, 5000, 100)
	deliverFeedback(t, a, now, 1, 0, 0, byte(up), 7)
	for range 5 {
		now += 499 * us
		if x, _ := send(t, a, now, 1, 5000, 100); x != up {
			t.Fatalf("a flowlet changes from uplink %d to %d", up, x)
		}
	}
	deliverFeedback(t, a, now, 1, 0, 0, byte(up), 7)
	if x, _ := send(t, a, now+500*us, 1, 5000, 100); x == up {
		t.Errorf("a new flowlet stays at uplink %d, which is full", up)
	}
}

// TestProgram_FeedbackAgesToZero checks CONGA §3.3: a value without a report for 10 ms decays to zero, so the path is
// tried again.
func TestProgram_FeedbackAgesToZero(t *testing.T) {
	at := func(now unit.Time) int {
		a := leaf(t, 2)
		deliverFeedback(t, a, 0, 1, 0, 0, 0, 7)
		deliverFeedback(t, a, now, 1, 0, 0, 1, 2)
		up, _ := send(t, a, now, 1, 1, 100)
		return up
	}
	// 7, 7, 3, 1, 0 against 2
	for now, want := range map[unit.Time]int{ms: 1, 10 * ms: 1, 11 * ms: 1, 21 * ms: 0, 90 * ms: 0} {
		t.Run(fmt.Sprint("after ", now), func(t *testing.T) {
			if up := at(now); up != want {
				t.Errorf("after %v the uplink is %d, want %d", now, up, want)
			}
		})
	}
}

// TestLinkDown checks that a leaf stops using a failed uplink at once, also within a flowlet. It notifies other leaves
// that traffic over it no longer arrives, and they stop using the path.
func TestLinkDown(t *testing.T) {
	a := leaf(t, 2)
	up, _ := send(t, a, 0, 1, 1, 100)
	a.Ports[2+up].SetDown(true)
	for flow := range uint16(50) {
		x, h := send(t, a, us, 1, 1+flow, 100)
		if x == up {
			t.Fatalf("flow %d goes by uplink %d, which is down", flow, x)
		}
		if h[2] != byte(up) || h[3] != conga.Unreachable {
			t.Fatalf("told is %d of tag %d, which comes by a link that is down", h[3], h[2])
		}
	}
	b := leaf(t, 2)
	up, _ = send(t, b, 0, 1, 1, 100)
	deliverFeedback(t, b, us, 1, 0, 0, byte(up), conga.Unreachable)
	if x, _ := send(t, b, 2*us, 1, 1, 100); x == up {
		t.Errorf("a flowlet goes on by uplink %d, by which leaf 1 is not reached", x)
	}
	for flow := range uint16(50) {
		if x, _ := send(t, b, 2*us, 1, 10+flow, 100); x == up {
			t.Fatalf("a flow begins by uplink %d, by which leaf 1 is not reached", x)
		}
	}
	both := 0
	for flow := range uint16(50) { // leaf 2 is
		x, _ := send(t, b, 2*us, 2, 100+flow, 100)
		both |= 1 << x
	}
	if both != 3 {
		t.Errorf("to leaf 2 uplinks %b are used", both)
	}
}

func TestScheme_RejectsUnsuitableSites(t *testing.T) {
	for want, where := range map[string]dataplanetest.SwitchPosition{
		"conga needs a leaf-spine network; this one has 3 tiers": {Tiers: 3, Tier: 1, Leaves: 4, Up: 2},
		"256 uplinks; allowed: at most 255":                      {Tiers: 2, Tier: 1, Leaves: 4, Up: 256},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := dataplanetest.NewSingleSwitch(conga.Scheme(), where)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	two := dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 2, Up: 2}
	if _, err := dataplanetest.NewSingleSwitch(conga.Scheme(), two, "tau", "160us", "period", "200us"); err == nil ||
		!strings.Contains(err.Error(), "period: 200us is above tau") {
		t.Errorf("a period above tau: %v", err)
	}
	for _, place := range []func() (*dataplane.TreePosition, error){nil, func() (*dataplane.TreePosition, error) {
		return nil,
			fmt.Errorf("s has two links to t")
	}} {
		_, err := dataplanetest.BuildProgram(conga.Scheme(), &dataplane.Site{Place: place,
			Random: func(e string) unit.Random {
				return unit.NewRandom(1, e)
			}})
		if err == nil {
			t.Error("no fat tree, and no error")
		}
	}
}

// FuzzProgram_SurvivesAnyHeader checks that no header in any packet causes a panic.
func FuzzProgram_SurvivesAnyHeader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, uint8(2), uint32(3), uint32(1))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint8(9), uint32(0), uint32(2))
	f.Add([]byte{}, uint8(3), uint32(99), uint32(500))
	f.Fuzz(func(t *testing.T, h []byte, in uint8, src, dst uint32) {
		a := leaf(t, 2)
		for k := range 3 {
			p := a.NewPacket(packet.Addr(src%200), packet.Addr(dst%200), uint16(k), 1000)
			p.SetExtension(conga.Extension, h[:min(len(h), 60)])
			p.Size += p.ExtensionBytes()
			for _, out := range a.ReceivePacket(unit.Time(k)*us, packet.PortID(in%4), p) {
				if out.Size != 1000+out.ExtensionBytes() {
					t.Errorf("%d B, extensions of %d", out.Size, out.ExtensionBytes())
				}
			}
			if a.Pool.LiveCount() != 0 {
				t.Error("a packet is lost")
			}
		}
	})
}

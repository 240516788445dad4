package hula_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/hula"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

const (
	us = unit.Microsecond
	ms = unit.Millisecond
)

var host = dataplanetest.HostAddress

// switches of a fat tree of three tiers, with two leaves a pod and two pods: a leaf with two
// uplinks, a spine of the first pod, with two, and a super spine.
var (
	leaf  = dataplanetest.SwitchPosition{Tiers: 3, Tier: 1, Leaves: 4, Up: 2}
	spine = dataplanetest.SwitchPosition{Tiers: 3, Tier: 2, Leaves: 4, Node: 4, Below: [][]int{{0}, {1}}, Up: 2}
	super = dataplanetest.SwitchPosition{Tiers: 3, Tier: 3, Leaves: 4, Node: 8, Below: [][]int{{0, 1}, {2, 3}}}
)

func newSwitch(t testing.TB, w dataplanetest.SwitchPosition, given ...string) *dataplanetest.SingleSwitch {
	t.Helper()
	a, err := dataplanetest.NewSingleSwitch(hula.Scheme(), w, given...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// probe is one of a ToR, with the utilisation that it has met.
func probe(a *dataplanetest.SingleSwitch, tor, util byte) *packet.Packet {
	p := a.NewPacket(host(int(tor), 0), host(int(tor), 0), 0, 66)
	p.Kind, p.Proto = packet.Probe, packet.ProtoRDMA
	p.SetExtension(hula.Extension, []byte{0, 0, tor, util})
	return p
}

// said returns the values of a probe.
func said(t testing.TB, p *packet.Packet) (tor, util int) {
	t.Helper()
	e, ok := p.Extension(hula.Extension)
	if !ok || len(e) != 4 || p.Kind != packet.Probe {
		t.Fatalf("%v of kind %d is no probe", e, p.Kind)
	}
	return int(e[0])<<16 | int(e[1])<<8 | int(e[2]), int(e[3])
}

func portsOf(out []dataplanetest.Departed) (ports []int) {
	for _, o := range out {
		ports = append(ports, int(o.Port))
	}
	slices.Sort(ports)
	return ports
}

// TestProgram_ReplicatesProbesByTier checks HULA §3.1: a ToR sends probes to all switches above. These forward probes
// from below to the tier above and to the other ToRs below, and probes from above only downward. A ToR forwards none.
func TestProgram_ReplicatesProbesByTier(t *testing.T) {
	for _, c := range []struct {
		where dataplanetest.SwitchPosition
		in    int
		tor   byte
		want  []int
	}{
		{leaf, 2, 3, nil}, {leaf, 3, 1, nil}, {leaf, 3, 0, nil},
		{spine, 0, 0, []int{1, 2, 3}}, {spine, 1, 1, []int{0, 2, 3}},
		{spine, 2, 3, []int{0, 1}}, {spine, 3, 2, []int{0, 1}},
		{super, 0, 1, []int{1}}, {super, 1, 2, []int{0}},
		{dataplanetest.SwitchPosition{Tiers: 2, Tier: 2, Leaves: 4, Node: 4, Below: [][]int{{0}, {1}, {2}, {3}}}, 1, 1,
			[]int{0, 2, 3}},
	} {
		t.Run(fmt.Sprintf("tier %d of %d, port %d, ToR %d", c.where.Tier, c.where.Tiers, c.in, c.tor), func(t *testing.T) {
			a := newSwitch(t, c.where)
			a.RunUntil(0)
			out := a.ReceivePacket(us, packet.PortID(c.in), probe(a, c.tor, 40))
			if got := portsOf(out); !slices.Equal(got, c.want) {
				t.Errorf("tier %d of %d: a probe from port %d leaves by %v, want %v", c.where.Tier, c.where.Tiers, c.in,
					got, c.want)
			}
			for _, o := range out {
				if tor, util := said(t, &o.Packet); tor != int(c.tor) || util != 40 {
					t.Errorf("tier %d: it says %d of ToR %d, want 40 of %d", c.where.Tier, util, tor, c.tor)
				}
			}
			if a.DropCounts() != [dataplane.Reasons]uint64{} || a.Pool.LiveCount() != 0 {
				t.Errorf("tier %d: drops %v, %d packets are left; the probe is taken in", c.where.Tier, a.DropCounts(),
					a.Pool.LiveCount())
			}
		})
	}
}

// TestProgram_SendsProbesEachPeriod checks HULA §3.1 and §4: a ToR sends a probe by each uplink in each period. Other
// switches send none.
func TestProgram_SendsProbesEachPeriod(t *testing.T) {
	for given, period := range map[string]unit.Time{"200us": 200 * us, "1ms": ms} {
		t.Run(given, func(t *testing.T) {
			a := newSwitch(t, leaf, "probe", given)
			out := a.RunUntil(20*period - 1)
			if n := len(out); n != 2*20 && n != 2*21 { // the one at 0, and one a period
				t.Errorf("%d probes in 20 periods by two uplinks", n)
			}
			for _, o := range out {
				if tor, util := said(t, &o.Packet); tor != 0 || util != 0 || o.Port < 2 || o.HopLimit != 1 {
					t.Errorf("a probe by port %d: ToR %d, %d, hop limit %d", o.Port, tor, util, o.HopLimit)
				}
			}
			if c := a.Program.(*hula.Program).Counts(); int(c.Sent) != len(out) || c.Received+c.Forwarded != 0 {
				t.Errorf("counted: %+v", c)
			}
		})
	}
	for _, w := range []dataplanetest.SwitchPosition{spine, super, {Tiers: 2, Tier: 1, Leaves: 1, Up: 2}} {
		t.Run(fmt.Sprintf("tier %d, %d leaves", w.Tier, w.Leaves), func(t *testing.T) {
			if out := newSwitch(t, w).RunUntil(ms); len(out) > 0 {
				t.Errorf("tier %d, %d leaves: %d probes", w.Tier, w.Leaves, len(out))
			}
		})
	}
}

// TestProbeSize checks HULA §4: a probe has the minimum size of a frame, in each framing, and its bytes are a frame.
func TestProbeSize(t *testing.T) {
	want := map[string]int32{"l2": 14 + 20 + 16 + 8, "wire": 60 + 24, "hpcc": 88, "hpcc_pint": 60,
		"hpcc_timely": 60, "hpcc_plain": 60, "htsim": 64}
	for _, f := range packet.Framings {
		w := leaf
		w.Framing = f
		a := newSwitch(t, w)
		for _, o := range a.RunUntil(0) {
			if o.Size != want[f.Name] {
				t.Errorf("%s: %d B, want %d", f.Name, o.Size, want[f.Name])
			}
			b, err := o.Emit(a.Book, nil)
			var p packet.Packet
			if err == nil {
				err = p.Parse(a.Book, b)
			}
			if err != nil {
				t.Fatal(err)
			}
			if tor, util := said(t, &p); tor != 0 || util != 0 || p.Hash != o.Hash || p.HopLimit != 1 || len(b) != 58 {
				t.Errorf("%s: %d B on the wire say ToR %d, %d", f.Name, len(b), tor, util)
			}
		}
	}
}

// busy sends the given share of a link's rate, 10 Gb/s, down to host 0 of leaf 1 for a while. It returns the time of
// its end.
func busy(a *dataplanetest.SingleSwitch, now, long unit.Time, share float64) unit.Time {
	gap := unit.Time(float64(800*unit.Nanosecond) / share)
	for end := now + long; now < end; now += gap {
		a.ReceivePacket(now, 0, a.NewPacket(host(0, 0), host(1, 0), 1, 1000))
	}
	return now
}

// TestProgram_ProbesCarryMaxUtilisation checks HULA §3.2: U = D + U·(1 − Δt/τ) is C·τ of a full link, and R·τ of one
// with the rate R. A probe carries the maximum of its previous value and the link on which data would travel to its
// origin.
func TestProgram_ProbesCarryMaxUtilisation(t *testing.T) {
	for _, share := range []float64{0, 0.2, 0.5, 0.8, 1} {
		t.Run(fmt.Sprint("share ", share), func(t *testing.T) {
			a := newSwitch(t, spine)
			now := 5 * ms
			if share > 0 {
				now = busy(a, 0, 5*ms, share)
			}
			for _, c := range []struct {
				met  byte
				want float64
			}{{0, 255 * share}, {100, max(100, 255*share)}} {
				out := a.ReceivePacket(now, 1, probe(a, 1, c.met))
				_, util := said(t, &out[0].Packet)
				if math.Abs(float64(util)-c.want) > 2 {
					t.Errorf("a probe that has met %d leaves with %d from a link used at %g, want %.0f", c.met, util, share, c.want)
				}
			}
			if out := a.ReceivePacket(now, 2, probe(a, 3, 7)); len(out) != 2 {
				t.Errorf("%d leave", len(out))
			} else if _, util := said(t, &out[0].Packet); util != 7 {
				t.Errorf("another link's load is taken: %d", util)
			}
			// after τ = 2 probe periods without a packet the utilisation is 0
			if _, util := said(t, &a.ReceivePacket(now+400*us, 1, probe(a, 1, 0))[0].Packet); util > 1 {
				t.Errorf("after τ the link that was used at %g has %d", share, util)
			}
		})
	}
	// rates that events change, and rates in packets/s
	w := spine
	w.Rates = []unit.LinkRate{{}, {Packets: 1000}}
	a := newSwitch(t, w, "probe", "100ms")
	for now := unit.Time(0); now < unit.Second; now += 2 * ms {
		a.ReceivePacket(now, 0, a.NewPacket(host(0, 0), host(1, 0), 1, 100))
	}
	if _, util := said(t, &a.ReceivePacket(unit.Second, 1, probe(a, 1, 0))[0].Packet); util < 125 || util > 129 {
		t.Errorf("500 of 1000 packets/s are %d of 255", util)
	}
	a.Ports[1].SetRate(unit.LinkRate{Packets: 2000})
	for now := unit.Second; now < 2*unit.Second; now += 2 * ms {
		a.ReceivePacket(now, 0, a.NewPacket(host(0, 0), host(1, 0), 1, 100))
	}
	if _, util := said(t, &a.ReceivePacket(2*unit.Second, 1, probe(a, 1, 0))[0].Packet); util < 62 || util > 65 {
		t.Errorf("500 of 2000 packets/s are %d of 255", util)
	}
}

// TestBestHop checks HULA §3.3: the best hop changes to a path with less load. A probe by the best hop itself always
// counts, and after some periods without one the next probe replaces it. The best path's value is forwarded.
func TestBestHop(t *testing.T) {
	a := newSwitch(t, spine)
	h := a.Program.(*hula.Program)
	if _, _, ok := h.BestHop(0, 3); ok {
		t.Error("a best hop before any probe")
	}
	for i, c := range []struct {
		at       unit.Time
		in       packet.PortID
		met      byte
		hop      packet.PortID
		util     byte
		because  string
		forwards int // with forward: best
	}{
		{us, 2, 100, 2, 100, "it is the first", 2},
		{2 * us, 3, 100, 2, 100, "as good is not better", 0},
		{3 * us, 3, 99, 3, 99, "better", 2},
		{4 * us, 3, 150, 3, 150, "the best hop's own, worse", 2},
		{5 * us, 2, 140, 2, 140, "better again", 2},
		{6 * us, 3, 145, 2, 140, "worse", 0},
		{5*us + 2*ms, 3, 200, 2, 140, "ten periods of 200 us: not yet aged", 0},
		{6*us + 2*ms, 3, 200, 3, 200, "aged", 2},
	} {
		out := a.ReceivePacket(c.at, c.in, probe(a, 3, c.met))
		if hop, util, ok := h.BestHop(c.at, 3); !ok || hop != c.hop || util != c.util {
			t.Errorf("%d (%s): hop %d with %d (%v), want %d with %d", i, c.because, hop, util, ok, c.hop, c.util)
		}
		if len(out) != 2 {
			t.Fatalf("%d: %d leave", i, len(out))
		}
		if _, util := said(t, &out[0].Packet); util != int(c.util) {
			t.Errorf("%d (%s): %d is passed on, want the best path's %d", i, c.because, util, c.util)
		}
	}
	if _, _, ok := h.BestHop(10*ms, 3); ok {
		t.Error("a best hop that nothing was heard of for 8 ms")
	}
	b := newSwitch(t, spine, "forward", "best")
	for i, c := range []struct {
		in   packet.PortID
		met  byte
		want int
	}{{2, 100, 2}, {3, 100, 0}, {3, 99, 2}, {3, 150, 2}, {2, 200, 0}} {
		if out := b.ReceivePacket(unit.Time(i)*us, c.in, probe(b, 3, c.met)); len(out) != c.want {
			t.Errorf("forward best, %d: %d leave, want %d", i, len(out), c.want)
		}
	}
}

// TestProgram_FlowletsKeepHop checks HULA §3.4: a flowlet keeps its hop, and a new one uses the best hop at that time.
// Data within a pod goes down. Before any probe, flows are spread by hash.
func TestProgram_FlowletsKeepHop(t *testing.T) {
	a := newSwitch(t, leaf)
	to := func(now unit.Time, leaf int, flow uint16) int {
		out := a.ReceivePacket(now, 0, a.NewPacket(host(0, 0), host(leaf, 0), flow, 1000))
		for _, o := range out {
			if o.Kind == packet.Data {
				return int(o.Port)
			}
		}
		return -1
	}
	used := 0
	for flow := range uint16(50) {
		at := unit.Time(flow) * ms
		port := to(at, 3, flow)
		used |= 1 << port
		if again := to(at+150*us, 3, flow); again != port {
			t.Errorf("before any probe flow %d goes by %d, then by %d", flow, port, again)
		}
	}
	if used != 0b1100 {
		t.Errorf("before any probe flows go by %b", used)
	}
	a = newSwitch(t, leaf)
	now := 10 * us
	a.ReceivePacket(now, 2, probe(a, 3, 50))
	a.ReceivePacket(now, 3, probe(a, 3, 60))
	a.ReceivePacket(now, 2, probe(a, 1, 60))
	a.ReceivePacket(now, 3, probe(a, 1, 50))
	for flow := range uint16(20) {
		if x, y := to(now, 3, flow), to(now, 1, 100+flow); x != 2 || y != 3 {
			t.Fatalf("to ToR 3 by %d, to ToR 1 by %d; want 2, 3", x, y)
		}
	}
	a.ReceivePacket(now, 3, probe(a, 3, 10))
	for range 4 {
		now += 99 * us
		if x := to(now, 3, 5); x != 2 {
			t.Fatalf("a flowlet changes to port %d", x)
		}
	}
	if x := to(now, 3, 6); x != 3 {
		t.Errorf("the next flowlet goes by %d, want 3", x)
	}
	if x := to(now+100*us, 3, 5); x != 3 {
		t.Errorf("after the gap the flow goes by %d, want 3", x)
	}
	if x := to(now, 0, 7); x != 0 {
		t.Errorf("to a host of its own by %d", x)
	}
}

// TestProgram_LeavesSilentHop checks HULA §3.3: a hop without probes has failed. A flowlet, even one without gaps,
// continues by another hop.
func TestProgram_LeavesSilentHop(t *testing.T) {
	a := newSwitch(t, leaf)
	changed := unit.Never
	for now := 10 * us; now < 5*ms; now += 50 * us {
		if now%(200*us) == 10*us {
			if now < ms { // port 2 is better, then silent
				a.ReceivePacket(now, 2, probe(a, 3, 5))
			}
			a.ReceivePacket(now, 3, probe(a, 3, 90))
		}
		for _, o := range a.ReceivePacket(now, 0, a.NewPacket(host(0, 0), host(3, 0), 1, 1000)) {
			if o.Kind == packet.Data && o.Port == 3 && changed == unit.Never {
				changed = now
			} else if o.Kind == packet.Data && o.Port == 2 && changed != unit.Never {
				t.Fatalf("back at %v", now)
			}
		}
	}
	if changed < 2810*us || changed > 3060*us { // 2 ms after the last, and up to one period for the next
		t.Errorf("the flow leaves the hop that is silent since 810 us at %v, want 2.81 to 3.06 ms", changed)
	}
}

// TestHostsSendNoProbes checks that a packet of a host with a probe's extension is forwarded like any other.
func TestHostsSendNoProbes(t *testing.T) {
	a := newSwitch(t, leaf)
	p := probe(a, 3, 0)
	p.Dst = host(2, 0)
	out := a.ReceivePacket(0, 0, p)
	if _, _, ok := a.Program.(*hula.Program).BestHop(0, 3); ok || len(out) == 0 {
		t.Error("a host's packet is taken as a probe")
	}
}

func TestScheme_RejectsUnsuitableSites(t *testing.T) {
	for _, place := range []func() (*dataplane.TreePosition, error){nil, func() (*dataplane.TreePosition, error) {
		return nil,
			fmt.Errorf("s has two links to t")
	}} {
		_, err := dataplanetest.BuildProgram(hula.Scheme(), &dataplane.Site{Place: place, Random: func(e string) unit.Random {
			return unit.NewRandom(1, e)
		}})
		if err == nil || !strings.HasPrefix(err.Error(), "hula") {
			t.Errorf("no fat tree: %v", err)
		}
	}
	if _, err := dataplanetest.NewSingleSwitch(hula.Scheme(), leaf, "probe", "1ns"); err == nil ||
		!strings.Contains(err.Error(), "1ns; allowed: 1us and more, or 0s") {
		t.Errorf("a probe period of 1 ns: %v", err)
	}
}

// FuzzProgram_SurvivesAnyProbe checks that any probe from any port causes no panic, and no probe circulates.
func FuzzProgram_SurvivesAnyProbe(f *testing.F) {
	f.Add([]byte{0, 0, 3, 200}, uint8(2), uint8(1))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint8(0), uint8(2))
	f.Add([]byte{1}, uint8(1), uint8(3))
	f.Fuzz(func(t *testing.T, e []byte, in, tier uint8) {
		w := []dataplanetest.SwitchPosition{leaf, spine, super}[tier%3]
		a := newSwitch(t, w)
		a.RunUntil(0)
		for k := range 3 {
			p := probe(a, 0, 0)
			p.SetExtension(hula.Extension, e[:min(len(e), 60)])
			if out := a.ReceivePacket(unit.Time(k)*us, packet.PortID(int(in)%len(a.Ports)), p); len(out) > 3 {
				t.Errorf("%d leave", len(out))
			}
			if a.Pool.LiveCount() != 0 {
				t.Error("a packet is lost")
			}
		}
	})
}

package run

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport/tcp"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/plan"
)

// frames gives packets 64 bytes in addition to the payload.
const frames = "framing: htsim\nmtu: 1000 B payload\n"

// TestFCTLast checks two flows of one packet, each 1064 B: 85.12 µs at 100, 851.2 µs at 10 Mb/s, and 2 ms of delay.
// The second waits for the first.
func TestFCTLast(t *testing.T) {
	r := first(t, line+frames+`
traffic:
  - {name: both, from: [a, b], to: c, transport: {window: {window: 10 packets}}, size: 1000 B, start: 3ms}
  - {name: late, from: a, to: c, transport: {window: {window: 10 packets}}, size: 1000 B, start: 1s, flows: 3}
  - {name: endless, from: b, to: c, transport: udp, rate: 1kbps, start: 1500ms}
measure: [fct_last]
`)
	const one = 85.12e-6 + 851.2e-6 + 2e-3
	testkit.CheckNear(t, "both", valueOf(r, t, "fct_last", "both"), one+851.2e-6, rounding)
	testkit.CheckNear(t, "goodput of both", valueOf(r, t, "incast_goodput", "both"), 2*8000/(one+851.2e-6), rounding)
	testkit.CheckNear(t, "late", valueOf(r, t, "fct_last", "late"), one+2*851.2e-6, rounding) // all from one NIC
	for _, m := range r.Measures {
		if len(m.Groups) != 2 {
			t.Errorf("%+v", m)
		}
	}
	r = first(t, line+frames+`
traffic: [{name: x, from: [a, b], to: c, transport: {window: {window: 10 packets}}, size: 100 kB, start: "0s"}]
events: [{at: 20ms, link: [a, s], down: true}]
measure: [fct_last]
`)
	if v := valueOf(r, t, "fct_last", "x") + valueOf(r, t, "incast_goodput", "x"); !math.IsNaN(v) {
		t.Errorf("of flows that do not end: %g", v)
	}
}

// TestOvershoot_IsShareOfBDP checks a window of ten packets on a path of 4.99264 ms (2·2 ms, a frame and an
// acknowledgement of 64 B on both links) and 10 Mb/s · 1000/1064 of payload.
func TestOvershoot_IsShareOfBDP(t *testing.T) {
	text := line + frames + `
traffic:
  - {name: ten, from: a, to: c, transport: {window: {window: 10 packets}}, size: 200 kB, start: "0s"}
  - {name: two, from: b, to: c, transport: {window: {window: 20 packets}}, size: 5 kB, start: "1s", flows: 2}
  - {name: plain, from: b, to: c, transport: udp, rate: 1kbps}
measure: [overshoot]
`
	r := first(t, text)
	const bdp = (4e-3 + (1064+64)*8/100e6 + (1064+64)*8/10e6) * 10e6 / 8 * 1000 / 1064
	testkit.CheckNear(t, "ten", valueOf(r, t, "overshoot", "ten"), 10_000/bdp, rounding)
	testkit.CheckNear(t, "ten at most", valueOf(r, t, "overshoot_max", "ten"), 10_000/bdp, rounding)
	testkit.CheckNear(t, "two", valueOf(r, t, "overshoot_max", "two"), 5_000/bdp, rounding) // all that there is
	if r = first(t, text+"warmup: 900ms\n"); !math.IsNaN(valueOf(r, t, "overshoot", "ten")) ||
		len(r.Measures[0].Groups) != 2 {
		t.Errorf("what ended before: %+v", r.Measures)
	}
}

// TestTimeouts_CountExpiredTimers checks the timeouts of a link that is down from 100 to 200 ms. The last
// acknowledgement arrives within 5 ms, and the timer of 10 ms expires at about 115, 135, 175 and 255 ms.
func TestTimeouts_CountExpiredTimers(t *testing.T) {
	text := line + frames + `
traffic:
  - {name: x, from: a, to: c, transport: {window: {window: 5 packets, timeout: 10ms}}, size: 2 MB, start: "0s"}
  - {name: tcp, from: b, to: c, transport: tcp, cc: reno, size: 1 kB, start: 120ms}
events: [{at: 100ms, link: [s, c], down: true}, {at: 200ms, link: [s, c], down: false}]
measure: [timeouts]
`
	if r := first(t, text); valueOf(r, t, "timeouts", "x") != 4 || valueOf(r, t, "timeouts", "tcp") != 0 {
		t.Errorf("%+v", r.Measures)
	}
	if r := first(t, text+"warmup: 150ms\n"); valueOf(r, t, "timeouts", "x") != 2 {
		t.Errorf("from 150 ms on: %+v", r.Measures)
	}
}

// TestReductionFrom checks the start of congestion. A queue that datagrams fill is longer than three packets at the
// arrival of the seventh: frames of 85.12 µs, one every 400 µs, and 851.2 µs to send each. A fixed window is never
// reduced.
func TestReductionFrom(t *testing.T) {
	text := line + frames + `
traffic:
  - {name: fast, from: a, to: c, transport: udp, rate: 20Mbps, gap_jitter: 0, start: 10ms}
  - {name: fixed, from: b, to: c, transport: {window: {window: 10 packets}}, size: 2 MB, start: 1s}
measure: [{reduction: {port: s->c, above: 3 packets}}]
`
	r := first(t, text)
	const from = 10e-3 + 85.12e-6 + 1e-3 + 6*400e-6
	testkit.CheckNear(t, "congestion", valueOf(r, t, "reduction_from", "fixed"), from, rounding)
	if !math.IsNaN(valueOf(r, t, "reduction", "fixed")) {
		t.Errorf("%+v", r.Measures)
	}
	r = first(t, strings.Replace(text, "3 packets", "11 packets", 1)) // the buffer has 10
	if !math.IsNaN(valueOf(r, t, "reduction_from", "fixed")) {
		t.Errorf("%+v", r.Measures)
	}
}

// TestReductionOfTCP checks that the reduction of reno after a loss is at most one sample before it shows in the
// window over time. Without a queue, congestion begins at a given time.
func TestReductionOfTCP(t *testing.T) {
	r := first(t, line+`
traffic: [{name: x, from: [a, b], to: c, transport: tcp, cc: reno, start: "0s"}]
measure: [{reduction: {port: s->c, above: 8 packets, by: 30%, of: $of}}, {cwnd: {every: 1ms, flows: 2}}]
sweep: {of: [first, all]}
`)
	from, took := valueOf(r, t, "reduction_from", "x"), valueOf(r, t, "reduction", "x")
	seen := math.Inf(1)
	for _, flow := range []string{"x.0", "x.1"} {
		s, top := overOf(r, t, "cwnd", flow), 0.0
		for k, v := range s.Values {
			if at := s.Time(k); at < from {
				top = float64(v)
			} else if top = max(top, float64(v)); float64(v) < 0.7*top {
				seen = min(seen, at)
				break
			}
		}
	}
	if at := from + took; !(took > 2e-3 && at <= seen && at > seen-1e-3) {
		t.Errorf("congestion at %g, reduced %g later; seen at %g", from, took, seen)
	}
	o := execute(t, line+`
traffic: [{name: x, from: [a, b], to: c, transport: tcp, cc: reno, start: "0s"}]
measure: [{reduction: {after: 100ms, of: $of}}]
sweep: {of: [first, all]}
`, Options{})
	if first, all := valueOf(o.Runs[0], t, "reduction", "x"), valueOf(o.Runs[1], t, "reduction", "x"); !(first > 0 &&
		all > first) {
		t.Errorf("first %g, all %g", first, all)
	}
	testkit.CheckNear(t, "from a time", valueOf(o.Runs[0], t, "reduction_from", "x"), 0.1,
		testkit.Tolerance{Relative: 1e-12})
}

// answering is a program that notifies the sender of each of its datagrams.
type answering struct{}

func (answering) Name() string { return "answering" }
func (answering) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Kind == packet.Data {
		n := env.NewPacket()
		n.Kind, n.Flow, n.Src, n.Dst, n.SrcPort, n.DstPort = packet.Notice, p.Flow, p.Src, p.Dst, p.SrcPort, p.DstPort
		n.Proto, n.Version, n.Size = packet.ProtoRDMA, 4, 64
		n.SwapEnds()
		env.SendPacket(n, p.Meta.In, 0)
	}
	return dataplane.Accept
}

// TestNacks_MeasureCountAndDelay checks that each of the 50 datagrams causes a notice, which takes 5.12 µs and 1
// ms. Claims can use all of these measures, in their units.
func TestNacks_MeasureCountAndDelay(t *testing.T) {
	r := room()
	r.Programs = append(r.Programs, dataplane.Scheme{Scheme: scheme.Scheme{Name: "answering", Doc: "answers"},
		Build: func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return answering{}, nil }})
	r.Controllers = append(r.Controllers, reno.Scheme())
	r.Transports = append(r.Transports, tcp.Scheme())
	text := strings.Replace(line, "[forward]", "[forward, answering]", 1) + frames + `
traffic:
  - {name: x, from: a, to: c, transport: udp, rate: 4Mbps, gap_jitter: 0, size: 50 kB, start: "0s"}
  - {name: y, from: b, to: c, transport: {window: {window: 10 packets, timeout: 20ms}}, size: 1 kB, start: "1s"}
measure: [nacks, timeouts, overshoot, reordering, fct_last, reduction]
plot: [{x: nacks_delay, y: cdf}]
expect:
  - {id: a, says: all come,
      that: nacks.made == 51 and nacks.delivered == nacks.made and nacks_lost < 1%}
  - {id: g, says: one a packet that arrives, that: nacks_cost.made == 1 and nacks_cost.sent == 1}
  - {id: f, says: nobody takes them, that: nacks.dropped + nacks.taken + nacks.refused == 0}
  - {id: b, says: soon, that: nacks_delay.mean < 1.1ms and nacks_delay.max < 1.1ms and nacks_delay.p50 > 900us}
  - {id: c, says: no more,
      that: timeouts.y == 0 and overshoot.y < 100% and overshoot_max.y > 1%}
  - {id: e, says: in order, that: reordering.x == 0 and reordering_extent.x < 1}
  - {id: d, says: quick, that: fct_last.y < 5ms and incast_goodput.y > 1Mbps}
`
	s := plantest.LoadSource(t, r, file("test.yaml", text), experiment.Options{})
	dir := t.TempDir()
	o, err := Execute(t.Context(), s, Options{Dir: dir})
	if err != nil || len(o.Runs) != 1 {
		t.Fatal(err, o.Failed)
	}
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%+v", c)
		}
	}
	run := o.Runs[0]
	testkit.CheckNear(t, "mean delay", valueOf(run, t, "nacks_delay", "mean"), 1e-3+5.12e-6, rounding)
	testkit.CheckNear(t, "median delay", valueOf(run, t, "nacks_delay", "p50"), 1e-3+5.12e-6,
		testkit.Tolerance{Relative: 0.008})
	if d := run.FindDistribution("nacks_delay", ""); d.Count() != 51 || !math.IsNaN(valueOf(run, t, "nacks_delay",
		"p99")) {
		t.Errorf("%+v", d)
	}
	data, err := os.ReadFile(filepath.Join(o.Dir, "runs.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"nacks_packets": {`, `"nacks_lost": 0`, `"nacks_delay_s": {`, `"timeouts": {`,
		`"overshoot_max": {`, `"reordering_extent_packets": {`,
		`"fct_last_s": {`, `"incast_goodput_bps": {`, `"reduction_s": {`, `"reduction_from_s": {`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("runs.json has no %s", want)
		}
	}
	if _, err := plan.Load(r, file("test.yaml", strings.Replace(text, "nacks_delay.mean < 1.1ms",
		"nacks_delay.mean < 1Mbps",
		1)), experiment.Options{}); err == nil {
		t.Error("a time is compared with a rate")
	}
}

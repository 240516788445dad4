package lab_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/pcapng"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab"
)

// loadConfig makes the lab's configuration of a spec's first run.
func loadConfig(text string) (*lab.Config, error) {
	s, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
	if err != nil {
		return nil, err
	}
	return run.LabConfig(plan.ListRuns(s)[0])
}

// configuration calls loadConfig for tests, and adds a lead.
func configuration(t testing.TB, text string) *lab.Config {
	t.Helper()
	c, err := loadConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	c.Lead = 5 * unit.Millisecond
	return c
}

// busy returns the frames that kernels send: for each flow of the configuration bursts of TCP segments, with
// acknowledgements in return, more than the links carry, and some frames of other kinds.
func busy(t testing.TB, c *lab.Config, until unit.Time, gap unit.Time) (script []lab.Arriving) {
	t.Helper()
	frame := func(p *packet.Packet) []byte {
		b, err := p.Emit(c.Wiring.Hosts, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for i, f := range c.Flows {
		random := unit.NewRandom(uint64(i), "busy")
		seq := int64(0)
		for at := c.Lead + unit.Time(random.Int64N(int64(gap))); at < until; at += unit.Time(random.Int64N(int64(2 * gap))) {
			for range 1 + random.IntN(8) {
				p := packet.Packet{Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), Version: f.Version, Proto: f.Proto,
					SrcPort: f.SrcPort, DstPort: f.DstPort,
					HopLimit: 64, TOS: packet.ECT0, Seq: seq, Payload: int32(1 + random.IntN(1400)), Kind: packet.Data}
				p.TCP.Flags, p.TCP.Present, p.TCP.TSVal = 0x10, packet.HasTimestamps, uint32(at/unit.Millisecond)
				seq += int64(p.Payload)
				script = append(script, lab.Arriving{At: at, Node: f.Src, Frame: frame(&p)})
				at += unit.Time(random.Int64N(int64(3 * unit.Microsecond)))
			}
			p := packet.Packet{Src: packet.Addr(f.Dst + 1), Dst: packet.Addr(f.Src + 1), Version: f.Version, Proto: f.Proto,
				SrcPort: f.DstPort, DstPort: f.SrcPort,
				HopLimit: 64, Ack: seq, Kind: packet.Ack}
			p.TCP.Flags = 0x10
			script = append(script, lab.Arriving{At: at, Node: f.Dst, Frame: frame(&p)})
			if random.IntN(20) == 0 { // a frame whose header is damaged
				b := frame(&p)
				b[20] ^= 0x55
				script = append(script, lab.Arriving{At: at, Node: f.Dst, Frame: b})
			}
		}
	}
	slices.SortStableFunc(script, func(a, b lab.Arriving) int { return int(a.At - b.At) })
	return script
}

const dumbbell = `
title: x
duration: 400ms
topology:
  hosts: [a, b, c]
  switches: [s1]
  links:
    - {ends: [a, s1], rate: 100Mbps, delay: 100us, buffer: 30 packets}
    - {ends: [b, s1], rate: 100Mbps, delay: 100us, buffer: 30 packets}
    - {ends: [s1, c], rate: 50Mbps, delay: 100us, buffer: 30 packets}
switch: %s
traffic:
  - {name: x, from: a, to: c, transport: tcp, cc: cubic, flows: 4, start: 0s}
  - {name: y, from: b, to: c, transport: tcp, cc: cubic, ip: 6, start: 0s}
  - {name: z, from: a, to: b, transport: {udp: {rate: 1Mbps}}, start: 0s}
events:
  - {at: 150ms, link: [s1, c], rate: 20Mbps}
  - {at: 200ms, link: [a, s1], down: true}
  - {at: 250ms, link: [a, s1], down: false}
measure: [goodput]
`

const fabric = `
title: x
duration: 10ms
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2, rate: 1Gbps, delay: 10us, buffer: 30 packets}}
addresses: hierarchical
switch: %s
traffic:
  - {name: x, from: "*", to: {stride: 2}, transport: tcp, cc: cubic, flows: 3, ip: 6, payload: 1400 B, start: 0s}
measure: [goodput]
`

// switches are the programs whose captures are replayed. Each has a mutant that differs a little, with the same
// name in the same place.
var switches = []struct {
	name, spec, programs, mutant string
	gap                          unit.Time // between bursts
}{
	{"forward", dumbbell, "[forward]", "[forward, {ecn: {kmin: 5kB, kmax: 5kB, pmax: 100%%}}]", 800 * unit.Microsecond},
	{"abc", dumbbell, "[forward, {abc: {memory: 300ms, reference: 10kbps, average_memory: 30ms, q_min: 6 packets, " +
		"q_base: 12 packets, gamma: 10 packets}}]",
		"[forward, {abc: {memory: 300ms, reference: 10kbps, average_memory: 30ms, q_min: 6 packets, q_base: 11 packets, " +
			"gamma: 10 packets}}]", 800 * unit.Microsecond},
	{"ecn, by chance", dumbbell, "[forward, {ecn: {kmin: 2kB, kmax: 20kB, pmax: 50%}}]",
		"[forward, {ecn: {kmin: 2kB, kmax: 20kB, pmax: 55%}}]", 800 * unit.Microsecond},
	{"ncf", dumbbell, "[forward, {ncf: {duration: 20ms, early: 30%}}]\nswitches:\n  s1: {queues: 3, scheduler: ncf, " +
		"programs: [forward, {ncf: {duration: 20ms, early: 30%}}]}",
		"[forward, {ncf: {duration: 20ms, early: 30%}}]\nswitches:\n  s1: {queues: 3, scheduler: ncf, programs: [forward, " +
			"{ncf: {duration: 8ms, early: 60%}}]}", 800 * unit.Microsecond},
	{"fair queues", dumbbell, "[forward]\nswitches:\n  s1: {scheduler: fq, programs: [forward]}",
		"[forward]\nswitches:\n  s1: {scheduler: {fq: {flows: 2}}, programs: [forward]}", 800 * unit.Microsecond},
	{"p4te", fabric, "[{p4te: {depth_delta: 5 packets, delay_delta: 60us, burst: 60us, gap: 100us, control_latency: " +
		"100us, table_write: 10us}}]",
		"[{p4te: {depth_delta: 6 packets, delay_delta: 60us, burst: 60us, gap: 100us, control_latency: 100us, " +
			"table_write: 10us}}]", 50 * unit.Microsecond},
	{"letflow", fabric, "[{letflow: {gap: 50us}}]", "[{letflow: {gap: 60us}}]", 50 * unit.Microsecond},
}

// replay replays a capture's switch.
func replay(t testing.TB, c *lab.Config, name string, file []byte) *lab.ReplayResult {
	t.Helper()
	r, err := lab.Replay(c, name, bytes.NewReader(file))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// without returns a capture without a frame that arrived at a switch and departed from it, the nth that arrived or
// a later one. The result gone reports whether there was one.
func without(t testing.TB, capture []byte, node string, nth uint64) (out []byte, gone bool) {
	all := read(t, capture)
	segment := func(f *trace.Frame) string { // what no switch changes: behind the IP header
		if f.Data[12] == 0x08 {
			return string(f.Data[packet.EthernetHeader+packet.IPv4Header:])
		}
		return string(f.Data[packet.EthernetHeader+packet.IPv6Header:])
	}
	left := map[string]bool{}
	for _, f := range all {
		if strings.HasPrefix(f.On, node+"->") && len(f.Data) > 200 {
			left[segment(&f)] = true
		}
	}
	n := uint64(0)
	return write(all, func(f *trace.Frame) bool {
		if !f.Inbound || !strings.HasSuffix(f.On, "->"+node+" in") {
			return true
		}
		if n++; n < nth || gone || len(f.Data) <= 200 || !left[segment(f)] {
			return true
		}
		gone = true
		return false
	}), gone
}

// read reads the frames of a capture.
func read(t testing.TB, capture []byte) (out []trace.Frame) {
	t.Helper()
	r, err := trace.NewFrameReader(bytes.NewReader(capture))
	if err != nil {
		t.Fatal(err)
	}
	for {
		f, err := r.NextFrame()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Data = bytes.Clone(f.Data)
		out = append(out, f)
	}
}

// write writes those that keep wants, and may change.
func write(all []trace.Frame, keep func(f *trace.Frame) bool) []byte {
	size := 0
	for i := range all {
		size += len(all[i].Data) + 200 // for its headers
	}
	b := trace.AppendSection(make([]byte, 0, size), "", "")
	numbers := map[string]int{}
	for _, f := range all {
		if _, there := numbers[f.On]; !there {
			numbers[f.On] = len(numbers)
			b = trace.AppendInterface(b, f.On)
		}
	}
	for _, f := range all {
		if on := numbers[f.On]; keep(&f) {
			b = trace.AppendFrame(b, on, f.At, f.Inbound, f.Data, []byte(f.Comment))
		}
	}
	return b
}

// TestCaptureCut checks that a capture without room ends there and reports it. Its part can be replayed.
func TestCaptureCut(t *testing.T) {
	c := configuration(t, fmt.Sprintf(dumbbell, "[forward]"))
	c.Capture = &lab.Capture{Switches: []string{"s*"}, Limit: 2_000_000}
	end := 200 * unit.Millisecond
	r, file := lab.Scripted(t, c, busy(t, c, end, 800*unit.Microsecond), func(now unit.Time) unit.Time {
		return now +
			unit.Millisecond
	}, end)
	x := r.Captured
	if x.Cut == unit.Never || x.Bytes > 2_001_000 || x.Bytes < 1_990_000 ||
		!strings.Contains(r.String(), "the capture is full") || len(r.Errors()) > 0 {
		t.Errorf("%+v: %v", x, r)
	}
	got := replay(t, c, "s1", file)
	if !got.Cut || got.Until != x.Cut || got.First != nil || got.Out < 500 || got.Out > x.Out {
		t.Errorf("%+v of %+v", got, x)
	}
}

// TestCaptureIsTrace checks that Weir's own reader of traces reads a capture: frames in and out, not events at ports.
func TestCaptureIsTrace(t *testing.T) {
	c := configuration(t, fmt.Sprintf(dumbbell, "[forward]"))
	c.Capture = &lab.Capture{Switches: []string{"s1"}}
	end := 400 * unit.Millisecond
	r, file := lab.Scripted(t, c, busy(t, c, end, 5*unit.Millisecond), func(now unit.Time) unit.Time {
		return now +
			unit.Millisecond
	}, end)
	var in, out, events uint64
	last := unit.Time(0)
	clock, err := pcapng.Read(bytes.NewReader(file), func(r *trace.Record) error {
		switch {
		case r.Node != "s1" || r.At < last || r.FrameBytes == 0:
			t.Errorf("%+v", r)
		case r.Kind == trace.Arrive:
			in++
		case r.Kind == trace.Transmit:
			out++
		}
		last = r.At
		return nil
	})
	for _, f := range read(t, file) {
		if len(f.Data) == 0 {
			events++
		}
	}
	if err != nil || !clock.IsZero() || in != r.Captured.In || out != r.Captured.Out || in == 0 || events != 4 {
		t.Errorf("%d in, %d out of %+v, %d events, %v, %v", in, out, r.Captured, events, clock, err)
	}
}

// TestBadCapture checks that a file that is no capture of the switch, or a damaged one, is an error that names the
// place.
func TestBadCapture(t *testing.T) {
	c := configuration(t, fmt.Sprintf(dumbbell, "[forward]"))
	c.Capture = &lab.Capture{Switches: []string{"s1"}}
	end := 160 * unit.Millisecond
	_, good := lab.Scripted(t, c, busy(t, c, end, 5*unit.Millisecond), func(now unit.Time) unit.Time {
		return now +
			unit.Millisecond
	}, end)
	all := read(t, good)
	change := func(n int, what func(f *trace.Frame)) []byte {
		k := 0
		return write(all, func(f *trace.Frame) bool {
			if k == n {
				f.Data = bytes.Clone(f.Data)
				what(f)
			}
			k++
			return true
		})
	}
	last := len(all) - 1
	inbound := slices.IndexFunc(all, func(f trace.Frame) bool { return f.Inbound })
	event := slices.IndexFunc(all, func(f trace.Frame) bool { return len(f.Data) == 0 })
	for want, b := range map[string][]byte{
		"the file is empty":      nil,
		"offset 0":               []byte("what is no pcapng at all"),
		"ends within a block":    good[:len(good)-3],
		"has no end":             write(all[:last], func(*trace.Frame) bool { return true }),
		"after the end":          write(append(slices.Clone(all), all[last]), func(*trace.Frame) bool { return true }),
		"the previous frame":     change(last-1, func(f *trace.Frame) { f.At = 1 }),
		"wrong direction":        change(inbound, func(f *trace.Frame) { f.Inbound = false }),
		"is unknown":             change(inbound, func(f *trace.Frame) { f.Comment = "made; of clay" }),
		"is not a size":          change(inbound, func(f *trace.Frame) { f.Comment = "size -1" }),
		"not an event of a port": change(event, func(f *trace.Frame) { f.Comment = "5 bit/h" }),
		"two frames arrive at":   change(inbound, func(f *trace.Frame) { f.At = 0 }),
	} {
		if r, err := lab.Replay(c, "s1", bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, r, err)
		}
	}
	if _, err := lab.Replay(c, "a", bytes.NewReader(good)); err == nil || !strings.Contains(err.Error(), `no switch "a"`) {
		t.Errorf("a host: %v", err)
	}
	// Ten more bytes, another port, a picosecond later are differences that are named.
	out := slices.IndexFunc(all, func(f trace.Frame) bool {
		return !f.Inbound && strings.HasPrefix(f.On, "s1->") &&
			len(f.Data) > 0
	})
	for want, b := range map[string][]byte{
		"the sizes of":      change(out, func(f *trace.Frame) { f.Data = append(f.Data, 1, 2, 3) }),
		"frames (byte 20)":  change(out, func(f *trace.Frame) { f.Data[20]++ }),
		"the times of sent": change(out, func(f *trace.Frame) { f.At++ }),
		"captured: nothing": write(all, func(f *trace.Frame) bool { return f.Inbound || len(f.Data) == 0 }),
	} {
		r := replay(t, c, "s1", b)
		if r.First == nil || !strings.Contains(r.First.String(), want) {
			t.Errorf("%s: %v", want, r.First)
		}
	}
}

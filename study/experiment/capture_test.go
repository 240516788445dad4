package experiment_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/pcapng"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// captureOf returns a run's trace in a pcapng file, and its records.
func captureOf(t *testing.T, text string, ports ...string) ([]byte, []trace.Record) {
	t.Helper()
	var b bytes.Buffer
	var w *pcapng.Writer
	records := plantest.RunTracedSpec(t, room(), text, func(ports []string) []trace.Sink {
		var err error
		if w, err = pcapng.NewWriter(&b, ports); err != nil {
			t.Fatal(err)
		}
		return []trace.Sink{w}
	}, ports...)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), records
}

// recorded is the captured experiment: TCP that loses packets, and datagrams, of IPv4 and IPv6.
const recorded = `duration: 300ms
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 20Mbps, delay: 2ms}
    - {ends: [b, s], rate: 20Mbps, delay: 1ms}
    - {ends: [s, c], rate: 10Mbps, delay: 2ms, buffer: 12 packets}
switch: [forward]
traffic:
`

const recordedTraffic = `
  - {name: four, from: a, to: c, transport: tcp, flows: 2, start: 0s, size: 90kB}
  - {name: six, from: b, to: c, transport: tcp, ip: 6, start: 20ms, size: 60kB}
  - {name: datagrams, from: b, to: a, transport: udp, rate: 1Mbps, start: 10ms}
`

// sent returns the IP lengths, in words, and the times of what a port has sent.
func sent(records []trace.Record, port string) (words []string, times []unit.Time) {
	for i := range records {
		if r := &records[i]; r.Kind == trace.Transmit && r.Port == port {
			words, times = append(words, fmt.Sprint(r.FrameBytes-14)), append(times, r.At)
		}
	}
	return words, times
}

// inFile returns a function that loads text with the given traffic. The file x.pcapng is the capture.
func inFile(t *testing.T, text string, capture []byte) func(string) (*experiment.Spec, error) {
	return func(traffic string) (*experiment.Spec, error) {
		src := file("x.yaml", text+traffic)
		src.Open = func(name string) ([]byte, error) {
			if name == "x.pcapng" || name == "flows" {
				return capture, nil
			}
			return nil, os.ErrNotExist
		}
		return plan.Load(room(), src, experiment.Options{})
	}
}

// TestCapturedPackets checks that a capture's packets are sent again at the same times, with the same lengths, by the
// hosts of their addresses. Each host sends what was captured there, to within 2 ns, since the file has nanoseconds.
// The capture's bytes are part of a run's identity.
func TestCapturedPackets(t *testing.T) {
	capture, before := captureOf(t, recorded+recordedTraffic, "a->s", "b->s")
	load := inFile(t, recorded, capture)
	const traffic = `  - {name: x, file: x.pcapng, as: packets, interfaces: ["a->s", b*], transport: udp,
      hosts: {10.0.0.1: a,
      10.0.0.2: b, 10.0.0.0/8: c, "fd00::2": b, "fd00::": a, "fd00::3": c}}
`
	if _, err := load(traffic); err == nil || !strings.Contains(err.Error(), "has no usable packet of fd00::/128") {
		t.Errorf("an address that is not there: %v", err)
	}
	right := strings.Replace(traffic, ` "fd00::": a,`, "", 1)
	s, err := load(right)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Points()[0]
	datagrams := 0
	for i := range p.Flows() {
		f := p.Flow(i)
		datagrams += f.CountDatagrams()
	}
	if p.Flows() != 3 || datagrams < 150 || len(s.Inputs()) != 1 {
		t.Errorf("%d flows with %d datagrams, %d inputs", p.Flows(), datagrams, len(s.Inputs()))
	}
	if estimate := plan.EstimateHops(plan.ListRuns(s)[0]); estimate != 2*float64(datagrams) {
		t.Errorf("%d datagrams over two links are estimated as %v packet-hops", datagrams, estimate)
	}
	if frames := plan.FramesPerSecond(p); frames < 700 || frames > 5000 {
		t.Errorf("%v frames a second", frames)
	}
	changed := bytes.Clone(capture)
	changed[len(changed)-9] ^= 1
	other, err := inFile(t, recorded, changed)(right)
	if err != nil || other.Points()[0].Canonical() == p.Canonical() {
		t.Errorf("the capture's bytes do not decide what a run is called: %v", err)
	}
	c, err := plan.Config(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	after := plantest.RunRecords(t, c, "a->s", "b->s")
	for _, port := range []string{"a->s", "b->s"} {
		want, at := sent(before, port)
		got, when := sent(after, port)
		if strings.Join(got, " ") != strings.Join(want, " ") || len(want) < 50 {
			t.Fatalf("%s: lengths %v, want %v", port, got, want)
		}
		for i := range at {
			if d := (when[i] - at[i]); d < -2*unit.Nanosecond || d > 2*unit.Nanosecond {
				t.Fatalf("%s: packet %d at %v, want %v", port, i, when[i], at[i])
			}
		}
	}
}

// TestCapturedFlows checks that captured connections of TCP become flows with the same bytes, which begin when the
// first packet was captured. Any transport carries them.
func TestCapturedFlows(t *testing.T) {
	capture, _ := captureOf(t, recorded+recordedTraffic, "*")
	for _, transport := range []string{"tcp", "rdma", "{window: {window: 10 packets}}"} {
		s, err := inFile(t, recorded, capture)("  - {name: x, file: x.pcapng, as: flows, offset: 20ms, transport: " +
			transport +
			", hosts: {10.0.0.1: a, 'fd00::2': b, 10.0.0.3: c, 'fd00::3': c}}\n")
		if err != nil {
			t.Fatal(err)
		}
		p := s.Points()[0]
		var got []string
		for i := range p.Flows() {
			f := p.Flow(i)
			got = append(got, fmt.Sprintf("%d>%d %v %v", f.Src, f.Dst, f.Size, int64(f.Start/unit.Millisecond)))
		}
		if want := "1>2 60kB 16"; strings.Join(got, "; ") != want {
			t.Errorf("%s, want %s", strings.Join(got, "; "), want)
		}
		if all := strings.Join(testkit.FormatAll(s.Warnings()), "\n"); !strings.Contains(all, "2 before the offset") {
			t.Errorf("warnings: %s", all)
		}
	}
}

// TestBadCaptureTraffic checks that impossible keys of a capture are errors with their place, or warnings.
func TestBadCaptureTraffic(t *testing.T) {
	capture, _ := captureOf(t, recorded+recordedTraffic, "*")
	load := inFile(t, recorded, capture)
	for want, text := range map[string]string{
		`"x.pcapng" is a packet capture; the key as is missing`: `transport: udp`,
		"transport rdma cannot carry packets of a capture; allowed: transport: udp or as: flows": "as: packets, " +
			"transport: rdma",
		`unknown value of as "segments"; allowed: flows, packets`: "as: segments, transport: tcp",
		`unknown udp parameter "rate"`:                            "as: packets, transport: udp, rate: 1Mbps",
		"a capture states its own format (pcapng or pcap)":        "as: flows, transport: tcp, format: hpcc",
		`"size" is given together with a capture, which already has the flows or packets; allowed: remove size, or ` +
			"remove file and as": "as: flows, transport: tcp, size: 1kB",
		"has packets of 5 addresses, but the topology has 3 hosts": "as: packets, transport: udp",
		`"10.0.0" is neither an address nor a prefix`: "as: flows, transport: tcp, hosts: " +
			"{10.0.0: a}",
		`"10.0.0.1/8" is neither an address nor a prefix`: "as: flows, transport: tcp, hosts: " +
			"{10.0.0.1/8: a}",
		`"s" is a switch`:                         "as: flows, transport: tcp, hosts: {10.0.0.1: s}",
		"hosts of a capture is not a map":         "as: flows, transport: tcp, hosts: [a]",
		`unknown host "d"`:                        "as: flows, transport: tcp, hosts: {10.0.0.1: d}",
		"x.pcapng has no usable TCP connection (": "as: flows, transport: tcp, port: 9",
		"x.pcapng has no usable packet (": "as: packets, transport: udp, offset: 1s, hosts: " +
			"{\"::/0\": a}",
		`"[" is neither the name of an interface nor a pattern`: `as: packets, transport: udp, interfaces: "["`,
		"has an IP packet of 1500 bytes, but packets of the traffic have at most 1028": "as: packets, transport: udp, " +
			"payload: 1000 B, hosts: {0.0.0.0/0: a, 10.0.0.3: c}",
	} {
		t.Run(want, func(t *testing.T) {
			_, err := load("  - {name: x, file: x.pcapng, " + text + "}\n")
			var all document.InputErrors
			if !errors.As(err, &all) || !strings.Contains(err.Error(), want) || all[0].Line < 11 {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	for want, b := range map[string][]byte{
		"x.pcapng: block 1 at offset 0: the file begins with 0x68656c6c": []byte("hello, world"),
		"x.pcapng: block 3 at offset 164: ":                              capture[:200],
	} {
		t.Run(want, func(t *testing.T) {
			_, err := inFile(t, recorded, b)("  - {name: x, file: x.pcapng, as: flows, transport: tcp}\n")
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	if _, err := load("  - {name: x, file: flows, format: hpcc, interfaces: a, transport: tcp}\n"); err == nil ||
		!strings.Contains(err.Error(), `"interfaces" applies only to captures`) {
		t.Error(err)
	}
	s, err := load("  - {name: x, file: x.pcapng, as: packets, transport: udp, hosts: {0.0.0.0/0: a, 10.0.0.3: c}}\n")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(testkit.FormatAll(s.Warnings()), "\n")
	for _, want := range []string{"x.yaml:11:21: traffic x: x.pcapng: packets are left out: ",
		"from or to an address that the key hosts does not list", "within one host", "packets of 6 interfaces are used"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
}

package experiment_test

import (
	"errors"
	"strings"
	"testing"

	"weir/core/dataplane/feedback/inband"
	"weir/core/telemetry"
	"weir/core/transport/rdma"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/study/experiment"
	"weir/study/plan"
)

// telling returns the registry of room with what telemetry needs.
func telling() *experiment.Registry {
	r := room()
	r.Programs = append(r.Programs, inband.Scheme())
	r.Transports = append(r.Transports, rdma.Scheme())
	r.Controllers = append(r.Controllers, hpcc.Scheme(), hpcc.PINTScheme(), hpcc.RxScheme())
	return r
}

const told = `title: telemetry
duration: 1ms
framing: hpcc
mtu: 1000 B payload
topology:
  hosts: [a, b]
  switches: [s, t]
  links:
    - {ends: [a, s], rate: 10Gbps, delay: 1us}
    - {ends: [s, t], rate: 40Gbps, delay: 1us}
    - {ends: [t, b], rate: 10Gbps, delay: 1us}
switches:
  "*": {programs: [forward, {telemetry: {t: 13us, multi: 2}}]}
  t: {clock: {resolution: 1ns, offset: -5us, drift: 20ppm}}
traffic:
  - {name: x, from: a, to: b, transport: rdma, cc: hpcc, size: 10kB, start: 0s}
`

// TestTelemetryDecode checks that the program's format is the hosts', too, that other rates have codes, that framing
// hpcc includes telemetry, and that clocks are the switches'. The resolved spec shows the defaults.
func TestTelemetryDecode(t *testing.T) {
	s := plantest.LoadSource(t, telling(), file("test.yaml", told), experiment.Options{})
	r := plan.ListRuns(s)[0]
	f := r.SpecPoint.Telemetry()
	if f == nil || f.HPCC.Multi != 2 || f.LoadInterval != 13*unit.Microsecond || !f.InFraming ||
		f.HPCC.Rates[5] != 10*unit.Gbps ||
		f.HPCC.Rates[6] != 40*unit.Gbps {
		t.Errorf("%+v", f)
	}
	c, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Wiring.Switches[3].Clock; got != (telemetry.Clock{Resolution: unit.Nanosecond,
		Offset: -5 * unit.Microsecond,
		Drift:  20}) || c.Wiring.Switches[2].Clock != (telemetry.Clock{}) {
		t.Errorf("%+v, %+v", got, c.Wiring.Switches[2].Clock)
	}
	if text := string(s.Resolved()); !strings.Contains(text, "congested_load: 80%") ||
		!strings.Contains(text, "telemetry: packet") {
		t.Errorf("defaults are silent:\n%s", text)
	}
	if w := testkit.FormatAll(s.Warnings()); len(w) != 1 || !strings.Contains(w[0], "multi: 2") {
		t.Errorf("%q", w)
	}
	// without the program, windows keep their initial size, and a warning reports it where a queue can grow
	s, err = plan.Load(telling(), file("test.yaml", strings.NewReplacer(", {telemetry: {t: 13us, multi: 2}}", "",
		"[a, s], rate: 10Gbps", "[a, s], rate: 40Gbps").Replace(told)), experiment.Options{})
	if err != nil || len(s.Warnings()) != 1 || !strings.Contains(s.Warnings()[0].Text, "no switch writes telemetry") {
		t.Errorf("%v, %q", err, s.Warnings())
	}
}

// TestCoarseUnits checks that units of HPCC's format that are coarse for the slowest link cause a warning with their
// place. 128 B at 25 Gb/s do not, nor does as much time at other rates, as long as a packet is more than a unit.
func TestCoarseUnits(t *testing.T) {
	for _, x := range []struct {
		slow, fast, program string
		coarse              bool
	}{
		{"10Gbps", "100Gbps", "telemetry", false}, {"10Gbps", "100Gbps", "{telemetry: {multi: 1}}", false},
		{"25Gbps", "100Gbps", "{telemetry: {multi: 2}}", true}, {"100Gbps", "400Gbps", "{telemetry: {multi: 4}}", false},
		{"100Gbps", "400Gbps", "{telemetry: {multi: 5}}", true}, {"400Gbps", "400Gbps", "{telemetry: {multi: 8}}", false},
		{"400Gbps", "400Gbps", "{telemetry: {multi: 16}}", true},
		{"25Gbps", "100Gbps", "{telemetry: {format: int-md}}", false},
	} {
		t.Run(x.slow+" and "+x.fast+", "+x.program, func(t *testing.T) {
			text := strings.NewReplacer("10Gbps", x.slow, "40Gbps", x.fast, "{telemetry: {t: 13us, multi: 2}}", x.program).
				Replace(told)
			s := plantest.LoadSource(t, telling(), file("test.yaml", text), experiment.Options{})
			w := testkit.FormatAll(s.Warnings())
			if !x.coarse && len(w) > 0 || x.coarse && (len(w) != 1 || !strings.HasPrefix(w[0], "test.yaml:13:29: program "+
				"telemetry: multi: ") || !strings.Contains(w[0], ", of "+x.slow+", so its load")) {
				t.Errorf("%q", w)
			}
		})
	}
}

// TestTelemetryErrors checks that impossible telemetry is reported with its place.
func TestTelemetryErrors(t *testing.T) {
	for _, x := range []struct{ old, new, want string }{
		{"20ppm", "20", "not a valid clock drift"}, {"-5us", "-5", "not a valid clock offset"}, {"-5us", "2h",
			"not a valid clock offset"},
		{"1ns,", "0s,", "above 0"},
		{"resolution: 1ns", "resolutoin: 1ns", `did you mean "resolution"`}, {"20ppm", "1e9ppm", "not a valid clock drift"},
		{"  t: {clock", "  t: {programs: [forward, telemetry], clock", "writes telemetry in another format"},
		{"t: 13us, multi: 2", "t: 13us, multi: 0", "multi"},
		{"t: 13us, ", "", ""}, {"cc: hpcc", "cc: hpcc_pint", ""},
		{"t: 13us, multi: 2}}]}", "multi: 2}}]}", ""},
		{"cc: hpcc,", "cc: hpcc, telemetry: sometimes,", `"sometimes"`},
	} {
		t.Run(x.old+" is "+x.new, func(t *testing.T) {
			_, err := plan.Load(telling(), file("test.yaml", strings.Replace(told, x.old, x.new, 1)), experiment.Options{})
			var e document.InputErrors
			switch {
			case x.want == "" && err != nil:
				t.Errorf("%s: %v", x.new, err)
			case x.want != "" && (!errors.As(err, &e) || !strings.Contains(err.Error(), x.want) || e[0].Line < 1):
				t.Errorf("%s: %v", x.new, err)
			}
		})
	}
	for _, traffic := range []string{"cc: hpcc_pint", "cc: hpcc, telemetry: congestion"} { // both need averages
		t.Run(traffic, func(t *testing.T) {
			text := strings.Replace(strings.Replace(told, "t: 13us, ", "", 1), "cc: hpcc", traffic, 1)
			if _, err := plan.Load(telling(), file("test.yaml", text), experiment.Options{}); err == nil ||
				!strings.Contains(err.Error(), "average loads") {
				t.Errorf("%s: %v", traffic, err)
			}
		})
	}
	odd := strings.NewReplacer("ends: [a, s], rate: 10Gbps", "ends: [a, s], rate: 11Gbps", "ends: [t, b], rate: 10Gbps",
		"ends: [t, b], rate: 12Gbps",
		"hosts: [a, b]", "hosts: [a, b, c, d]", "delay: 1us}\nswitches",
		"delay: 1us}\n    - {ends: [c, s], rate: 13Gbps, delay: 1us}\n    - {ends: [d, t], rate: 14Gbps, delay: "+
			"1us}\nswitches")
	if _, err := plan.Load(telling(), file("test.yaml", odd.Replace(told)), experiment.Options{}); err == nil ||
		!strings.Contains(err.Error(), "8 rate codes") {
		t.Errorf("%v", err)
	}
}

package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

const collectiveSpec = `duration: 1s
framing: hpcc
mtu: 1000 B payload
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: %d, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
traffic:
  - {name: reduce, job: {all_reduce_flows: {algorithm: %s, size: %d B}}, hosts: "*", start: 3us,
     transport: udp, rate: 200Gbps}
measure: [collective, fct]
`

// TestRingTime checks the time of a ring on one switch. Datagrams have no acknowledgements, so steps of k frames
// take (k+1)·tx + 2·delay each, and 2(n−1) of them follow each other.
func TestRingTime(t *testing.T) {
	const tx, delay = 1090 * 8 * unit.Nanosecond / 100, unit.Microsecond
	for _, n := range []int{2, 3, 8} {
		for _, k := range []int{1, 7} {
			s := plantest.Load(t, room(), fmt.Sprintf(collectiveSpec, n, "ring", n*k*1000), experiment.Options{})
			o, err := Execute(context.Background(), s, Options{})
			if err != nil || len(o.Failed) > 0 {
				t.Fatal(err, o.Failed)
			}
			got, want := o.Runs[0].Measures[0].Groups[0].Value, (unit.Time(2*(n-1)) * (unit.Time(k+1)*tx + 2*delay)).Seconds()
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%d hosts, %d frames: %v s, not %v", n, k, got, want)
			}
			f := o.Runs[0].Flows
			for i := range f.StartS {
				step := unit.Time(i / n)
				if at := (3*unit.Microsecond + step*(unit.Time(k+1)*tx+
					2*delay)).Seconds(); math.Abs(float64(f.StartS[i])-at) > 1e-12 {
					t.Fatalf("flow %d of step %d starts at %v s, not %v", i, step, f.StartS[i], at)
				}
			}
		}
	}
}

// TestTreeTime checks the time of a tree of three. Both leaves send everything to the root at once, over the root's
// link, and the root sends it back to both.
func TestTreeTime(t *testing.T) {
	const tx, delay, k = 1090 * 8 * unit.Nanosecond / 100, unit.Microsecond, 5
	s := plantest.Load(t, room(), fmt.Sprintf(collectiveSpec, 3, "tree", k*1000), experiment.Options{})
	o, err := Execute(context.Background(), s, Options{})
	if err != nil || len(o.Failed) > 0 {
		t.Fatal(err, o.Failed)
	}
	got, want := o.Runs[0].Measures[0].Groups[0].Value, (2 * ((2*k+1)*tx + 2*delay)).Seconds()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%v s, not %v", got, want)
	}
}

// TestCollectiveSame checks that collectives over acknowledging transports, with drops, have the same results for
// any window of execution, and with packets in wire form.
func TestCollectiveSame(t *testing.T) {
	for _, transport := range []string{"tcp, cc: cubic", "window, window: 20 packets"} {
		s := plantest.Load(t, room(), `duration: 2s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 4, rate: 10Gbps, delay: 3us, buffer: 20 packets}}
switch: [ecmp]
traffic:
  - {name: ring, job: {all_reduce_flows: {algorithm: ring, size: 1MB}}, hosts: "*", transport: `+transport+`}
  - {name: tree, job: {all_reduce_flows: {algorithm: tree, size: 200kB}}, hosts: [h3, h0, h5, h6],
     transport: `+transport+`}
measure: [collective]
`, experiment.Options{})
		first := ""
		for i, change := range []func(c *sim.Config){
			func(*sim.Config) {}, func(c *sim.Config) { c.Window = unit.Microsecond }, func(c *sim.Config) {
				c.Window = 7 * unit.Nanosecond
			}, func(c *sim.Config) { c.Wire = true },
		} {
			c, err := plan.Config(s.Points()[0], 7)
			if err != nil {
				t.Fatal(err)
			}
			change(c)
			res := plantest.Simulate(t, c)
			if res.End != outcome.AllDone {
				t.Errorf("%s: %v, %d unfinished", transport, res.End, len(res.Unfinished))
			}
			out := ""
			for k := range res.Flows {
				f := &res.Flows[k]
				out += fmt.Sprintln(k, f.Start, f.FCT, f.Arrived, f.Sender.Retransmitted)
				for _, a := range c.Flows[k].After {
					if f.Start < res.Flows[a].Arrived {
						t.Errorf("%s: flow %d starts at %v, flow %d arrives at %v", transport, k, f.Start, a, res.Flows[a].Arrived)
					}
				}
			}
			if i == 0 {
				first = out
			} else if out != first {
				t.Errorf("%s: form %d differs", transport, i)
			}
		}
	}
}

// TestCollectiveErrors checks the errors of an impossible all-reduce of flows, with the job and with the old key.
func TestCollectiveErrors(t *testing.T) {
	for traffic, want := range map[string]string{
		`collective: ring, hosts: "*", transport: tcp`:                       "collective needs the key size",
		`collective: rign, hosts: "*", size: 1MB, transport: tcp`:            `collective "rign"`,
		`collective: ring, hosts: [h0], size: 1MB, transport: tcp`:           "a collective of 1 hosts",
		`collective: ring, hosts: "*", size: 3 B, transport: tcp`:            "a ring of 4 hosts cannot share 3B",
		`collective: ring, hosts: "*", size: 1MB, from: h0, transport: tcp`:  `"from" is given together with collective`,
		`collective: tree, hosts: "*", size: 1MB, load: 50%, transport: tcp`: `"load" is given together with collective`,
		`collective: tree, hosts: "*", size: 1MB, start: 0s..1ms, transport: tcp`: "start is a range, but a " +
			"collective has a single start time",
		`collective: tree, hosts: "*", size: 1MB, file: x, format: hpcc, transport: tcp`: `"file" is given together`,
		`collective: ring, job: {all_reduce: {size: 1MB}}, transport: tcp`:               `"collective" is given together`,
		`hosts: "*", from: h0, to: h1, transport: tcp`:                                   "hosts is given without a job",
		`job: {all_reduce_flows: {}}, hosts: "*", transport: tcp`:                        `needs the parameter "size"`,
		`job: {all_reduce_flows: {size: 1MB, algorithm: rign}}, transport: tcp`:          `did you mean "ring"?`,
		`job: {all_reduce_flows: {size: 1MB}}, hosts: [h0], transport: tcp`:              "a collective of 1 hosts",
		`job: {all_reduce_flows: {size: 3 B}}, transport: tcp`:                           "a ring of 4 hosts cannot share 3B",
		`job: {all_reduce_flows: {size: 1MB}}, size: 1MB, transport: tcp`:                `"size" is given together with job`,
		`job: {all_reduce_flows: {size: 1MB}}, hosts: [h0, h1, h0], transport: tcp`:      "a host has one rank",
	} {
		t.Run(traffic, func(t *testing.T) {
			_, err := plan.Load(room(), file("t.yaml", `traffic: [{name: x, `+traffic+`}]
duration: 1s
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 4, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
`), experiment.Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, not %s", err, want)
			}
		})
	}
	_, err := plan.Load(room(), file("t.yaml", `traffic: [{name: x, from: h0, to: h1, transport: tcp}]
duration: 2s
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 4, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
measure: [collective]
`), experiment.Options{})
	if err == nil || !strings.Contains(err.Error(), "no traffic of the experiment has the job all_reduce_flows") {
		t.Error(err)
	}
}

// TestOldCollectiveKey checks that the old key gives the same flows as the job that replaces it, and a warning at
// the key.
func TestOldCollectiveKey(t *testing.T) {
	text := fmt.Sprintf(collectiveSpec, 4, "tree", 5000)
	old := strings.Replace(text, "job: {all_reduce_flows: {algorithm: tree, size: 5000 B}}",
		"collective: tree, size: 5000 B", 1)
	if old == text {
		t.Fatal("the key is not in the experiment")
	}
	var flows [2][]int64
	for i, x := range []string{text, old} {
		s := plantest.Load(t, room(), x, experiment.Options{})
		o, err := Execute(context.Background(), s, Options{})
		if err != nil || len(o.Failed) > 0 {
			t.Fatal(err, o.Failed)
		}
		flows[i] = o.Runs[0].Flows.ReceivedBytes
		for _, at := range o.Runs[0].Flows.StartS {
			flows[i] = append(flows[i], int64(math.Float32bits(float32(at))))
		}
		var kinds []string
		for _, w := range s.Warnings() {
			kinds = append(kinds, fmt.Sprint(w.Kind.ID, " ", w.At.Line, ":", w.At.Column))
		}
		if want := []string{"", "collective-key 7:32"}[i]; strings.Join(kinds, ", ") != want {
			t.Errorf("warnings %q, want %q", kinds, want)
		}
	}
	if !slices.Equal(flows[0], flows[1]) {
		t.Errorf("flows %v, and with the old key %v", flows[0], flows[1])
	}
}

// TestRingTimeRDMA checks the time of a ring over queue pairs, which acknowledge. A host that has received a share
// first sends the acknowledgement, and then its next share, of one frame here. So each step but the first is longer
// by an acknowledgement.
func TestRingTimeRDMA(t *testing.T) {
	const tx, ack, delay, n = 1090 * 8 * unit.Nanosecond / 100, 88 * 8 * unit.Nanosecond / 100, unit.Microsecond, 5
	r := room()
	s := plantest.LoadSource(t, r, file("t.yaml", strings.Replace(fmt.Sprintf(collectiveSpec, n, "ring", n*1000),
		"transport: udp, rate: 200Gbps", "transport: {rdma: {}}, cc: dctcp", 1)), experiment.Options{})
	o, err := Execute(context.Background(), s, Options{})
	if err != nil || len(o.Failed) > 0 {
		t.Fatal(err, o.Failed)
	}
	got, want := o.Runs[0].Measures[0].Groups[0].Value, (2*(n-1)*(2*tx+2*delay) + (2*(n-1)-1)*ack).Seconds()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%v s, not %v", got, want)
	}
}

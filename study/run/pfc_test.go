package run

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"weir/core/cc/none"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/balance/hula"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/classify"
	"weir/core/transport/rdma"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
)

// lossless returns a registry with flow control and its prerequisites, and with probes between switches.
func lossless() *experiment.Registry {
	r := room()
	r.Programs = append(r.Programs, classify.Scheme(), ecn.Scheme(), hula.Scheme(), pfc.Scheme(), sharedbuffer.Scheme())
	r.Transports = append(r.Transports, rdma.Scheme())
	r.Controllers = append(r.Controllers, none.Scheme())
	return r
}

// one executes the single run of an experiment.
func one(t *testing.T, text string) (*results.Run, *results.Outcome) {
	t.Helper()
	s := plantest.LoadSource(t, lossless(), file("t.yaml", text), experiment.Options{})
	o, err := Execute(context.Background(), s, Options{})
	if err != nil || len(o.Runs) != 1 {
		t.Fatal(err, o.Failed)
	}
	return o.Runs[0], o
}

// circle is a ring of switches with PFC and a host each. Its hosts send to the switch two hops on, which locks the
// ring if each link has too much traffic.
func circle(n int, flows string) string {
	var b strings.Builder
	var hosts, switches []string
	for i := range n {
		hosts, switches = append(hosts, fmt.Sprint("h", i)), append(switches, fmt.Sprint("s", i))
	}
	fmt.Fprintf(&b, "title: t\nduration: 50ms\ntopology:\n  hosts: [%s]\n  switches: [%s]\n  links:\n",
		strings.Join(hosts, ", "), strings.Join(switches, ", "))
	for i := range n {
		fmt.Fprintf(&b, "    - {ends: [h%d, s%d], rate: 10Gbps, delay: 1us}\n    - {ends: [s%d, s%d], rate: 10Gbps, "+
			"delay: 1us}\n", i, i, i, (i+1)%n)
	}
	b.WriteString("switches: {\"*\": {queues: 4, programs: [forward, classify, {shared_buffer: {size: 400KB}}, {pfc: " +
		"{classes: {3: true}}}, {ecn: {kmin: 1MB, kmax: 1MB}}]}}\ntraffic:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: x%d, from: h%d, to: h%d, transport: {rdma: {class: 3}}, cc: none, size: %s, start: 0s}\n",
			i, i, (i+2)%n, flows)
	}
	return b.String()
}

// TestDeadlock_EndsRunWithPorts checks that a deadlock is the reason of the run's end, with the ports, in runs.json
// and in the report.
func TestDeadlock_EndsRunWithPorts(t *testing.T) {
	r, o := one(t, circle(5, "5MB")+"measure: [drops, {pfc_pause: {by: port, log: true}}, {buffer: {every: 10us, "+
		"percentiles: [50]}}]\n")
	pauses := 0.0
	for _, g := range r.Measures {
		if g.Name == "pfc_pauses" {
			for _, x := range g.Groups {
				pauses += x.Value
			}
		}
	}
	logged := 0
	for i, f := range r.PFC {
		if f.Paused {
			logged++
		}
		if i > 0 && f.TimeNs < r.PFC[i-1].TimeNs {
			t.Errorf("frame %d is before the one above", i)
		}
	}
	if logged == 0 || float64(logged) != pauses {
		t.Errorf("%d pauses are logged, ports got %g", logged, pauses)
	}
	want := "s0->s1 queue 3, s1->s2 queue 3, s2->s3 queue 3, s3->s4 queue 3, s4->s0 queue 3"
	if r.End.Reason != "pfc deadlock" || strings.Join(r.End.Ports, ", ") != want || !r.End.Stuck() {
		t.Errorf("%+v", r.End)
	}
	if text := string(o.JSON()); !strings.Contains(text, `"ports": [`) || !strings.Contains(text, `"s4->s0 queue 3"`) {
		t.Error(text)
	}
	for _, port := range []string{"h0->s0", "s0->s1"} {
		if v := valueOf(r, t, "pfc_pause", port); v < 0.7 || v >= 1 {
			t.Errorf("%s was held for %g of the time", port, v)
		}
		if v := valueOf(r, t, "pfc_pauses", port); v < 1 {
			t.Errorf("%s had %g pauses", port, v)
		}
	}
	if v := valueOf(r, t, "pfc_pause", "s0->h0"); v != 0 {
		t.Errorf("a host pauses its switch: %g", v)
	}
	if m, p := valueOf(r, t, "buffer", "max"), valueOf(r, t, "buffer", "p50"); !(p > 20000 && p <= m && m < 400000) {
		t.Errorf("buffer: median %g, most %g bytes", p, m)
	}
	if s := overOf(r, t, "buffer", "s3"); len(s.Values) < 5 || s.StepS != 1e-5 {
		t.Errorf("buffer over time: %+v", s)
	}
	for _, g := range []string{"headroom_full", "egress_threshold", "buffer_full"} {
		if v := valueOf(r, t, "drops", g); v != 0 {
			t.Errorf("%g drops: %s", v, g)
		}
	}
}

// TestPFCPause_HoldsEachSenderHalfTheTime checks that two senders at 10 Gb/s to one receiver are each paused for
// half of the time, without drops. The value of all ports is the mean over them.
func TestPFCPause_HoldsEachSenderHalfTheTime(t *testing.T) {
	const head = `title: t
duration: 20ms
topology: {dumbbell: {hosts: 2, rate: 10Gbps, bottleneck: 10Gbps, delay: 1us}}
switches: {"*": {queues: 4, programs: [forward, classify, {shared_buffer: {size: 400KB}}, {pfc: {classes: {3: true}}}]}}
traffic:
  - {name: a, from: left0, to: right0, transport: {rdma: {class: 3}}, cc: none, size: 10MB, start: 0s}
  - {name: b, from: left1, to: right0, transport: {rdma: {class: 3}}, cc: none, size: 10MB, start: 0s}
measure: [fct, drops, `
	r, _ := one(t, head+"{pfc_pause: {by: traffic}}]\n")
	for _, x := range []string{"a", "b"} {
		testkit.CheckNear(t, "pause of "+x, valueOf(r, t, "pfc_pause", x), 0.5, testkit.Tolerance{Relative: 0.05})
	}
	each := valueOf(r, t, "pfc_pauses", "a") + valueOf(r, t, "pfc_pauses", "b")
	r, _ = one(t, head+"pfc_pause]\n")
	testkit.CheckNear(t, "pause of all ten ports", valueOf(r, t, "pfc_pause", ""), 2*0.5/10,
		testkit.Tolerance{Relative: 0.05})
	if v := valueOf(r, t, "pfc_pauses", ""); v != each {
		t.Errorf("%g pauses of all, %g of the two", v, each)
	}
	if r.End.Reason != "all flows done" || r.End.Stuck() || r.End.Ports != nil || len(r.Drops) != 0 {
		t.Errorf("%+v, %v", r.End, r.Drops)
	}
}

// TestPFC_HasHeadroomForJumboFrames checks that jumbo frames have enough headroom by default.
func TestPFC_HasHeadroomForJumboFrames(t *testing.T) {
	r, _ := one(t, `title: t
duration: 20ms
mtu: 9000 B
topology: {dumbbell: {hosts: 4, rate: 100Gbps, bottleneck: 10Gbps, delay: 0s}}
switch: [forward, {shared_buffer: {size: 400KB}}, pfc]
traffic:
  - {name: a, from: "left*", to: right0, transport: {rdma: {}}, cc: none, size: 2MB, start: 0s}
measure: [drops, pfc_pause]
`)
	if len(r.Drops) != 0 || r.End.Reason != "all flows done" || valueOf(r, t, "pfc_pauses", "") < 20 {
		t.Errorf("%+v, drops %v, %g pauses", r.End, r.Drops, valueOf(r, t, "pfc_pauses", ""))
	}
}

// TestFlowControlRefusals checks that impossible lists and parameters of the programs are errors of the file.
func TestFlowControlRefusals(t *testing.T) {
	for list, want := range map[string]string{
		"[forward, pfc]":                                        "put shared_buffer before it",
		"[forward, pfc, shared_buffer]":                         "put shared_buffer before it",
		"[forward, shared_buffer, shared_buffer]":               "shared_buffer is here a second time",
		"[forward, {shared_buffer: {size: 1KB}}]":               "does not hold the reserves",
		"[forward, shared_buffer, {pfc: {classes: {1: true}}}]": "is not a class",
		"[forward, shared_buffer, {pfc: {trigger: sometimes}}]": "share, shift, static",
		"[forward, {ecn: {kmin: 2MB}}]":                         "is above kmax",
		"[forward, {classify: {dscp: {26: 3}}}]":                "a port has queues for 0 … 0",
		"[forward, {shared_buffer: {size: 30KB}}, {pfc: {headroom: size, " +
			"headroom_size: 20KB}}]": "does not hold the reserves",
	} {
		t.Run(list, func(t *testing.T) {
			text := strings.Replace(line, "[forward]", list, 1) +
				"traffic: [{name: a, from: a, to: c, transport: udp, rate: 1Mbps}]\n"
			_, err := plan.Load(lossless(), file("t.yaml", text), experiment.Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

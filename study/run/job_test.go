package run

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/sim"
)

// given is the folder of the given GOAL files, relative to the folder of this test's files.
const given = "../../../core/jobs/goal/testdata/"

const jobSpec = `duration: 1s
framing: hpcc
mtu: 1000 B payload
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: %d, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
measure: [job]
%s`

// measures returns the measures of the single traffic, by name.
func measures(t *testing.T, o *results.Outcome) map[string]float64 {
	t.Helper()
	if len(o.Failed) > 0 {
		t.Fatal(o.Failed[0].Err)
	}
	out := map[string]float64{}
	for _, m := range o.Runs[0].Measures {
		if len(m.Groups) > 0 {
			out[m.Name] = m.Groups[0].Value
		}
	}
	return out
}

func executeJob(t *testing.T, text string) *results.Outcome {
	t.Helper()
	o, err := Execute(context.Background(), plantest.Load(t, room(), text, experiment.Options{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func exactly(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) || math.IsNaN(got) != math.IsNaN(want) {
		t.Errorf("%s is %v, not %v", name, got, want)
	}
}

// TestGoalIdeal runs the given files from a user's experiment on the ideal network, and checks their times to the
// nanosecond.
func TestGoalIdeal(t *testing.T) {
	for file, want := range map[string]float64{"ring_allreduce_8": 450954e-9, "pipeline_4x6": 965913e-9,
		"straggler_5": 1013003e-9} {
		t.Run(file, func(t *testing.T) {
			o := executeJob(t, fmt.Sprintf(jobSpec, 8, `network: {loggops: {L: 1us, o: 0s, g: 0s, G: 20ps, S: 1GB}}
traffic: [{name: x, job: {goal: {file: `+given+file+`.goal}}}]
`))
			exactly(t, "job", measures(t, o)["job"], want)
			if o.Runs[0].End.Reason != string(outcome.AllDone) {
				t.Error(o.Runs[0].End)
			}
		})
	}
}

// TestChakraIdeal checks traces of two hosts with one all-reduce of 4 kB: two transfers of 2 kB one after the
// other.
func TestChakraIdeal(t *testing.T) {
	o := executeJob(t, fmt.Sprintf(jobSpec, 2, `network: {loggops: {L: 1us, o: 0s, g: 0s, G: 20ps, S: 1GB}}
traffic: [{name: x, job: {chakra: {file: two}}}]
`))
	exactly(t, "job", measures(t, o)["job"], 2*1039e-9)
	_, err := plan.Load(room(), file("t.yaml", fmt.Sprintf(jobSpec, 3, `traffic: [{name: x, job: {chakra: {file: two}},
    transport: tcp}]
`)), experiment.Options{})
	if err == nil || !strings.Contains(err.Error(), `"two.2.et" cannot be read`) {
		t.Error(err)
	}
}

// TestGoalPackets checks the ring of the given file on packets. A message of 1,048,576 B is 1,048 full frames and a
// rest. It has arrived when all frames have left the host, a full frame has left the switch, too, and both links'
// delays have passed. So the difference from the ideal network of the same rate and delay consists of headers and
// of store and forward only.
func TestGoalPackets(t *testing.T) {
	const tx, rest, delay, calc = 1090 * 8 * unit.Nanosecond / 100, 666 * 8 * unit.Nanosecond / 100, unit.Microsecond,
		20480 * unit.Nanosecond
	text := fmt.Sprintf(jobSpec, 8, `traffic:
  - {name: x, job: {goal: {file: `+given+`ring_allreduce_8.goal}}, hosts: "*", transport: udp, rate: 200Gbps}
`)
	packets := measures(t, executeJob(t, text))["job"]
	step := 1048*tx + rest + tx + 2*delay
	exactly(t, "on packets", packets, (14*step + 7*calc).Seconds())
	ideal := measures(t, executeJob(t, text+"network: {loggops: {L: 2us, o: 0s, g: 0s, G: 80ps, S: 1GB}}\n"))["job"]
	const headers, stored = 1049 * 90 * 80 * unit.Picosecond, tx
	floor := unit.Time(1048575*80) / unit.Nanosecond * unit.Nanosecond
	first := 1048576*80*unit.Picosecond - floor // the ideal network leaves out the first byte, and what is below 1 ns
	exactly(t, "the difference", packets-ideal, (14 * (headers + stored + first)).Seconds())
}

// TestJobMeasures checks a job by formula: iterations of computation and communication, with a straggler. On both
// networks all hosts have the same number of iterations, and measures agree with their definitions.
func TestJobMeasures(t *testing.T) {
	const traffic = `traffic:
  - {name: train, job: {all_reduce: {size: 400kB, iterations: 3, compute: 100us, slow: {h2: 1.5}}}, hosts: "*",
     transport: rdma, cc: dctcp, start: 10us}
`
	for _, network := range []string{"packets", "{loggops: {L: 2us, o: 0s, g: 0s, G: 80ps, S: 1GB}}"} {
		t.Run(network, func(t *testing.T) {
			o := executeJob(t, fmt.Sprintf(jobSpec, 4, traffic+"network: "+network+"\n"))
			m := measures(t, o)
			exactly(t, "sent", m["job_sent"], 3*2*3*400e3)
			exactly(t, "computing", m["job_computing"], 3*(3*100e-6+150e-6)/4)
			exactly(t, "slowest rank", m["job_slowest_rank"], 2)
			exactly(t, "left", m["job_left"], 0)
			exactly(t, "ended", m["job_iterations"], 3)
			exactly(t, "asked", m["job_iterations_asked"], 3)
			exactly(t, "bus", m["job_bus_bandwidth"], 1.5*400e3*8/m["job_operation"])
			exactly(t, "iterations", 3*m["job_iteration"], m["job"])
			if m["job_iteration"] < 150e-6+6*8e-6 || m["job_iteration_max"] < m["job_iteration"] ||
				m["job_exposed_max"] < m["job_exposed"] || m["job_exposed"] <= 0 {
				t.Errorf("%v", m)
			}
			d := o.Runs[0].FindDistribution("job_iteration", "train")
			if d.Count() != 3 {
				t.Errorf("%d iterations", d.Count())
			}
		})
	}
}

// TestJobWarmup checks that iterations and operations count if they began after the warm-up. The number of ended
// iterations, and the bytes sent, cover the whole run. If all hosts compute alike, no host is the slowest.
func TestJobWarmup(t *testing.T) {
	const text = `traffic:
  - {name: train, job: {all_reduce: {size: 400kB, iterations: 5, compute: 1ms, align: 2ms}}, hosts: "*",
     transport: rdma, cc: dctcp, start: 0s}
`
	for warmup, want := range map[string]uint64{"0s": 5, "3ms": 3, "7ms": 1} {
		o := executeJob(t, fmt.Sprintf(jobSpec, 4, text+"warmup: "+warmup+"\n"))
		m := measures(t, o)
		if d := o.Runs[0].FindDistribution("job_iteration", "train"); d.Count() != want {
			t.Errorf("%s: %d iterations, want %d", warmup, d.Count(), want)
		}
		exactly(t, "ended", m["job_iterations"], 5)
		exactly(t, "sent", m["job_sent"], 5*2*3*400e3)
		exactly(t, "an iteration", m["job_iteration"], 1e-3+m["job_operation"])
		if m["job_operation"] <= 0 || m["job_operation"] > 1e-3 {
			t.Errorf("%s: %v", warmup, m)
		}
		if v := o.Runs[0].FindMeasure("job_slowest_rank").Groups[0].Value; !math.IsNaN(v) {
			t.Errorf("rank %v is the slowest", v)
		}
	}
}

// TestJobAlign checks that align changes the start of iterations, and only the measures job, job_waiting and
// counts. An iteration takes as long as the first one without align. Exposed time and bandwidth are the same for
// any period.
func TestJobAlign(t *testing.T) {
	const traffic = `traffic:
  - {name: train, job: {all_reduce: {size: 400kB, iterations: %d, compute: 100us, slow: {h2: 1.5}%s}}, hosts: "*",
     transport: rdma, cc: dctcp, start: 10us}
`
	for _, network := range []string{"packets", "{loggops: {L: 2us, o: 0s, g: 0s, G: 80ps, S: 1GB}}"} {
		ran := func(iterations int, align string) *results.Outcome {
			text := fmt.Sprintf(traffic, iterations, align) + "network: " + network + "\n"
			return executeJob(t, fmt.Sprintf(jobSpec, 4, text))
		}
		one := measures(t, ran(1, ""))
		for _, period := range []string{"30us", "500us", "2ms", "10ms"} {
			o := ran(3, ", align: "+period)
			m := measures(t, o)
			for _, name := range []string{"job_iteration", "job_iteration_max", "job_operation", "job_bus_bandwidth"} {
				exactly(t, period+": "+name, m[name], one[name])
			}
			for _, name := range []string{"job_computing", "job_exposed", "job_exposed_max"} {
				exactly(t, period+": "+name, m[name], 3*one[name])
			}
			all := m["job_waiting"] + m["job_computing"] + m["job_exposed"] // of a rank; some end before the job does
			if all > m["job"]+1e-12 || all < m["job"]-one["job_operation"] {
				t.Errorf("%s: ranks take %v s in all, and the job %v", period, all, m["job"])
			}
			if a := o.Runs[0].End.Aligned; len(a) != 1 || a[0].Traffic != "train" {
				t.Errorf("%s: %v", period, a)
			}
		}
		if a := ran(1, "").Runs[0].End.Aligned; len(a) > 0 || one["job_waiting"] != 0 {
			t.Errorf("%v", a)
		}
	}
}

// TestJobNoSlowest checks that no host is the slowest if all compute alike, even if a job is cut short when some
// are further ahead, or if some are servers, which do not compute. A straggler is still the slowest.
func TestJobNoSlowest(t *testing.T) {
	text := func(job, slow string) string {
		return strings.Replace(fmt.Sprintf(jobSpec, 6, fmt.Sprintf(`traffic:
  - {name: x, job: {%s, compute: 50us%s}}, transport: rdma, cc: dctcp, start: 0s}
  - {name: aside, from: h0, to: h1, size: 1MB, transport: rdma, cc: dctcp, start: 0s}
groups: {all: "*"}
`, job, slow)), "measure: [job]", "measure: [job, {job: {by: group}}]", 1)
	}
	ran := func(text string, want float64) *results.Run {
		t.Helper()
		r := executeJob(t, text).Runs[0]
		for _, group := range []string{"x", "all"} {
			exactly(t, "the slowest of "+group, valueOf(r, t, "job_slowest_rank", group), want)
		}
		return r
	}
	const ring, straggles = "all_reduce: {size: 400kB, iterations: 50", ", slow: {h2: 1.02}"
	apart := 0
	for after := 200; after < 800; after += 30 {
		cut := fmt.Sprintf("duration: %dus", after)
		r := ran(strings.Replace(text(ring, ""), "duration: 1s", cut, 1), math.NaN())
		if n := valueOf(r, t, "job_computing", "x") / 50e-6; math.Abs(n-math.Round(n)) > 1e-9 {
			apart++ // some have computed once more than others
		}
		ran(strings.Replace(text(ring, straggles), "duration: 1s", cut, 1), 2)
	}
	if apart == 0 {
		t.Error("no rank was ever ahead")
	}
	for _, kind := range []string{"checkpoint", "read"} {
		ran(text(kind+": {size: 400kB, iterations: 3, servers: 2", ""), math.NaN())
		ran(text(kind+": {size: 400kB, iterations: 3, servers: 2", straggles), 2)
	}
}

// TestJob_IgnoresMeasuresOfOtherFlows checks that measures of listed flows, packet by packet, are independent of a
// job's messages. Some messages begin with the run, and end before its warm-up does.
func TestJob_IgnoresMeasuresOfOtherFlows(t *testing.T) {
	const job = `warmup: 30us
traffic:
  - {name: x, job: {all_reduce: {size: 30kB, iterations: 3, align: 1ms}}, transport: rdma, cc: dctcp}
`
	const aside = "  - {name: aside, from: h0, to: h3, transport: rdma, cc: dctcp, size: 2MB, start: 5us}\n"
	ran := func(text, measure string) *results.Run {
		t.Helper()
		o := executeJob(t, strings.Replace(fmt.Sprintf(jobSpec, 4, text), "measure: [job]", "measure: "+measure, 1))
		if len(o.Failed) > 0 {
			t.Fatal(o.Failed[0].Err)
		}
		return o.Runs[0]
	}
	took := valueOf(ran(job, "[job]"), t, "job", "x")
	exactly(t, "beside nothing", valueOf(ran(job, "[job, reordering]"), t, "job", "x"), took)
	r := ran(job+aside, "[job, reordering, overshoot, {reduction: {traffic: aside}}]")
	exactly(t, "beside a flow", valueOf(r, t, "job", "x"), valueOf(ran(job+aside, "[job]"), t, "job", "x"))
	exactly(t, "reordering", valueOf(r, t, "reordering", "aside"), 0)
	if v := valueOf(r, t, "overshoot", "aside"); v < 1 || v > 3 { // it begins with a window of a product
		t.Errorf("overshoot %v", v)
	}
}

// TestIdealWithoutPackets checks that measures of packets, ports and switches are undefined on an ideal network.
// They can share an experiment with values from packets.
func TestIdealWithoutPackets(t *testing.T) {
	const text = `traffic: [{name: x, transport: rdma, cc: dctcp, job: {all_reduce: {size: 400kB}}}]
sweep: {net: {ideal: {network: {loggops: {G: 80ps}}}, packets: {network: packets}}}
groups: {all: "*"}
plot: [{x: time, y: throughput}]
`
	const all = "measure: [{job: {by: group}}, drops, {goodput: {by: group}}, {queue: {port: leaf0->h0, every: 10us}}, " +
		"{throughput: {port: h0->leaf0, every: 10us}}, {utilisation: {port: h0->leaf0}}, {buffer: {every: 10us}}, " +
		"retransmissions, delay, reordering, nacks, overhead, " +
		"{reaction: {after: 1us, throughput: h0->leaf0, every: 10us}}]"
	short := strings.Replace(fmt.Sprintf(jobSpec, 4, text), "duration: 1s", "duration: 1ms", 1)
	o := executeJob(t, strings.Replace(short, "measure: [job]", all, 1))
	if len(o.Failed) > 0 {
		t.Fatal(o.Failed[0].Err)
	}
	for _, r := range o.Runs {
		ideal := r.Point[0].Text == "ideal"
		for name, group := range map[string]string{"queue": "mean", "throughput": "h0->leaf0", "utilisation": "h0->leaf0",
			"retransmissions": "x", "delay": "x", "overhead": "ack"} {
			if v := valueOf(r, t, name, group); math.IsNaN(v) != ideal {
				t.Errorf("%v: %s is %v", r.Point, name, v)
			}
		}
		for name, group := range map[string]string{"job": "all", "goodput": "all", "drops": "all"} {
			if v := valueOf(r, t, name, group); math.IsNaN(v) || v == 0 != (name == "drops") {
				t.Errorf("%v: %s is %v", r.Point, name, v)
			}
		}
	}
}

// TestJobWithoutPackets checks that a job on packets ends as soon as its ranks have finished, even if some have no
// operation, or if no packet ever enters the network.
func TestJobWithoutPackets(t *testing.T) {
	for file, took := range map[string]float64{"alone": 1e-6, "nothing": 0} {
		o := executeJob(t, fmt.Sprintf(jobSpec, 3, "traffic: [{name: x, job: {goal: {file: "+file+
			".goal}}, transport: tcp}]\n"))
		exactly(t, file, measures(t, o)["job"], took)
		if end := o.Runs[0].End; end.Reason != string(outcome.AllDone) || end.TimeS > 1e-3 {
			t.Errorf("%s: %+v", file, end)
		}
	}
}

// TestJobKinds checks that jobs of every kind finish on packets next to each other and to other traffic, on the
// hosts that the file lists, over transports that acknowledge.
func TestJobKinds(t *testing.T) {
	for _, kind := range []string{"all_reduce: {size: 80kB, algorithm: ring, channels: 2, chunks: 2}",
		"all_reduce: {size: 80kB, algorithm: double_tree, chunks: 3}",
		"all_reduce: {size: 80kB, algorithm: halving_doubling}",
		"all_reduce: {size: 80kB, algorithm: hierarchical, local: 2}",
		"all_gather: {size: 80kB}", "reduce_scatter: {size: 80kB, reduce: 10Gbps}", "all_to_all: {size: 80kB, buckets: 2}",
		"broadcast: {size: 80kB, chunks: 8}", "broadcast: {size: 80kB, algorithm: tree}",
		"pipeline: {size: 20kB, batches: 4, forward: 10us, backward: 20us, iterations: 2}",
		"pipeline: {size: 20kB, batches: 4, forward: 10us, backward: 20us, schedule: 1f1b}",
		"reduce: {size: 80kB, chunks: 2}", "reduce: {size: 80kB, algorithm: tree}", "gather: {size: 80kB}",
		"scatter: {size: 80kB}", "checkpoint: {size: 50kB, every: 2, iterations: 5, servers: 2, stripes: 2, compute: 50us}",
		"checkpoint: {size: 50kB, iterations: 3, compute: 50us, mode: beside}",
		"read: {size: 50kB, iterations: 3, servers: 2, compute: 50us, ahead: true}"} {
		t.Run(kind, func(t *testing.T) {
			o := executeJob(t, `duration: 1s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 4, rate: 10Gbps, delay: 1us, buffer: 100 packets}}
switch: [ecmp]
measure: [job, goodput]
traffic:
  - {name: a, job: {`+kind+`}, hosts: [h0, h5, h1, h4], transport: tcp, cc: cubic}
  - {name: b, job: {`+kind+`}, hosts: [h2, h7, h3, h6], transport: tcp, cc: cubic, start: 5us}
  - {name: web, from: h0, to: h7, size: 100kB, start: 0s, transport: tcp}
`)
			if len(o.Failed) > 0 || o.Runs[0].End.Reason != string(outcome.AllDone) {
				t.Fatalf("%v %+v", o.Failed, o.Runs[0].End)
			}
			j := o.Runs[0].FindMeasure("job")
			if len(j.Groups) != 2 || !(j.Groups[0].Value > 0 && j.Groups[1].Value > 0) {
				t.Errorf("%+v", j)
			}
			if g := o.Runs[0].FindMeasure("goodput"); !(g.Groups[0].Value > 0 && g.Groups[1].Value > 0) {
				t.Errorf("%+v", g)
			}
			if got := len(o.Runs[0].Flows.SizeBytes); got != 1 {
				t.Errorf("%d flows are listed", got)
			}
		})
	}
}

// TestJobSame checks that a job has the same results on any number of threads and in any window of execution.
func TestJobSame(t *testing.T) {
	s := plantest.Load(t, room(), `duration: 1s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 4, rate: 10Gbps, delay: 1us, buffer: 20 packets}}
switch: [ecmp]
measure: [job]
traffic: [{name: a, job: {all_to_all: {size: 400kB, iterations: 3}}, hosts: "*", transport: tcp, cc: cubic}]
`, experiment.Options{})
	first := ""
	for i, change := range []func(c *sim.Config){func(*sim.Config) {}, func(c *sim.Config) { c.Threads = 4 },
		func(c *sim.Config) { c.Window = 100 * unit.Nanosecond }} {
		c, err := plan.Config(s.Points()[0], 3)
		if err != nil {
			t.Fatal(err)
		}
		change(c)
		r, err := sim.Run(c)
		if err != nil || r.End != outcome.AllDone {
			t.Fatal(err, r)
		}
		out := fmt.Sprintf("%+v", r.Jobs)
		if i == 0 {
			first = out
		} else if out != first {
			t.Errorf("form %d differs:\n%s\n%s", i, out, first)
		}
	}
}

// TestJobDeadlock checks that a job that waits for ever ends the run, with the waiting ranks and their operations.
// Receives from any rank are checked during the run.
func TestJobDeadlock(t *testing.T) {
	for _, network := range []string{"packets", "{loggops: {}}"} {
		t.Run(network, func(t *testing.T) {
			o := executeJob(t, fmt.Sprintf(jobSpec, 2, `traffic:
  - {name: x, job: {goal: {file: any_stuck.goal}}, transport: udp, rate: 1Gbps}
network: `+network+"\n"))
			m := measures(t, o)
			exactly(t, "job", m["job"], math.NaN())
			exactly(t, "left", m["job_left"], 4)
			e := o.Runs[0].End
			if e.Reason != string(outcome.NoProgress) || !strings.Contains(e.WaitsFor,
				"job x: 4 operations of 2 of 2 ranks never "+
					"run") || !strings.Contains(e.WaitsFor, "any_stuck.goal:3: a of rank 0 waits for a message from any rank with "+
				"tag 1, and 1 others of the rank wait") {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestDeadlock_ErrorListsEachPlace checks that the error of a deadlock has each place and rank, even with a long
// file name.
func TestDeadlock_ErrorListsEachPlace(t *testing.T) {
	name := strings.Repeat("../testdata/", 14) + given + "deadlock_2.goal"
	_, err := plan.Load(room(), file("t.yaml", fmt.Sprintf(jobSpec, 2,
		"traffic: [{name: x, transport: tcp, job: {goal: {file: "+name+"}}}]\n")), experiment.Options{})
	for _, want := range []string{".goal:3: a of rank 0 waits for a message from rank 1 with tag 1, and 1 others",
		".goal:8: a of rank 1 waits for a message from rank 0 with tag 2, and 1 others"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestJobErrors checks that a mistake in a job is an error of the file, at its place.
func TestJobErrors(t *testing.T) {
	for _, x := range [][2]string{
		{`job: {goal: {file: ` + given + `cycle.goal}}`,
			"cycle.goal:3:1: rank 0: a (line 3) after b (line 4) after a (line 3)"},
		{`job: {goal: {file: ` + given + `deadlock_2.goal}}`, "4 operations of 2 of 2 ranks never run"},
		{`job: {goal: {file: ` + given + `deadlock_tag.goal}}`,
			"deadlock_tag.goal:3:1: rank 0: s (line 3) sends 4096 B to " +
				"rank 1 with tag 5, and the other side receives with tag 6"},
		{`job: {goal: {file: ` + given + `syntax_error.goal}}`,
			"syntax_error.goal:4:15: \"to\" behind the size 4096; b is"},
		{`job: {goal: {file: ` + given + `undefined_label.goal}}`, "rank 0 has no label l9 above this line"},
		{`job: {goal: {file: none.goal}}`, `t.yaml:1:40: "none.goal" cannot be read`},
		{`job: {goal: {}}`, `goal needs the parameter "file"`},
		{`job: {goal: {file: ` + given + `ring_allreduce_8.goal}}`, "8 ranks, and the job 4 hosts; allowed: 8 hosts"},
		{`job: {goal: {file: ` + given + `straggler_5.goal}}, hosts: [h0, h1]`, "5 ranks, and the job 2 hosts"},
		{`job: {chakra: {file: two}}, hosts: [h0]`, "t.yaml:1:42: job chakra: file: two.1.et is there, so the traces are " +
			"of more than the 1 hosts of the job; allowed: as many hosts as traces"},
		{`job: {chakra: {file: unequal}}, hosts: [h0, h1]`, "unequal.1.et:1:1: rank 1: node 1 awaits 6 B from rank 0 with " +
			"tag 3, and node 1 there sends 5 B; give both the same size"},
		{`job: {all_reduse: {size: 1MB}}`, `job "all_reduse"`},
		{`job: {all_reduce: {}}`, `all_reduce needs the parameter "size"`},
		{`job: {all_reduce: {size: 3 B}}`, "3B cannot be shared among 1 parts of 4 blocks"},
		{`job: {all_reduce: {size: 1MB, algorithm: star}}`, "star"},
		{`job: {all_reduce: {size: 1MB, algorithm: hierarchical, local: 3}}`, "4 members cannot be in groups of 3"},
		{`job: {all_reduce: {size: 1MB, algorithm: halving_doubling}}, hosts: [h0, h1, h2]`, "among 2, 4, 8"},
		{`job: {all_reduce: {size: 1MB, slow: {h9: 2}}}`, `"h9" is not a host of the job; allowed: hosts of the job`},
		{`job: {all_reduce: {size: 1MB, compute: 1us, slow: {"h[0-9]": 2}}}`,
			`"h[0-9]" includes names that do not exist: h4 … h9`},
		{`job: {all_reduce: {size: 1MB, compute: 1us, slow: {"h[0-1]": 2, h1: 3}}}`, `"h1" means a host that has a`},
		{`job: {all_reduce: {size: 1MB}}, hosts: h0`, "all_reduce of 1 members; allowed: two hosts or more"},
		{`job: {all_reduce: {size: 1MB}}, hosts: [h0, h1, h0, h1]`, `t.yaml:1:69: host "h0" is listed twice`},
		{`job: {all_reduce: {size: 1MB}}, hosts: ["h*", h1]`, `"h1" is listed twice`},
		{`job: {all_reduce: {size: 1MB}}, hosts: "h[0-99]"`,
			`"h[0-99]" includes names that do not exist: h4 … h99; allowed: h[0-3], or *`},
		{`job: {all_reduce: {size: 1MB}}, hosts: "leaf[0-9]/h*"`,
			`includes names that do not exist: leaf1 … leaf9; allowed: leaf[0], or *`},
		{`job: {checkpoint: {size: 1MB, every: 5, iterations: 3}}`, "no checkpoint is written in 3 iterations"},
		{`job: {all_reduce: {size: 1MB}}, hosts: "h[3-0]"`, `the range 3-0 of "h[3-0]" is reversed; allowed: 0-3`},
		{`job: {all_reduce: {size: 1MB}}, size: 1MB`, `"size" is given together with job`},
		{`job: {all_reduce: {size: 1MB}}, from: h0`, `"from" is given together with job`},
		{`job: {all_reduce: {size: 1MB}}, start: 0s..1us`, "start is a range, but a job has a single start time"},
	} {
		traffic, want := x[0], x[1]
		t.Run(traffic, func(t *testing.T) {
			_, err := plan.Load(room(), file("t.yaml", `traffic: [{name: x, `+traffic+`, transport: tcp}]
duration: 1s
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 4, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
measure: [job]
`), experiment.Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, not %s", err, want)
			}
		})
	}
}

// TestIdealWithoutSwitches checks that a file for an ideal network may lack programs of switches, because switches
// have no effect there.
func TestIdealWithoutSwitches(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(jobSpec, 2, "network: {loggops: {}}\ntraffic: [{name: x, job: {all_reduce: "+
		"{size: 1MB}}}]\n"), "switch: [ecmp]\n", "", 1)
	exactly(t, "left", measures(t, executeJob(t, text))["job_left"], 0)
	if _, err := plan.Load(room(), file("t.yaml", strings.Replace(text, "network: {loggops: {}}", "", 1)),
		experiment.Options{}); err == nil {
		t.Error("packets need programs")
	}
}

// TestSlowPattern checks that patterns can select slow hosts: all matching hosts compute longer.
func TestSlowPattern(t *testing.T) {
	const text = "traffic: [{name: x, transport: tcp, cc: reno, job: {all_reduce: {size: 1MB, compute: 1ms, slow: %s}}}]\n"
	var all []float64
	for _, slow := range []string{`{"h[1-2]": 2}`, "{h1: 2, h2: 2}", "{h1: 2}"} {
		all = append(all, measures(t, executeJob(t, fmt.Sprintf(jobSpec, 4, fmt.Sprintf(text, slow))))["job_computing"])
	}
	if all[0] != all[1] || all[0] <= all[2] {
		t.Error(all)
	}
}

// TestJobIdle checks that a parameter of a job without effect causes a warning, and that an effective one does not.
func TestJobIdle(t *testing.T) {
	for job, want := range map[string]string{
		"{all_reduce: {size: 1MB, local: 2}}":                          "local of all_reduce has no effect",
		"{all_reduce: {size: 1MB, local: 2, algorithm: hierarchical}}": "",
		"{all_reduce: {size: 1MB, slow: {h1: 2}}}":                     "slow of all_reduce has no effect",
		"{all_reduce: {size: 1MB, slow: {h1: 2}, compute: 1us}}":       "",
		"{all_reduce: {size: 1MB, slow: {h1: 2}, reduce: 1Gbps}}":      "",
		"{pipeline: {size: 1MB, slow: {h1: 2}, forward: 1us}}":         "",
		"{checkpoint: {size: 1MB, slow: {h1: 2}}}":                     "slow of checkpoint has no effect",
		"{checkpoint: {size: 1MB, slow: {h1: 2}, compute: 1us}}":       "",
	} {
		s := plantest.LoadSource(t, room(), file("t.yaml", fmt.Sprintf(jobSpec, 4,
			"traffic: [{name: x, transport: tcp, cc: reno, "+
				"job: "+job+"}]\n")), experiment.Options{})
		if got := strings.Join(testkit.FormatAll(s.Warnings()), "\n"); !strings.Contains(got, want) ||
			want == "" && strings.Contains(got, "has no effect") {
			t.Errorf("%s: %s, want %s", job, got, want)
		}
	}
}

// TestIdealErrors checks that traffic and events that an ideal network cannot model are refused.
func TestIdealErrors(t *testing.T) {
	const jobs = "traffic: [{name: x, job: {all_reduce: {size: 1MB}}, hosts: [h0, h1]}]\n"
	for _, x := range [][2]string{
		{"network: {loggop: {}}\n" + jobs, `network "loggop"`},
		{"network: {loggops: {G: 0.5ps}}\n" + jobs, "G of loggops"},
		{"network: {loggops: {H: 1us}}\n" + jobs, `"H"`},
		{"network: {loggops: {}}\ntraffic: [{name: f, from: h0, to: h1, transport: tcp}]\n",
			"traffic f has flows, but an ideal"},
		{"network: {loggops: {}}\nevents: [{at: 1ms, link: [h0, leaf0], down: true}]\n" + jobs,
			"events change links, but an ideal network has no links"},
		{"network: {loggops: {}}\ntraffic: [{name: x, job: {all_reduce: {size: 1MB}}}, {name: y, job: {all_gather: " +
			"{size: 1MB}}, hosts: [h0, h1]}]\n",
			"host h0 belongs to traffic x and to y"},
		{jobs, "the traffic needs the key transport"},
	} {
		text, want := x[0], x[1]
		t.Run(text, func(t *testing.T) {
			_, err := plan.Load(room(), file("t.yaml", text+`duration: 1s
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 4, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
measure: [job]
`), experiment.Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, not %s", err, want)
			}
		})
	}
	_, err := plan.Load(room(), file("t.yaml", `duration: 2s
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 4, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
traffic: [{name: x, from: h0, to: h1, transport: tcp}]
measure: [job]
`), experiment.Options{})
	if err == nil || !strings.Contains(err.Error(), "no traffic of the experiment is a job") {
		t.Error(err)
	}
}

// TestMessageTimes checks that times of messages are measured without a record of each message. On a ring of two
// hosts all take the same time, and the distribution has all messages of the ring. A plot can show it.
func TestMessageTimes(t *testing.T) {
	o := executeJob(t, fmt.Sprintf(jobSpec, 2, `traffic: [{name: x, transport: tcp, cc: reno,
  job: {all_reduce: {size: 2000 B, iterations: 3}}}]
plot: [{x: job_message, y: cdf}]
`))
	m := measures(t, o)
	if m["job_message_p50"] != m["job_message_p99"] || m["job_message_p50"] <= 0 {
		t.Errorf("median %v, 99 %% %v", m["job_message_p50"], m["job_message_p99"])
	}
	for _, d := range o.Runs[0].Distributions {
		if n := uint64(0); d.Name == "job_message" {
			for _, k := range d.Counts {
				n += k
			}
			if n != 2*2*3 { // a step of scattering and one of gathering, at two hosts, three times
				t.Errorf("%d messages", n)
			}
			return
		}
	}
	t.Error("there is no distribution of them")
}

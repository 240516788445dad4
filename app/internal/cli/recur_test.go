//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/internal/command"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// training is a job whose iterations can recur.
const training = `duration: 1s
topology: {rails: {servers: 2, gpus: 4, spines: 2, rate: 400Gbps, delay: 500ns}}
mtu: 4096 B payload
switch: %s
%s
traffic: [{name: train, %s, job: %s}]
measure: [job, drops, {delay: {traffic: train}}]
`

const (
	reduce  = "{all_reduce: {size: 64KB, iterations: 9, compute: 10us, align: 50us}}"
	lossy   = "[ROUTE, {ecn: {kmin: 100KB, kmax: 400KB}}, {telemetry: {format: int-md}}]"
	trimmed = "[ROUTE, trimming]\nswitches: {\"*\": {queues: 2}}"
)

// twice simulates a run with every iteration, and with the iterations that do not recur, and compares the results.
func twice(t *testing.T, text string) *outcome.Repetition {
	t.Helper()
	s := plantest.LoadSource(t, Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
	var out [2]*outcome.Result
	var told [2]*outcome.Repetition
	var seen [2][]sim.PortView
	for i := range out {
		c, err := plan.Config(s.Points()[0], 1)
		if err != nil {
			t.Fatal(err)
		}
		c.SkipRepeated = i == 1
		c.View = func(v *sim.View) {
			seen[i] = seen[i][:0]
			for k := range 2 * len(c.Wiring.Network.Links) {
				seen[i] = append(seen[i], v.Port(k))
			}
		}
		if out[i], err = sim.Run(c); err != nil {
			t.Fatal(err)
		}
		told[i], out[i].Repeated = out[i].Repeated, nil
	}
	if !slices.Equal(seen[0], seen[1]) {
		t.Errorf("who looks at the run sees, in the end,\n%.300v\n%.300v", seen[0], seen[1])
	}
	if told[0].Iterations != 0 {
		t.Errorf("%d iterations are left out, and none is to be", told[0].Iterations)
	}
	for i := range reflect.TypeFor[outcome.Result]().NumField() {
		a, b := reflect.ValueOf(*out[0]).Field(i), reflect.ValueOf(*out[1]).Field(i)
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			t.Errorf("%s differs:\n%.300s\n%.300s", reflect.TypeFor[outcome.Result]().Field(i).Name, fmt.Sprintf("%+v", a),
				fmt.Sprintf("%+v", b))
		}
	}
	return told[1]
}

// TestIterationsRecur checks that results are the same whether recurring iterations are simulated or skipped, under
// every transport, and over one path or many.
func TestIterationsRecur(t *testing.T) {
	for name, x := range map[string]struct{ programs, transport, job string }{
		"hpcc":     {lossy, "transport: rdma, cc: {hpcc: {t: 12us}}", reduce},
		"dcqcn":    {lossy, "transport: rdma, cc: dcqcn", reduce},
		"swift":    {lossy, "transport: rdma, cc: swift", reduce},
		"uet":      {trimmed, "transport: uet", reduce},
		"ndp":      {"[ROUTE, ndp]\nswitches: {\"*\": {queues: 2}}", "transport: ndp", reduce},
		"tcp":      {lossy, "transport: tcp, cc: cubic", strings.Replace(reduce, "50us", "1ms", 1)},
		"receiver": {lossy, "transport: rdma, cc: {rx_hpcc: {t: 12us}}", reduce},
		"credit":   {trimmed, "transport: {uet: {control: rccc}}", reduce},
		"bolt":     {"[ROUTE, bolt]", "transport: rdma, cc: bolt", reduce},
		"codel":    {"[ROUTE, codel]", "transport: tcp, cc: cubic", strings.Replace(reduce, "50us", "1ms", 1)},
		"groups": {trimmed, "transport: uet", strings.Replace(reduce, "reduce: {", "to_all: {algorithm: hierarchical, "+
			"local: 4, at_once: 1, ", 1)},
		"NIC delays": {lossy, "transport: {rdma: {nic_ack_delay: 1us, nic_nack_delay: 2us, nic_cnp_delay: 2us}}, cc: dcqcn",
			reduce},
		"delays of ndp": {"[ROUTE, ndp]\nswitches: {\"*\": {queues: 2}}",
			"transport: {ndp: {nic_ack_delay: 700ns, nic_nack_delay: 900ns}}", reduce},
		"all to all": {trimmed, "transport: uet", strings.Replace(reduce, "reduce", "to_all", 1)},
		"buckets":    {trimmed, "transport: uet", strings.Replace(reduce, "size", "buckets: 3, size", 1)},
		"straggler":  {trimmed, "transport: uet", strings.Replace(reduce, "size", "slow: {h3: 1.5}, size", 1)},
		"channels":   {trimmed, "transport: uet", strings.Replace(reduce, "size", "channels: 2, chunks: 2, size", 1)},
	} {
		for _, route := range []string{"ecmp", "spray"} {
			t.Run(name+" "+route, func(t *testing.T) {
				t.Parallel()
				told := twice(t, fmt.Sprintf(training, strings.Replace(x.programs, "ROUTE", route, 1),
					"iterations: {draws: anew}", x.transport, x.job))
				if told.Iterations < 5 || told.Why != "" {
					t.Errorf("%+v", told)
				}
			})
		}
	}
}

// TestIterationsDiffer checks that the result has the reason why no iteration recurs: the first differing word of
// the state, or another obstacle. The results of the run stay the same.
func TestIterationsDiffer(t *testing.T) {
	hpcc := "transport: rdma, cc: {hpcc: {t: 12us}}"
	for name, x := range map[string]struct{ programs, more, transport, job, why string }{
		"running draws": {trimmed, "", "transport: uet", reduce, "number of messages"},
		"counters": {strings.Replace(lossy, "format: int-md", "multi: 16", 1), "iterations: {draws: anew}", hpcc, reduce,
			"bytes sent by h0->leaf0, which only grow: telemetry has them in units of 2048 B"},
		"stamps": {lossy, "iterations: {draws: anew}", hpcc, strings.Replace(reduce, "50us", "50.0005us", 1),
			"stamps of telemetry: the period of 50000.5ns is not a multiple of their tick of 1ns"},
		"TCP's stamps": {lossy, "iterations: {draws: anew}", "transport: tcp, cc: cubic",
			strings.Replace(reduce, "50us", "150us", 1), "stamps of the transport"},
		"clocks": {lossy + "\nswitches: {\"*\": {clock: {resolution: 7ns}}}", "iterations: {draws: anew}", hpcc, reduce,
			"clock of leaf0: the period of 50us is not a multiple of its resolution of 7ns"},
		"no pause": {trimmed, "iterations: {draws: anew}", "transport: uet",
			strings.Replace(reduce, "compute: 10us, align: 50us", "compute: 0s", 1), "the network was never idle"},
		"few":    {trimmed, "iterations: {draws: anew}", "transport: uet", strings.Replace(reduce, "9", "3", 1), "too few"},
		"asked":  {trimmed, "iterations: {draws: anew}", "transport: uet", reduce, ""},
		"series": {trimmed, "iterations: {draws: anew}", "transport: uet", reduce, "a series is recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := fmt.Sprintf(training, strings.Replace(x.programs, "ROUTE", "ecmp", 1), x.more, x.transport, x.job)
			if name == "series" {
				text = strings.Replace(text, "drops,", "drops, {queue: {port: leaf0->h0, every: 1us}},", 1)
			}
			told := twice(t, text)
			if !strings.Contains(told.Why, x.why) || (told.Iterations == 0) != (x.why != "") {
				t.Errorf("%+v", told)
			}
		})
	}
}

// TestCheckIterations checks that weir check reports that iterations may recur, where draws restart, and finds no
// mistake in recurring programs.
func TestCheckIterations(t *testing.T) {
	for more, want := range map[string]bool{"iterations: {draws: anew}": true, "": false,
		"iterations: {draws: anew, repeat: false}": false} {
		var out, errs strings.Builder
		file := write(t, fmt.Sprintf(training, strings.Replace(trimmed, "ROUTE", "ecmp", 1), more, "transport: uet",
			strings.Replace(reduce, "9", "99", 1))) // more than is looked at for traps
		if code := Run(Registry(), []string{"check", file}, &out, &errs, false); code != command.Done {
			t.Errorf("%q: %s", more, errs.String())
		}
		if strings.Contains(out.String(), "It takes less if iterations of a job recur") != want {
			t.Errorf("%q: %s", more, out.String())
		}
	}
}

// TestIterationsAmong checks that iterations recur alongside a warm-up, the run's end, link events and other flows,
// with the results of a full simulation. Where they do not recur, the result has the reason.
func TestIterationsAmong(t *testing.T) {
	spray := "[spray, trimming]\nswitches: {\"*\": {queues: 2}}"
	events := func(at ...string) string {
		var all []string
		for i, x := range at {
			all = append(all, fmt.Sprintf("{at: %s, link: [spine0, leaf0], down: %v}", x, i%2 == 0))
		}
		return "events: [" + strings.Join(all, ", ") + "]"
	}
	for name, x := range map[string]struct{ programs, more, transport, iterations, align, duration, first, why string }{
		"warm-up":       {more: "warmup: 120us"},
		"end":           {iterations: "30000", duration: "430us"},
		"end later":     {iterations: "30000", duration: "3.43ms"},
		"end soon":      {iterations: "30000", duration: "170us", why: "too few iterations remain"},
		"ahead":         {programs: spray, iterations: "120", align: "22.2us"},
		"events":        {more: events("60us", "62us", "210us", "222us"), iterations: "12"},
		"event to come": {more: events("410us"), why: "an event is pending"},
		"flow before":   {first: "start: 3us, size: 100KB, transport: uet"},
		"flow later":    {first: "start: 300us, size: 100KB, transport: uet", why: "rank 0.computing: "},
		"endless later": {duration: "600us", first: "start: 300us, transport: udp, rate: 10Gbps", why: "sends.entries[0].At"},
		"ticks":         {programs: lossy, transport: "transport: rdma, cc: cubic", why: "its controller's clock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := strings.Replace(reduce, "9", cmp.Or(x.iterations, "9"), 1)
			job = strings.Replace(job, "50us", cmp.Or(x.align, "50us"), 1)
			text := fmt.Sprintf(training, strings.Replace(cmp.Or(x.programs, trimmed), "ROUTE", "ecmp", 1),
				"iterations: {draws: anew}\n"+x.more, cmp.Or(x.transport, "transport: uet"), job)
			text = strings.Replace(text, "1s", cmp.Or(x.duration, "1s"), 1)
			if x.first != "" {
				text = strings.Replace(text, "traffic: [", "traffic: [{name: x, from: h0, to: h5, "+x.first+"}, ", 1)
			}
			told := twice(t, text)
			if !strings.Contains(told.Why, x.why) || (told.Iterations == 0) != (x.why != "") {
				t.Errorf("%+v", told)
			}
		})
	}
}

// TestMessagesAtOnce checks that the memory estimate of weir check counts the messages of each host to all others
// that an all-to-all has in flight at once. 128 GPUs took 867 MB under rdma. A ring has a few messages per host.
func TestMessagesAtOnce(t *testing.T) {
	memory := func(job string) float64 {
		text := fmt.Sprintf(training, "[ecmp]", "", "transport: rdma, cc: dcqcn", job)
		text = strings.Replace(text, "servers: 2, gpus: 4", "servers: 16, gpus: 8", 1)
		s := plantest.LoadSource(t, Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
		return plan.EstimateMemory(plan.ListRuns(s)[0])
	}
	all, ring := memory("{all_to_all: {size: 16MiB}}"), memory("{all_reduce: {size: 16MiB}}")
	if all < 867e6/2 || all > 867e6*2 || ring > 300e6 {
		t.Errorf("%.0f MB all to all, %.0f MB in a ring", all/1e6, ring/1e6)
	}
	if few := memory("{all_to_all: {size: 16MiB, at_once: 8}}"); few > 300e6 {
		t.Errorf("%.0f MB to eight at a time", few/1e6)
	}
}

// hopsOf simulates the first run of a file, and returns it with its packet-hops.
func hopsOf(t *testing.T, text string) (r *plan.Run, hops float64) {
	t.Helper()
	s := plantest.LoadSource(t, Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
	r = plan.ListRuns(s)[0]
	c, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	res := plantest.Simulate(t, c)
	return r, float64(res.PacketHops)
}

// TestEstimateOfJobs checks that the estimate of a job's packet-hops is within a quarter of the simulated number.
// Jobs send to neighbours, to all, or in groups of a hierarchy, whose messages rarely cross servers.
func TestEstimateOfJobs(t *testing.T) {
	for name, job := range map[string]string{
		"ring":       "{all_reduce: {size: 16MB}}",
		"hierarchy":  "{all_reduce: {size: 16MB, algorithm: hierarchical, local: 4}}",
		"trees":      "{all_reduce: {size: 16MB, algorithm: double_tree, channels: 2}}",
		"all to all": "{all_to_all: {size: 16MB}}",
		"relayed":    "{all_to_all: {size: 16MB, algorithm: hierarchical, local: 4}}",
		"few":        "{all_to_all: {size: 16MB, at_once: 2}}",
		"chain":      "{broadcast: {size: 4MB}}",
		"checkpoint": "{checkpoint: {size: 4MB, servers: 2}}",
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(training, "[ecmp]", "", "transport: rdma, cc: none", job)
			text = strings.Replace(text, "servers: 2, gpus: 4", "servers: 4, gpus: 4", 1)
			r, real := hopsOf(t, text)
			if said := plan.EstimateHops(r); said < 0.8*real || said > 1.25*real {
				t.Errorf("%.0f packet-hops, estimated %.0f", real, said)
			}
		})
	}
}

// TestEstimateOfIterations checks that the estimate counts only messages that can begin within the run, for any
// number of iterations in the file. It is smaller where iterations recur.
func TestEstimateOfIterations(t *testing.T) {
	for name, x := range map[string]struct{ job, more string }{
		"computing": {"{all_reduce: {size: 1MB, iterations: 1000000, compute: 1ms}}", ""},
		"alignment": {"{all_reduce: {size: 1MB, iterations: 1000000, align: 1ms}}", ""},
		"bytes":     {"{all_reduce: {size: 4MB, iterations: 1000000}}", ""},
		"recurring": {"{all_reduce: {size: 1MB, iterations: 1000, compute: 10us, align: 1ms}}",
			"iterations: {draws: anew}"},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(training, "[ecmp]", x.more, "transport: rdma, cc: none", x.job)
			if x.more == "" {
				text = strings.Replace(text, "duration: 1s", "duration: 5ms", 1)
			}
			r, real := hopsOf(t, text)
			said := plan.EstimateHops(r)
			if said < 0.7*real || said > 2.2*real {
				t.Errorf("%.0f packet-hops, estimated %.0f", real, said)
			}
			few, seconds := plan.EstimateRecurring(r, simulatedIterations)
			if x.more != "" && (few > said/200 || few < said/400 || seconds > plan.EstimateTime(r)/20) {
				t.Errorf("%.0f packet-hops of %.0f if iterations recur, in %v s of %v", few, said, seconds, plan.EstimateTime(r))
			}
		})
	}
}

// TestCheckOfManyMessages checks that loading and trying a job takes no more memory if all its messages begin at
// once.
func TestCheckOfManyMessages(t *testing.T) {
	text := fmt.Sprintf(training, "[ecmp, trimming]\nswitches: {\"*\": {queues: 2}}", "", "transport: uet",
		"{all_to_all: {size: 1MB}}")
	text = strings.Replace(text, "servers: 2, gpus: 4", "servers: 64, gpus: 4", 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := plantest.LoadSource(t, Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
	r := plan.ListRuns(s)[0]
	hops, memory := plan.EstimateHops(r), plan.EstimateMemory(r)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 60e6 || hops < 256*255*2 || memory < 200e6 {
		t.Errorf("%d B for %.0f packet-hops and %.0f B of a run", took, hops, memory)
	}
}

// TestDraws_RefuseAnewWithoutRecurringIterations checks that draws that cannot restart are an error at their place.
func TestDraws_RefuseAnewWithoutRecurringIterations(t *testing.T) {
	for job, want := range map[string]string{
		"{all_reduce: {size: 64KB}}":                                         "the job has a single iteration",
		reduce + "}, {name: other, transport: tcp, cc: reno, job: " + reduce: "several jobs are given",
	} {
		text := fmt.Sprintf(training, "[ecmp]", "iterations: {draws: anew}", "transport: tcp, cc: reno", job)
		_, err := plan.Load(Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
		if err == nil || !strings.Contains(err.Error(), "x.yaml:5:21: draws: anew is not possible: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// remembers lists the programs whose state keeps iterations from recurring, and the part of it that differs between
// them.
var remembers = map[string]string{
	// averages, and rates of users
	"abc": ".Meter.bits: ", "csfq": ".rates.rates[0].value: ", "fdpa": ".rates.rates[0].value: ",
	"ppv": ".rates.rates[0].value: ", "rainbow": ".rates.rates[0].value: ", "red": ".average: ", "pie": ".burstLeft: ",
	"dualpi2": ".dueCounts[",
	"conga":   ".flowlets.cells[", // the port of a flow's last flowlet is the next one's, if none is better
	"bolt":    ".tokens: ",        // of a port
	"p4te":    ".tsVal: ",         // TCP's stamps, which count on
	"afq":     ".round: ",         // rounds count on
	"ncf":     "the network was never idle",
}

// chosen has the switches of programs that replace ecmp, or need options to recur. Tables are small, because the
// test compares all of their words.
var chosen = map[string]string{
	"ecmp": "switch: [ecmp]", "wecmp": "switch: [wecmp]", "spray": "switch: [spray]", "drill": "switch: [drill]",
	"letflow":   "switch: [{letflow: {gap: 20us, cells: 256}}]",
	"conga":     "switch: [{conga: {gap: 20us, cells: 256}}]",
	"hula":      "switch: [{hula: {probe: 50us, gap: 20us, cells: 256}}]",
	"telemetry": "switch: [ecmp, {telemetry: {format: int-md}}]",
	"pie":       "switch: [ecmp, {pie: {update: 500us}}]",
	"dualpi2": `switches: {"*": {programs: [ecmp, {dualpi2: {update: 500us}}], queues: 2, ` +
		"scheduler: {deadline: {step: 1ms}}}}",
	"p4te": "addresses: hierarchical\nswitch: [{p4te: {detect: 1ms, flowlet_cells: 256, flows: 256}}]",
}

// TestLongCycleRecurs checks that paths recur after several iterations if the estimates of utilisation outlast an
// iteration, with two probes of HULA in each.
func TestLongCycleRecurs(t *testing.T) {
	told := twice(t, `duration: 1s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2, rate: 100Gbps, delay: 500ns, buffer: 1MB}}
switch: [{hula: {probe: 200us, gap: 100us, cells: 256}}]
iterations: {draws: anew}
traffic: [{name: train, hosts: "*", transport: {rdma: {recovery: selective_repeat, reordering: adaptive}}, cc: swift,
           job: {all_reduce: {size: 60kB, iterations: 150, align: 400us}}}]
measure: [job]
`)
	if told.Iterations == 0 || told.Cycle <= 2 {
		t.Errorf("%+v", told)
	}
}

// TestBalancersRecur runs a job whose report gave a field of the program as the reason of no recurrence, under
// LetFlow and HULA. Under HULA iterations do not recur: its estimates of utilisation outlast an iteration, and
// still differ after 10 of them.
func TestBalancersRecur(t *testing.T) {
	for program, why := range map[string]string{"ecmp": "", "letflow": "", "drill": "", "spray": "", "wecmp": "",
		"{hula: {probe: 200us, gap: 100us}}": "leaf0.ingressers[0].links[0].load: 120515."} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			told := twice(t, fmt.Sprintf(`duration: 60ms
topology: {leaf_spine: {leaves: 4, spines: 2, hosts: 2, rate: 100Gbps, delay: 500ns}}
mtu: 4096 B payload
switches: {"*": {programs: [%s, {shared_buffer: {size: 32MB}}, pfc]}}
iterations: {draws: anew}
traffic: [{name: j, hosts: "*", transport: {rdma: {recovery: selective_repeat, reordering: adaptive}}, cc: swift,
           job: {all_reduce: {size: 64KB, iterations: 10, compute: 20us, align: 400us}}}]
measure: [job]
`, program))
			if (told.Iterations == 0) != (why != "") || !strings.HasPrefix(told.Why, why) || len(told.Why) > 100 {
				t.Errorf("%+v", told)
			}
		})
	}
}

// TestProgramsRecur checks that iterations recur under every program with a recurring state, and the others are listed
// with the word that differs.
func TestProgramsRecur(t *testing.T) {
	for _, p := range Registry().Programs {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			form, own := threadsForms["program "+p.Name]
			if !own {
				form[0] = "switch: [ecmp, " + p.Name + "]"
			}
			if !own || form[1] == overTCP {
				form[1] = "transport: {rdma: {recovery: selective_repeat, reordering: adaptive}}, cc: swift"
			}
			form[0] = cmp.Or(chosen[p.Name], form[0])
			told := twice(t, fmt.Sprintf(`duration: 1s
topology: {leaf_spine: {leaves: 3, spines: 2, hosts: 2, rate: 1Gbps, delay: 2us, buffer: 60kB}}
%s
iterations: {draws: anew}
traffic: [{name: train, hosts: ["h[0,2,4]", "h[1,3,5]"], %s,
           job: {all_reduce: {size: 60kB, iterations: 12, align: 4ms}}}]
measure: [job, drops]
`, form[0], form[1]))
			why, remembering := remembers[p.Name]
			if remembering != (told.Iterations == 0) || !strings.Contains(told.Why, why) ||
				!remembering && told.Iterations < 10-2*told.Cycle {
				t.Errorf("%+v", told)
			}
		})
	}
}

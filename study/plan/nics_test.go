package plan_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// homed has hosts with NICs of 1 and of 2 Gb/s at different switches, which a bundle joins.
const homed = `duration: 20ms
topology:
  hosts: [a, b, c]
  switches: [s, z]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: 1us}
    - {ends: [a, z], rate: 2Gbps, delay: 1us}
    - {ends: [b, s], rate: 1Gbps, delay: 1us}
    - {ends: [b, z], rate: 2Gbps, delay: 1us}
    - {ends: [c, z], rate: 10Gbps, delay: 1us}
    - {ends: [s, z], rate: 2Gbps, delay: 1us, bundle: 2}
switch: [ecmp]
measure: [goodput]
`

func configured(t *testing.T, text string) *sim.Config {
	t.Helper()
	s := plantest.Load(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), text, experiment.Options{})
	c, err := plan.Config(plan.ListRuns(s)[0].SpecPoint, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ran(t *testing.T, c *sim.Config) *outcome.Result {
	t.Helper()
	r, err := sim.Run(c)
	if err != nil || r.Violation != "" {
		t.Fatal(err, r.Violation)
	}
	return r
}

// TestFlowsChooseNICs checks that flows use the NICs in the file, and each NIC carries its own rate.
func TestFlowsChooseNICs(t *testing.T) {
	for _, x := range []struct {
		name, to, nic string
		links         map[string]float64 // Mb/s that a's NICs and b's send at least; at most 1 % more
	}{
		{"rails", "b", "rail", map[string]float64{"a->s": 980, "a->z": 1960}},
		{"in turn", "b", "round_robin", map[string]float64{"a->s": 980, "a->z": 1960}},
		{"by hash", "b", "hash", map[string]float64{"a->s": 980, "a->z": 1960}},
		{"the first", "b", "0", map[string]float64{"a->s": 980, "a->z": 0}},
		{"the second", "b", "1", map[string]float64{"a->s": 0, "a->z": 1960}},
		{"the nearest", "c", "hash", map[string]float64{"a->s": 0, "a->z": 1960}},
		{"the farther", "c", "0", map[string]float64{"a->s": 980, "a->z": 0}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := configured(t, homed+"traffic: [{name: x, from: a, to: "+x.to+", transport: udp, rate: 200Mbps, flows: 32, "+
				"start: 0s, nic: "+x.nic+"}]\n")
			r := ran(t, c)
			for i, p := range r.Ports {
				name := c.Wiring.Network.PortName(p.Link, p.End)
				want, there := x.links[name]
				if got := float64(p.TxBytes) * 8 / 20e-3 / 1e6; there && (got < want || got > want*1.03) {
					t.Errorf("port %d, %s: %.0f Mb/s, want %.0f", i, name, got, want)
				}
			}
		})
	}
}

// TestNICFails checks that a failed NIC stops only its own flows.
func TestNICFails(t *testing.T) {
	c := configured(t, homed+"events: [{at: 5ms, link: [a, s], down: true}]\n"+
		"traffic: [{name: x, from: a, to: b, transport: tcp, size: 2MB, flows: 2, start: 0s, nic: rail}]\n")
	r := ran(t, c)
	if r.Flows[0].FCT != unit.Never || r.Flows[1].FCT == unit.Never || r.Flows[1].FCT > 12*unit.Millisecond {
		t.Errorf("completion times %v and %v; the first NIC failed", r.Flows[0].FCT, r.Flows[1].FCT)
	}
}

// TestFlowsBeginElsewhere checks flows that begin while a NIC of their host has no link. By hash or in turn, they take
// another one. Flows of rails and of named NICs do not, nor do flows that have begun. Once the link is up, the NIC is
// taken again. Neither threads nor wire form change the results.
func TestFlowsBeginElsewhere(t *testing.T) {
	const dual = `duration: 40ms
topology: {rails: {servers: 4, gpus: 1, planes: 2, spines: 2, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
events:
  - {at: 5ms, link: [h0, leaf0], down: true}
  - {at: 20ms, link: [h0, leaf0], down: false}
traffic:
  - {name: before, from: h0, to: h2, size: 8MB, start: 0s, flows: 6, transport: {tcp: {rto_min: 1s}}, nic: NIC}
  - {name: during, from: h0, to: h2, size: 20kB, start: 6ms..15ms, flows: 40, transport: tcp, nic: NIC}
  - {name: after, from: h0, to: h2, size: 20kB, start: 21ms..30ms, flows: 40, transport: tcp, nic: NIC}
measure: [fct]
`
	for nic, moves := range map[string]bool{"hash": true, "round_robin": true, "rail": false, "0": false} {
		t.Run(nic, func(t *testing.T) {
			var first *outcome.Result
			for _, change := range []func(c *sim.Config){func(*sim.Config) {}, func(c *sim.Config) { c.Threads = 3 },
				func(c *sim.Config) { c.Wire = true }} {
				c := configured(t, strings.ReplaceAll(dual, "NIC", nic))
				change(c)
				r := ran(t, c)
				nics := c.Wiring.Network.NICs()
				var late, by [3]int
				for i := range r.Flows {
					g := c.Flows[i].Group
					if by[g] += nics.PortOf(c.Flows[i].Src); r.Flows[i].FCT > 4*unit.Millisecond {
						late[g]++
					}
				}
				if (late[1] == 0) != moves || late[0] == 0 || late[2] > 0 {
					t.Errorf("so many are late, of those before, during and after: %v", late)
				}
				if moves && (by[1] != 40 || by[0] == 6 || by[2] < 10 || by[2] > 30) {
					t.Errorf("so many go by the second NIC: %v", by)
				}
				if first == nil {
					first = r
				} else if !reflect.DeepEqual(r.Flows, first.Flows) || !reflect.DeepEqual(r.Ports, first.Ports) {
					t.Error("other results")
				}
			}
		})
	}
}

// TestMessagesBeginElsewhere checks the same for flows that wait for others, and for messages of jobs with continuing
// iterations.
func TestMessagesBeginElsewhere(t *testing.T) {
	const text = `duration: 100ms
topology: {rails: {servers: 4, gpus: 1, planes: 2, spines: 2, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
events: [{at: 3010us, link: [h0, leaf0], down: true}]
traffic:
  - {name: x, hosts: "h*", transport: {tcp: {rto_min: 1ms}}, nic: %s, %s}
measure: [%s]
`
	for name, x := range map[string]struct {
		nic, what, measure string
		ends               bool
	}{
		"a job":           {"hash", "job: {all_reduce: {size: 1MB, iterations: 20, compute: 1ms}}", "job", true},
		"a job in turn":   {"round_robin", "job: {all_reduce: {size: 1MB, iterations: 20, compute: 1ms}}", "job", true},
		"a job on rails":  {"rail", "job: {all_reduce: {size: 1MB, iterations: 20, compute: 1ms}}", "job", false},
		"a ring":          {"hash", "job: {all_reduce_flows: {algorithm: ring, size: 2MB}}, start: 5ms", "collective", true},
		"a ring on rails": {"rail", "job: {all_reduce_flows: {algorithm: ring, size: 2MB}}, start: 5ms", "collective", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := configured(t, fmt.Sprintf(text, x.nic, x.what, x.measure))
			if r := ran(t, c); (r.End == outcome.AllDone) != x.ends {
				t.Errorf("%v", r.End)
			}
		})
	}
}

// TestPlanes_UseServerNICInside checks GPUs with a NIC in each of four planes and one to their server. A collective's
// flows wait for others that arrive at other NICs of a host. Packets stay inside of a server where they can. Neither
// threads nor wire form change the results.
func TestPlanes_UseServerNICInside(t *testing.T) {
	const rails = `duration: 50ms
topology: {rails: {servers: 4, gpus: 2, planes: 4, spines: 2, rate: 10Gbps, delay: 1us, nvlink: 100Gbps}}
switch: [ecmp]
traffic: [{name: ring, hosts: "h*", job: {all_reduce_flows: {algorithm: ring, size: 4MB}}, transport: tcp, nic: %s}]
measure: [collective]
`
	for _, nic := range []string{"hash", "round_robin", "rail"} {
		t.Run(nic, func(t *testing.T) {
			var first *outcome.Result
			for _, change := range []func(c *sim.Config){func(*sim.Config) {}, func(c *sim.Config) { c.Threads = 3 },
				func(c *sim.Config) { c.Wire = true }} {
				c := configured(t, fmt.Sprintf(rails, nic))
				change(c)
				r := ran(t, c)
				if len(r.Unfinished) > 0 || r.End != outcome.AllDone {
					t.Fatalf("%s, %d flows are not finished", r.End, len(r.Unfinished))
				}
				if first == nil {
					first = r
				} else if !reflect.DeepEqual(r.Flows, first.Flows) || !reflect.DeepEqual(r.Ports, first.Ports) {
					t.Error("other results")
				}
				nics, used := c.Wiring.Network.NICs(), map[int]int{}
				for i := range c.Flows {
					f := &c.Flows[i]
					port := nics.PortOf(f.Src)
					used[port]++
					if inside := nics.HostOf(f.Src)/2 == nics.HostOf(f.Dst)/2; nic != "rail" && inside != (port == 4) {
						t.Errorf("flow %d from h%d to h%d by NIC %d", i, nics.HostOf(f.Src), nics.HostOf(f.Dst), port)
					}
				}
				if len(used) < 4 {
					t.Errorf("NICs are used so often: %v", used)
				}
			}
		})
	}
}

// TestWrongNICs checks that impossible NICs are reported with their place.
func TestWrongNICs(t *testing.T) {
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	traffic := "traffic: [{name: x, from: a, to: b, transport: tcp, start: 0s, nic: %s}]\n"
	for _, x := range []struct{ name, text, want string }{
		{"no such NIC", homed + fmt.Sprintf(traffic, "2"), "a has 2 NICs, and NIC 2 is asked for"},
		{"no choice", homed + fmt.Sprintf(traffic, "hsah"), `unknown value of nic "hsah"; did you mean "hash"?`},
		{"one NIC each", "duration: 1s\ntopology: {star: {hosts: 2, rate: 1Gbps, delay: 1us}}\nswitch: [ecmp]\n" +
			"measure: [goodput]\ntraffic: [{name: x, from: h0, to: h1, transport: tcp, start: 0s, nic: rail}]\n",
			"no host of this network has more than one NIC"},
		{"a bundle of none", strings.Replace(homed, "bundle: 2", "bundle: 0", 1) + fmt.Sprintf(traffic, "0"), "allowed: 1"},
		{"linked twice", strings.Replace(homed, "    - {ends: [s, z]", "    - {ends: [z, s], rate: 1Gbps, delay: 1us}\n"+
			"    - {ends: [s, z]", 1) + fmt.Sprintf(traffic, "0"),
			"s and z are already linked; allowed: bundle: 2 in the first link"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := plantest.LoadInvalid(t, registry, x.text, experiment.Options{}); !strings.Contains(got.Error(), x.want) {
				t.Errorf("got %v, want %s", got, x.want)
			}
		})
	}
}

// TestAddedHosts checks that hosts next to a family are added to it. Mistakes there are reported with their place.
func TestAddedHosts(t *testing.T) {
	const text = `duration: 10ms
topology:
  star: {hosts: 2, rate: 1Gbps, delay: 1us}
  hosts: [store]
  switches: [t]
  links:
    - {ends: [store, t], rate: 10Gbps, delay: 1us}
    - {ends: [t, s], rate: 10Gbps, delay: 1us, bundle: 2}
switch: [ecmp]
measure: [goodput]
traffic: [{name: x, from: store, to: "h*", transport: tcp, start: 0s, size: 100kB}]
`
	c := configured(t, text)
	if n := c.Wiring.Network; len(n.Nodes) != 5 || len(n.Links) != 5 || len(c.Flows) != 2 {
		t.Fatalf("%d nodes, %d links, %d flows", len(n.Nodes), len(n.Links), len(c.Flows))
	}
	if r := ran(t, c); r.End != outcome.AllDone {
		t.Error(r.End)
	}
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	for _, x := range []struct{ old, new, want string }{
		{"hosts: [store]\n", "hosts: [h0]\n", `:4:11: the topology has a node with the name "h0"`},
		{"  switches: [t]\n", "  fat_tree: {}\n", `"star" is given together with fat_tree`},
		{"ends: [store, t]", "ends: [store, r]", `:7:22: unknown node "r"`},
		{"ends: [t, s]", "ends: [h0, s]", ":8:14: h0 and s are already linked"},
		{"rate: 10Gbps, dela", "rat: 10Gbps, dela", `unknown link key "rat"`},
	} {
		t.Run(x.new, func(t *testing.T) {
			got := plantest.LoadInvalid(t, registry, strings.Replace(text, x.old, x.new, 1), experiment.Options{})
			if !strings.Contains(got.Error(), x.want) {
				t.Errorf("got %v, want %s", got, x.want)
			}
		})
	}
}

// TestHostGroups checks that groups are names for hosts, and may be of groups before them.
func TestHostGroups(t *testing.T) {
	const text = `duration: 1ms
topology: {leaf_spine: {leaves: 2, spines: 1, hosts: 4, rate: 10Gbps, delay: 1us}}
groups: {storage: [h0, h7], training: "h[1-6]", all: [training, storage], alone: h3}
switch: [ecmp]
measure: [goodput]
traffic: [{name: x, from: %s, to: %s, transport: tcp, start: 0s, size: 1kB}]
`
	for _, x := range []struct {
		from, to string
		flows    int
	}{{"training", "storage", 12}, {"alone", "all", 7}, {"[storage, h1]", "[h2]", 3}, {"all", "{random: 1}", 7}} {
		t.Run(x.from+" to "+x.to, func(t *testing.T) {
			if got := len(configured(t, fmt.Sprintf(text, x.from, x.to)).Flows); got != x.flows {
				t.Errorf("%d flows, want %d", got, x.flows)
			}
		})
	}
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	for _, x := range []struct{ name, old, new, want string }{
		{"a node's name", "alone: h3", "h3: h3", `:3:75: "h3" is already the name of a node`},
		{"no name", "alone: h3", "3a: h3", `:3:75: "3a" is not a valid name`},
		{"of none", "[h0, h7]", "[h0, h8]", `:3:24: unknown host "h8"`},
		{"behind it", "[h0, h7]", "[all]", `:3:20: unknown host "all"`},
		{"misspelt", "from: training", "from: trainin", `did you mean "training"?`},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := strings.Replace(fmt.Sprintf(text, "training", "storage"), x.old, x.new, 1)
			if got := plantest.LoadInvalid(t, registry, file, experiment.Options{}); !strings.Contains(got.Error(), x.want) {
				t.Errorf("got %v, want %s", got, x.want)
			}
		})
	}
}

// TestHostPatterns checks that hosts are named by patterns with ranges, and by the switch that they are at.
func TestHostPatterns(t *testing.T) {
	for pattern, want := range map[string]int{"h[8-15]": 8, "leaf0/*": 4, "nv[2-3]/*": 8, "leaf[0-1]/h[0-4]": 3} {
		t.Run(pattern, func(t *testing.T) {
			c := configured(t, "duration: 1ms\ntopology: {rails: {servers: 4, gpus: 4, spines: 1, rate: 10Gbps, delay: 1us}}\n"+
				"switch: [ecmp]\nmeasure: [goodput]\ntraffic: [{name: x, from: \""+pattern+"\", to: h7, transport: tcp, "+
				"start: 0s, size: 1kB}]\n")
			if got := len(c.Flows); got != want {
				t.Errorf("%d hosts, want %d", got, want)
			}
		})
	}
}

// TestJobsOverNICs checks that messages of jobs take the NICs of their traffic: inside a server over its own switch,
// otherwise over the planes. Each rank receives them at any NIC.
func TestJobsOverNICs(t *testing.T) {
	const text = `duration: 50ms
topology: {rails: {servers: 4, gpus: 2, planes: 2, spines: 2, rate: 10Gbps, delay: 1us, nvlink: 100Gbps}}
switch: [ecmp]
traffic: [{name: train, hosts: "h*", job: {all_reduce: {size: 1MB}}, transport: tcp}]
measure: [job]
`
	c := configured(t, text)
	r := ran(t, c)
	if r.End != outcome.AllDone || len(r.Jobs) != 1 || r.Jobs[0].Left > 0 {
		t.Fatalf("%s, %+v", r.End, r.Jobs)
	}
	sent := map[string]uint64{}
	for _, p := range r.Ports {
		if name := c.Wiring.Network.PortName(p.Link, p.End); strings.HasPrefix(name, "h") {
			kind, _, _ := strings.Cut(name[strings.Index(name, ">")+1:], "0")
			sent[strings.TrimRight(kind, "123456789")] += p.TxBytes
		}
	}
	if sent["nv"] < 4e6 || sent["leaf"] < 4e6 {
		t.Errorf("bytes by kind of NIC: %v", sent)
	}
}

// TestJobsTakeTurns checks that channels of a job take turns at NICs, so that both send as many bytes, for any choice
// of the traffic. Within a server all bytes use its own switch. A job that demands more NICs than hosts have is
// refused.
func TestJobsTakeTurns(t *testing.T) {
	const text = `duration: 50ms
topology: {rails: {servers: 4, gpus: 2, planes: 2, spines: 2, rate: 10Gbps, delay: 1us, nvlink: 100Gbps}}
switch: [ecmp]
traffic: [{name: train, nic: NIC, job: {all_reduce: {size: 1MB, channels: 4, nics: 2}}, transport: tcp}]
measure: [job]
`
	for _, choice := range []string{"hash", "rail", "round_robin", "2"} {
		c := configured(t, strings.Replace(text, "NIC", choice, 1))
		r := ran(t, c)
		sent := map[string]uint64{}
		for _, p := range r.Ports {
			if from, to, _ := strings.Cut(c.Wiring.Network.PortName(p.Link, p.End), "->"); from == "h1" {
				sent[to] += p.TxBytes
			}
		}
		// h1's next in the ring is in the second server: rank 1 sends over both planes, rank 0 within its server
		if len(sent) != 3 || r.Jobs[0].Left > 0 {
			t.Fatalf("%s: %d operations are left, %v", choice, r.Jobs[0].Left, sent)
		}
		var over []uint64
		for to, n := range sent {
			if !strings.HasPrefix(to, "nv") {
				over = append(over, n)
			}
		}
		if a, b := float64(over[0]), float64(over[1]); a < 0.9*b || b < 0.9*a || a < 400e3 {
			t.Errorf("%s: %v", choice, sent)
		}
	}
	got := plantest.LoadInvalid(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"),
		strings.Replace(strings.Replace(text, "NIC", "hash", 1), "nics: 2", "nics: 3", 1), experiment.Options{})
	if !strings.Contains(got.Error(),
		"traffic train: nics is 3, but the number of NICs of h0 with a path to other hosts of the job is 2") {
		t.Errorf("%v", got)
	}
}

// TestJobsNamedNIC checks that a NIC that a job's traffic names must lead from each rank to all of its receivers, not
// only from the first to the second. The error is at the NIC's place in the file. Ranks that send to each other by this
// NIC only may have it.
func TestJobsNamedNIC(t *testing.T) {
	const text = `duration: 50ms
topology: {rails: {servers: 2, gpus: 2, planes: 2, spines: 2, rate: 10Gbps, delay: 1us, nvlink: 100Gbps}}
switch: [ecmp]
traffic:
  - name: train
    nic: NIC
    HOSTS
    job: {all_reduce: {size: 1MB, channels: 4, nics: 1}}
    transport: tcp
measure: [job]
`
	named := func(nic, hosts string) string { return strings.NewReplacer("NIC", nic, "HOSTS", hosts).Replace(text) }
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	const led = "allowed: hash, round_robin, rail or a NIC with a path from each sender to its receivers"
	for _, x := range []struct{ text, want string }{
		{named("2", "hosts: h*"), ":6:10: traffic train: no path leads from NIC 2 of h1 to h2; " + led},
		{named("3", "hosts: h*"), ":6:10: traffic train: h0 has 3 NICs, and NIC 3 is asked for; they count from 0; " + led},
		{strings.Replace(named("hash", "hosts: h*"), "nics: 1", "nics: 3", 1),
			":8:54: traffic train: nics is 3, but the number of NICs of h0 with a path to other hosts of the job is 2; " +
				"allowed: nics: up to 2"},
	} {
		if got := plantest.LoadInvalid(t, registry, x.text, experiment.Options{}); !strings.Contains(got.Error(), x.want) {
			t.Errorf("%v\nwant %s", got, x.want)
		}
	}
	taken := "test.yaml:6:10: traffic train: nic has no effect, since the job selects one of 2 NICs for each message " +
		"(job-nic)"
	steers := strings.Replace(named("rail", "hosts: h*"), "nics: 1", "nics: 2", 1)
	steered := plantest.Load(t, registry, steers, experiment.Options{})
	if w := testkit.FormatAll(steered.Warnings()); !slices.Contains(w, taken) {
		t.Errorf("%q\nwant %s", w, taken)
	}
	if r := ran(t, configured(t, named("2", "hosts: [h2, h3]"))); r.End != outcome.AllDone || r.Jobs[0].Left > 0 {
		t.Errorf("%s, %d operations are left", r.End, r.Jobs[0].Left)
	}
}

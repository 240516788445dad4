package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/jobs/collective"
	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// wires is a topology of an experiment: links between hosts h0 … and switches s0 …, with the number of parallel ones.
type wires struct {
	hosts, switches int
	links           map[[2]string]int
	order           [][2]string
}

func (w *wires) add(a, b string, n int) {
	if a == b || w.links[[2]string{b, a}] > 0 {
		return
	}
	if w.links == nil {
		w.links = map[[2]string]int{}
	}
	if w.links[[2]string{a, b}] == 0 {
		w.order = append(w.order, [2]string{a, b})
	}
	w.links[[2]string{a, b}] = n
}

func (w *wires) String() string {
	named := func(letter string, n int) string {
		var names []string
		for i := range n {
			names = append(names, letter+fmt.Sprint(i))
		}
		return strings.Join(names, ", ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "topology:\n  hosts: [%s]\n  switches: [%s]\n  links:\n", named("h", w.hosts), named("s", w.switches))
	for _, ends := range w.order {
		fmt.Fprintf(&b, "    - {ends: [%s, %s], rate: 100Gbps, delay: 1us, bundle: %d}\n", ends[0], ends[1], w.links[ends])
	}
	if w.switches > 0 {
		b.WriteString(trims)
	}
	return b.String()
}

// reach returns the hosts that a host has a path to: a search over links, in which hosts do not forward.
func (w *wires) reach(from string) map[string]bool {
	found := map[string]bool{from: true}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != from && at[0] == 'h' {
			continue
		}
		for _, ends := range w.order {
			for e := range 2 {
				if next := ends[1-e]; ends[e] == at && !found[next] {
					found[next] = true
					queue = append(queue, next)
				}
			}
		}
	}
	return found
}

// star has all hosts at one switch.
func star(hosts int) *wires {
	w := &wires{hosts: hosts, switches: 1}
	for i := range hosts {
		w.add(fmt.Sprint("h", i), "s0", 1)
	}
	return w
}

// randomWires has hosts at switches and at each other, by single links and bundles, each with at least one.
func randomWires(r *rand.Rand) *wires {
	w := &wires{hosts: 2 + r.IntN(4), switches: r.IntN(4)}
	name := func(i int) string {
		if i < w.hosts {
			return fmt.Sprint("h", i)
		}
		return fmt.Sprint("s", i-w.hosts)
	}
	n := w.hosts + w.switches
	add := func(a, b int) { w.add(name(a), name(b), 1+r.IntN(6)/4) }
	for i := range n {
		for b := i; b == i || b >= n; {
			if b = r.IntN(n); b != i {
				add(i, b)
			}
		}
	}
	for range r.IntN(2 * n) {
		add(r.IntN(n), r.IntN(n))
	}
	return w
}

// work is a traffic, and the kind of its pairs of senders and receivers.
type work struct{ keys, sends string }

// works returns all kinds of jobs and of drawn traffic.
func works() (all []work) {
	for _, kind := range []string{collective.AllGather, collective.AllReduce, collective.AllToAll, collective.Broadcast,
		collective.Gather, collective.Pipeline, collective.Reduce, collective.ReduceScatter, collective.Scatter} {
		for _, algorithm := range collective.Algorithms(kind) {
			options := ", algorithm: " + algorithm
			switch {
			case kind == collective.Gather || kind == collective.Scatter:
				options = ""
			case kind == collective.Pipeline:
				options = ", schedule: " + algorithm
			case algorithm == collective.Hierarchical:
				options += ", local: 2"
			}
			all = append(all, work{fmt.Sprintf("job: {%s: {size: 40kB%s}}, hosts: HOSTS", kind, options), "job"})
		}
	}
	return append(all, work{"job: {checkpoint: {size: 40kB}}, hosts: HOSTS", "job"},
		work{"job: {read: {size: 40kB, iterations: 2}}, hosts: HOSTS", "job"},
		work{"job: {all_reduce_flows: {algorithm: ring, size: 40kB}}, hosts: HOSTS, start: 0s", "ring"},
		work{"job: {all_reduce_flows: {algorithm: tree, size: 40kB}}, hosts: HOSTS, start: 0s", "tree"},
		work{"from: HOSTS, to: {stride: 1}, size: 40kB, start: 0s", "stride"},
		work{"from: HOSTS, to: permutation, size: 40kB, start: 0s", "all"},
		work{"from: HOSTS, to: random, flows: 3, size: 40kB, start: 0s", "everybody"},
		work{"from: HOSTS, to: HOSTS, size: 40kB, start: 0s", "all"})
}

// traffic returns an experiment of this work over these wires.
func (x work) traffic(w *wires, hosts []string, transport string) string {
	return "duration: 100ms\n" + w.String() + "traffic:\n  - {name: j, " + transport + ", " +
		strings.ReplaceAll(x.keys, "HOSTS", "["+strings.Join(hosts, ", ")+"]") + "}\nmeasure: [drops, unfinished]\n"
}

// pairs returns the hosts that send to each other in this work. For a job it reads the operations of each rank, from
// its program over a star. It returns nil if these hosts cannot run the job.
func (x work) pairs(hosts []string) (pairs [][2]string) {
	n := len(hosts)
	add := func(a, b int) { pairs = append(pairs, [2]string{hosts[a], hosts[b]}) }
	switch x.sends {
	case "job":
		s, err := plan.Load(everyTransport(), plantest.NewSource("test.yaml", x.traffic(star(9), hosts, "transport: tcp")),
			experiment.Options{})
		if err != nil {
			return nil
		}
		p := plan.ListRuns(s)[0].SpecPoint.Entry(0).Job().Program
		for r := range p.Ranks() {
			for lane := range p.Lanes(r) {
				for i := range p.Ops(r, lane) {
					if op := p.Op(r, job.Ref{Lane: int32(lane), Op: int32(i)}); op.Kind == job.Send && int(op.Peer) != r {
						add(r, int(op.Peer))
					}
				}
			}
		}
	case "ring", "stride":
		for i := range n {
			add(i, (i+1)%n)
		}
	case "tree":
		for i := 1; i < n; i++ {
			add(i, (i-1)/2)
			add((i-1)/2, i)
		}
	default:
		for a := range n {
			for b := range n {
				if a != b {
					add(a, b)
				}
			}
		}
	}
	return pairs
}

// TestSendersNeedPaths checks that in random networks of hosts with several links, also to each other, work is accepted
// exactly if each sender has a path to its receivers. A refusal names a sender and a receiver without a path. All
// accepted work ends, over every transport, and no packet arrives where it is not expected.
func TestSendersNeedPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 2))
	registry := everyTransport()
	accepted, refused, direct := 0, 0, 0
	all := works()
	for i := range 4 * len(all) {
		x, transport := all[i%len(all)], transports[i%len(transports)]
		w := randomWires(r)
		var hosts []string
		for _, k := range r.Perm(w.hosts) {
			hosts = append(hosts, fmt.Sprint("h", k))
		}
		pairs := x.pairs(hosts)
		if x.sends == "everybody" { // to: random is to any host of the topology
			pairs = nil
			for _, from := range hosts {
				for k := range w.hosts {
					if to := fmt.Sprint("h", k); to != from {
						pairs = append(pairs, [2]string{from, to})
					}
				}
			}
		}
		if pairs == nil {
			continue
		}
		apart := slices.IndexFunc(pairs, func(p [2]string) bool { return !w.reach(p[0])[p[1]] })
		text := x.traffic(w, hosts, transport)
		_, err := plan.Load(registry, plantest.NewSource("test.yaml", text), experiment.Options{})
		if apart >= 0 {
			refused++
			named := slices.ContainsFunc(pairs, func(p [2]string) bool {
				return !w.reach(p[0])[p[1]] && err != nil &&
					strings.Contains(err.Error(), fmt.Sprintf(": no path leads from %s to %s; ", p[0], p[1]))
			})
			if !named {
				t.Fatalf("%v, and %v has no path in\n%s", err, pairs[apart], text)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v, and every sender has a path in\n%s", err, text)
		}
		accepted++
		res := ran(t, configuredBy(t, text))
		if res.End != outcome.AllDone || len(res.Unfinished) > 0 || res.Drops[dataplane.NotExpected] > 0 {
			t.Fatalf("%s, %d unfinished, %d packets not expected in\n%s", res.End, len(res.Unfinished),
				res.Drops[dataplane.NotExpected], text)
		}
		if slices.ContainsFunc(w.order, func(ends [2]string) bool { return ends[0][0] == 'h' && ends[1][0] == 'h' }) {
			direct++
		}
	}
	if accepted < 20 || refused < 20 || direct < 10 {
		t.Errorf("%d accepted, %d of them with direct links, and %d refused: the networks try too little", accepted, direct,
			refused)
	}
}

// These networks have no switch, or two switches without a path between them.
const (
	directRing = `topology: {hosts: [a, b, c, d], switches: [], links: [{ends: [a, b], rate: 100Gbps, delay: 1us},
  {ends: [b, c], rate: 100Gbps, delay: 1us}, {ends: [c, d], rate: 100Gbps, delay: 1us},
  {ends: [d, a], rate: 100Gbps, delay: 1us}]}
`
	directStar = `topology: {hosts: [a, b, c, d], switches: [], links: [{ends: [a, b], rate: 100Gbps, delay: 1us},
  {ends: [a, c], rate: 100Gbps, delay: 1us}, {ends: [a, d], rate: 100Gbps, delay: 1us}]}
`
	directLine = `topology: {hosts: [a, b, c, d], switches: [], links: [{ends: [a, b], rate: 100Gbps, delay: 1us},
  {ends: [b, c], rate: 100Gbps, delay: 1us}, {ends: [c, d], rate: 100Gbps, delay: 1us}]}
`
	twoPlanes = `topology: {hosts: [b, a, c], switches: [p1, p2], links: [{ends: [a, p1], rate: 100Gbps, delay: 1us},
  {ends: [b, p1], rate: 100Gbps, delay: 1us}, {ends: [b, p2], rate: 100Gbps, delay: 1us},
  {ends: [c, p2], rate: 100Gbps, delay: 1us}]}
switch: [ecmp]
`
)

// TestLoad_RejectsUnreachablePairs checks that a network without paths between all hosts accepts some jobs and traffic.
// Of others, the first pair without a path is refused, at the line of the traffic.
func TestLoad_RejectsUnreachablePairs(t *testing.T) {
	const none = ""
	for _, x := range []struct{ name, topology, traffic, want string }{
		{"a ring in its order", directRing, "job: {all_reduce: {size: 8MB}}, hosts: [a, b, c, d]", none},
		{"a ring in its order, backwards", directRing, "job: {all_reduce: {size: 8MB}}, hosts: [d, c, b, a]", none},
		{"a ring in another order", directRing, "job: {all_reduce: {size: 8MB}}, hosts: [a, c, b, d]",
			"from a to c"},
		{"all hosts of a ring", directRing, "job: {all_reduce: {size: 8MB}}", none},
		{"a ring by its first NICs", directRing, "nic: 1, job: {all_reduce: {size: 8MB}}, hosts: [a, b, c, d]",
			"from NIC 1 of a to b"},
		{"a ring by rail", directRing, "nic: rail, job: {all_reduce: {size: 8MB}}, hosts: [a, b, c, d]", none},
		{"two channels over one NIC", directRing, "job: {all_reduce: {size: 8MB, channels: 2, nics: 2}}, hosts: [a, b, c, d]",
			"of a with a path to other hosts of the job is 1"},
		{"all-to-all on a ring", directRing, "job: {all_to_all: {size: 8MB}}", "from a to c"},
		{"a ring of flows", directRing,
			"job: {all_reduce_flows: {algorithm: ring, size: 8MB}}, hosts: [a, b, c, d], start: 0s",
			none},
		{"a tree of flows", directRing,
			"job: {all_reduce_flows: {algorithm: tree, size: 8MB}}, hosts: [a, b, c, d], start: 0s",
			"from d to b"},
		{"a stride", directRing, "from: '*', to: {stride: 1}, size: 8MB, start: 0s", none},
		{"a stride of two", directRing, "from: '*', to: {stride: 2}, size: 8MB, start: 0s", "from a to c"},
		{"random", directRing, "from: '*', to: random, size: 8MB, start: 0s", "from a to c"},
		{"random from one", directLine, "from: a, to: {random: 1}, size: 8MB, start: 0s", "from a to c"},
		{"permutation", directRing, "from: '*', to: permutation, size: 8MB, start: 0s", "from a to c"},
		{"neighbours' pairs", directRing, "pairs: [[a, b], [c, d]], size: 8MB, start: 0s", none},
		{"other pairs", directRing, "pairs: [[a, b], [a, c]], size: 8MB, start: 0s", "from a to c"},
		{"a gather", directStar, "job: {gather: {size: 8MB}}", none},
		{"a scatter", directStar, "job: {scatter: {size: 8MB}}", none},
		{"a gather to a leaf", directStar, "job: {gather: {size: 8MB}}, hosts: [b, a, c, d]", "from c to b"},
		{"all-to-all on a star", directStar, "job: {all_to_all: {size: 8MB}}", "from b to c"},
		{"stages of a line", directLine, "job: {pipeline: {size: 8MB, forward: 1us, backward: 1us}}", none},
		{"stages in another order", directLine, "job: {pipeline: {size: 8MB}}, hosts: [b, a, c, d]", "from a to c"},
		{"a checkpoint", directStar, "job: {checkpoint: {size: 8MB}}, hosts: [b, c, d, a]", none},
		{"a checkpoint to a leaf", directStar, "job: {checkpoint: {size: 8MB}}, hosts: [b, a, c]", "from b to c"},
		{"planes", twoPlanes, "job: {all_to_all: {size: 3MB}}, hosts: [b, a, c]", "from a to c"},
		{"random in planes", twoPlanes, "from: '*', to: random, size: 10kB, load: 10%", "from a to c"},
		{"an incast in planes", twoPlanes, "from: [a, c], to: b, size: 10kB, start: 0s", none},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := "duration: 100ms\n" + x.topology + "traffic:\n  - {name: j, transport: rdma, cc: none, " + x.traffic +
				"}\nmeasure: [drops]\n"
			_, err := plan.Load(everyTransport(), plantest.NewSource("test.yaml", text), experiment.Options{})
			if x.want != none {
				line := fmt.Sprintf("test.yaml:%d:", 2+strings.Count("duration: 100ms\n"+x.topology, "\n"))
				if err == nil || !strings.Contains(err.Error(), x.want) || !strings.HasPrefix(err.Error(), line) {
					t.Fatalf("%v, want %s … %s", err, line, x.want)
				}
				return
			}
			if res := ran(t, configuredBy(t, text)); len(res.Unfinished) > 0 || len(res.Jobs) > 0 && res.Jobs[0].Left > 0 {
				t.Errorf("%s, %d flows are unfinished", res.End, len(res.Unfinished))
			}
		})
	}
}

// TestFilesNeedPaths checks that a job of a file needs paths as its operations send, too: GOAL and Chakra.
func TestFilesNeedPaths(t *testing.T) {
	goal := func(sends ...[2]int) string {
		var b strings.Builder
		b.WriteString("num_ranks 3\n")
		for r := range 3 {
			fmt.Fprintf(&b, "rank %d {\n", r)
			for i, s := range sends {
				switch r {
				case s[0]:
					fmt.Fprintf(&b, "s%d: send 10b to %d tag %d\n", i, s[1], i)
				case s[1]:
					fmt.Fprintf(&b, "r%d: recv 10b from %d tag %d\n", i, s[0], i)
				}
			}
			b.WriteString("}\n")
		}
		return b.String()
	}
	const chakra = "job: {chakra: {file: ../../run/testdata/two}}"
	for _, x := range []struct{ name, topology, traffic, goal, want string }{
		{"GOAL along a line", directLine, "job: {goal: {file: x.goal}}, hosts: [a, b, c]",
			goal([2]int{0, 1}, [2]int{1, 2}, [2]int{2, 1}), ""},
		{"GOAL past a host", directLine, "job: {goal: {file: x.goal}}, hosts: [a, b, c]",
			goal([2]int{0, 1}, [2]int{2, 0}), "no path leads from c to a"},
		{"GOAL through planes", twoPlanes, "job: {goal: {file: x.goal}}, hosts: [b, a, c]",
			goal([2]int{0, 1}, [2]int{0, 2}, [2]int{1, 2}), "no path leads from a to c"},
		{"Chakra on a line", directLine, chakra + ", hosts: [b, c]", "", ""},
		{"Chakra past a host", directLine, chakra + ", hosts: [a, c]", "", "no path leads from a to c"},
	} {
		t.Run(x.name, func(t *testing.T) {
			source := plantest.NewSource("test.yaml", "duration: 100ms\n"+x.topology+"traffic:\n  - {name: j, transport: tcp, "+
				x.traffic+"}\nmeasure: [job]\n")
			if open := source.Open; x.goal != "" {
				source.Open = func(name string) ([]byte, error) {
					if name == "x.goal" {
						return []byte(x.goal), nil
					}
					return open(name)
				}
			}
			s, err := plan.Load(everyTransport(), source, experiment.Options{})
			if x.want != "" {
				if err == nil || !strings.Contains(err.Error(), x.want) {
					t.Errorf("%v, want %q", err, x.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := plan.Config(plan.ListRuns(s)[0].SpecPoint, 1)
			if err != nil {
				t.Fatal(err)
			}
			if res := ran(t, c); res.End != outcome.AllDone || res.Jobs[0].Left > 0 {
				t.Errorf("%s, %d operations are left", res.End, res.Jobs[0].Left)
			}
		})
	}
}

// Package fusedtest compares fused lists of programs with their hooks. The same programs between the same ports with
// the same random traffic must send the same bytes at the same times and count the same.
package fusedtest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/fused"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// list is an ordered list of programs.
type list []dataplane.Scheme

// String returns the names of the programs.
func (l list) String() string {
	var names []string
	for _, s := range l {
		names = append(names, s.Name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// Roles are schemes by the role of their programs in a fused list.
type Roles struct {
	Offers  []dataplane.Scheme // with a part between the ingress and the wire
	Routers []dataplane.Scheme // with the ingress as a part
	Others  []dataplane.Scheme // with hooks of the ingress only, or irrelevant ones; they can precede all others
}

// SortRoles sorts schemes by the role of their programs, and omits those that prevent the fusion of a list.
func SortRoles(schemes []dataplane.Scheme) (x Roles) {
	for _, s := range schemes {
		for seed := range uint64(50) { // some need particular parameters or ports
			programs, site := newDraw(seed).buildPrograms(list{s})
			if programs == nil {
				continue
			}
			pipe := fused.FusePrograms(programs, site.At)
			if pipe == nil {
				continue
			}
			if _, ingress := programs[0].(dataplane.Ingresser); pipe.DoesIngress() {
				x.Routers = append(x.Routers, s)
			} else if _, drops := programs[0].(dataplane.Dropper); ingress || drops {
				x.Others = append(x.Others, s)
			} else {
				x.Offers = append(x.Offers, s)
			}
			break
		}
	}
	return x
}

// listOrders returns all subsets of the offers in all orders, the empty one first.
func listOrders(offers []dataplane.Scheme) []list {
	all := []list{nil}
	for i := 0; i < len(all); i++ {
		for _, s := range offers {
			if !slices.ContainsFunc(all[i], func(x dataplane.Scheme) bool { return x.Name == s.Name }) {
				all = append(all, append(slices.Clone(all[i]), s))
			}
		}
	}
	return all
}

// Comparison is the result of CompareFused.
type Comparison struct {
	Fused  map[string]int // number of fused runs, by list of offers
	Passed int            // packets that needed no queue
}

// CompareFused runs every list after some router the given number of times, each time with other parameters, ports and
// traffic, and reports differences. A list without a pipe for its parameters runs by hooks both times.
func CompareFused(t testing.TB, drive dataplanetest.ScriptRunner, schemes []dataplane.Scheme,
	times int) (r Comparison) {
	t.Helper()
	r.Fused = map[string]int{}
	parts := SortRoles(schemes)
	for _, s := range parts.Offers {
		if _, known := variations[s.Name]; !known {
			t.Errorf("%s has a part in fused lists: set in vary how its parameters vary", s.Name)
		}
	}
	for i, list := range listOrders(parts.Offers) {
		for k := range times {
			seed := uint64(i*times + k)
			front := parts.drawFront(rand.New(rand.NewPCG(seed, 2)))
			passed, pipe, err := compareRuns(drive, append(front, list...), seed)
			if err != nil {
				t.Errorf("%v, seed %d: %v", append(front, list...), seed, err)
			}
			if r.Passed += passed; pipe {
				r.Fused[list.String()]++
			}
		}
	}
	return r
}

// drawFront draws the programs before the offers from r: half of the time a pipe's own router, else other programs with
// or without it.
func (x *Roles) drawFront(r *rand.Rand) (list list) {
	if len(x.Others) > 0 && r.IntN(2) == 0 {
		list = append(list, x.Others[r.IntN(len(x.Others))])
	}
	if list == nil || r.IntN(3) > 0 {
		list = append(list, x.Routers[r.IntN(len(x.Routers))])
	}
	return list
}

// compareRuns runs a list with the parameters, ports and traffic of a seed by hooks and fused. It returns the number
// of packets that needed no queue, and whether the list has a pipe. A list that cannot be built is not an error,
// since an experiment cannot use it either.
func compareRuns(drive dataplanetest.ScriptRunner, list list, seed uint64) (passed int, pipe bool, err error) {
	var got [2]dataplanetest.Transcript
	for i := range got {
		d := newDraw(seed)
		programs, _ := d.buildPrograms(list)
		if programs == nil {
			return 0, false, nil
		}
		if d.IntN(4) == 0 {
			at := d.IntN(len(programs) + 1)
			programs = slices.Insert(programs, at, dataplane.Program(&meddler{every: 2 + d.IntN(30)}))
		}
		d.setup.Programs = programs
		if i == 1 {
			d.setup.Fuse = func(programs []dataplane.Program, ports []*tm.Port) dataplane.Pipe {
				x := fused.FusePrograms(programs, ports)
				pipe = x != nil
				return x
			}
		}
		got[i] = drive(d.setup, d.drawTraffic())
	}
	passed, got[1].Passed = got[1].Passed, 0
	return passed, pipe, findDifference(&got[0], &got[1])
}

// findDifference returns an error with the first difference of two transcripts, or nil.
func findDifference(hooks, fused *dataplanetest.Transcript) error {
	for i := range min(len(hooks.Departures), len(fused.Departures)) {
		if a, b := hooks.Departures[i], fused.Departures[i]; a != b {
			return fmt.Errorf("departure %d is by hooks %+v, fused %+v", i, a, b)
		}
	}
	if !reflect.DeepEqual(hooks, fused) {
		hooks, fused := *hooks, *fused
		n, m := len(hooks.Departures), len(fused.Departures)
		hooks.Departures, fused.Departures = nil, nil
		return fmt.Errorf("by hooks %d departures and %+v, fused %d and %+v", n, hooks, m, fused)
	}
	return nil
}

// meddler is an ingress that makes all requests that an ingress may make, one every so many packets.
type meddler struct{ every, n int }

// Name returns "meddler".
func (*meddler) Name() string { return "meddler" }

// Ingress makes one of the requests in turn for every m.every-th packet. It accepts all other packets.
func (m *meddler) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if m.n++; m.n%m.every != 0 || p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	to := packet.PortID(m.n % env.Ports())
	switch m.n / m.every % 6 {
	case 0:
		env.SendPacket(env.ClonePacket(p, false), to, 0)
	case 1:
		env.InjectPacket(env.ClonePacket(p, true))
	case 2:
		env.EvictTail(to, 0)
	case 3:
		env.TrimTail(to, 0)
	case 4:
		env.ReplicateTo(to)
	case 5:
		return dataplane.Consume
	}
	return dataplane.Accept
}

// draw draws parameters, ports and traffic.
type draw struct {
	*rand.Rand
	setup dataplanetest.Setup
}

// newDraw draws the ports of a setup from a seed.
func newDraw(seed uint64) *draw {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 1))}
	queues := 1
	if d.IntN(4) == 0 {
		queues = 2 + d.IntN(3)
	}
	port := dataplanetest.Port{Queues: queues, Delay: unit.Time(d.IntN(3)) * unit.Microsecond}
	if d.IntN(3) == 0 {
		port.Each = tm.Limit{Packets: int32(d.IntN(6)), Bytes: unit.Bytes(d.IntN(8000))}
	}
	if d.IntN(4) == 0 {
		port.Total = tm.Limit{Packets: int32(d.IntN(9)), Bytes: unit.Bytes(d.IntN(9000))}
	}
	kind := d.IntN(8)
	for range 2 + d.IntN(7) {
		x := port
		x.Rate = unit.LinkRate{Bits: []unit.Rate{1, 10, 25}[d.IntN(3)] * unit.Gbps}
		switch {
		case kind == 0:
			x.Scheduler = tm.NewFQ(tm.FQ{Flows: 4, Quantum: 1500})
		case kind == 1:
			x.Scheduler = tm.NewLeastValue()
		case kind < 4 && queues > 1:
			x.Scheduler = tm.NewDWRR(slices.Repeat([]int32{1}, queues), 1500)
		}
		d.setup.Ports = append(d.setup.Ports, x)
	}
	return d
}

// buildPrograms builds the programs of a list for the drawn ports, with drawn parameters. It returns nil if the
// parameters do not fit together.
func (d *draw) buildPrograms(list list) (programs []dataplane.Program, site *dataplane.Site) {
	site = d.setup.NewSiteWithPorts()
	for _, p := range d.setup.Ports {
		site.Rates = append(site.Rates, p.Rate.Bits)
	}
	slices.Sort(site.Rates)
	site.Rates = slices.Compact(site.Rates)
	for _, s := range list {
		p, err := dataplanetest.BuildProgram(s, site, d.drawParams(s.Name)...)
		if err != nil {
			return nil, nil
		}
		programs = append(programs, p)
	}
	return programs, site
}

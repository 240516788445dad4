// Package fusedtest holds fused lists of programs against their hooks: the same programs between the same ports, with
// the same random traffic, must send the same bytes at the same times and count the same.
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

// list is programs in an order.
type list []dataplane.Scheme

// String has their names.
func (l list) String() string {
	var names []string
	for _, s := range l {
		names = append(names, s.Name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// Parts are schemes by what their programs are to a fused list.
type Parts struct {
	Offers  []dataplane.Scheme // have a part between the ingress and the wire
	Routers []dataplane.Scheme // have the ingress as a part
	Others  []dataplane.Scheme // have hooks of the ingress only, or none that matter, and can stand before all
}

// PartsOf sorts schemes, and leaves out those that keep a list from being fused.
func PartsOf(schemes []dataplane.Scheme) (x Parts) {
	for _, s := range schemes {
		for seed := range uint64(50) { // some can be built with some parameters only, or between some ports
			programs, site := newDraw(seed).build(list{s})
			if programs == nil {
				continue
			}
			pipe := fused.Of(programs, site.At)
			if pipe == nil {
				continue
			}
			if _, ingress := programs[0].(dataplane.Ingresser); pipe.Routes() {
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

// lists are all subsets of the offers in all orders.
func lists(offers []dataplane.Scheme) []list {
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

// Comparison is the result of Check.
type Comparison struct {
	Fused  map[string]int // how often, by list of offers
	Passed int            // packets that needed no queue
}

// Check runs every list behind some router so many times, each time with other parameters, ports and traffic, and
// reports what differs. A list that has no pipe with some parameters runs by hooks both times.
func Check(t testing.TB, drive dataplanetest.ScriptRunner, schemes []dataplane.Scheme, times int) (r Comparison) {
	t.Helper()
	r.Fused = map[string]int{}
	parts := PartsOf(schemes)
	for _, s := range parts.Offers {
		if _, known := vary[s.Name]; !known {
			t.Errorf("%s has a part in fused lists: say in vary how its parameters vary", s.Name)
		}
	}
	for i, list := range lists(parts.Offers) {
		for k := range times {
			seed := uint64(i*times + k)
			front := parts.front(rand.New(rand.NewPCG(seed, 2)))
			passed, pipe, err := compare(drive, append(front, list...), seed)
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

// front is what stands before the offers: half the time what a pipe does itself, else also or only others.
func (x *Parts) front(r *rand.Rand) (list list) {
	if len(x.Others) > 0 && r.IntN(2) == 0 {
		list = append(list, x.Others[r.IntN(len(x.Others))])
	}
	if list == nil || r.IntN(3) > 0 {
		list = append(list, x.Routers[r.IntN(len(x.Routers))])
	}
	return list
}

// compare runs a list with parameters, ports and traffic of a seed by hooks and fused. It returns how many packets
// needed no queue, and whether the list has a pipe. A list that cannot be built is no error: it is none for an
// experiment either.
func compare(drive dataplanetest.ScriptRunner, list list, seed uint64) (passed int, pipe bool, err error) {
	var got [2]dataplanetest.Transcript
	for i := range got {
		d := newDraw(seed)
		programs, _ := d.build(list)
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
				x := fused.Of(programs, ports)
				pipe = x != nil
				return x
			}
		}
		got[i] = drive(d.setup, d.traffic())
	}
	passed, got[1].Passed = got[1].Passed, 0
	return passed, pipe, differ(&got[0], &got[1])
}

// differ says where transcripts do.
func differ(hooks, fused *dataplanetest.Transcript) error {
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

// meddler is an ingress that asks the switch for all that an ingress may, every so many packets.
type meddler struct{ every, n int }

func (*meddler) Name() string { return "meddler" }

func (m *meddler) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if m.n++; m.n%m.every != 0 || p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	to := packet.PortID(m.n % env.Ports())
	switch m.n / m.every % 6 {
	case 0:
		env.Send(env.Clone(p, false), to, 0)
	case 1:
		env.Inject(env.Clone(p, true))
	case 2:
		env.Evict(to, 0)
	case 3:
		env.TrimTail(to, 0)
	case 4:
		env.Replicate(to)
	case 5:
		return dataplane.Consume
	}
	return dataplane.Accept
}

// draw makes up parameters, ports and traffic.
type draw struct {
	*rand.Rand
	setup dataplanetest.Setup
}

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
			x.Scheduler = tm.NewLeast()
		case kind < 4 && queues > 1:
			x.Scheduler = tm.NewDWRR(slices.Repeat([]int32{1}, queues), 1500)
		}
		d.setup.Ports = append(d.setup.Ports, x)
	}
	return d
}

// build makes the programs of a list; nil: the parameters do not fit together.
func (d *draw) build(list list) (programs []dataplane.Program, site *dataplane.Site) {
	site = d.setup.Ready()
	for _, p := range d.setup.Ports {
		site.Rates = append(site.Rates, p.Rate.Bits)
	}
	slices.Sort(site.Rates)
	site.Rates = slices.Compact(site.Rates)
	for _, s := range list {
		p, err := dataplanetest.Make(s, site, d.given(s.Name)...)
		if err != nil {
			return nil, nil
		}
		programs = append(programs, p)
	}
	return programs, site
}

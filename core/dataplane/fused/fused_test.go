package fused_test

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/codel"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/aqm/red"
	"weir/core/dataplane/balance/drill"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/balance/spray"
	"weir/core/dataplane/buffer/inputloss"
	"weir/core/dataplane/buffer/inputring"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/buffer/trimming"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/fused"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/testkit/fusedtest"
)

// schemes are programs with a part in fused lists, and others. The binary's own test has all that there are.
func schemes() []dataplane.Scheme {
	return []dataplane.Scheme{classify.Scheme(), codel.Scheme(), drill.Scheme(), ecmp.Scheme(), ecn.Scheme(),
		forward.Scheme(), inband.Scheme(), inputloss.Scheme(), inputring.Scheme(), letflow.Scheme(), pfc.Scheme(),
		red.Scheme(), sharedbuffer.Scheme(), spray.Scheme(), trimming.Scheme()}
}

// Example: a list of a route and marks has a pipe, which does its ingress, too.
func Example() {
	s := dataplanetest.NewLinks(2, unit.Gbps, 1)
	route := forward.New(s.NewSite())
	marks, err := ecn.New(s.NewSite(), scheme.Defaults[ecn.Config]())
	pipe := fused.FusePrograms([]dataplane.Program{route, marks}, s.NewSiteWithPorts().At)
	fmt.Println(pipe.DoesIngress(), err)
	// Output: true <nil>
}

// TestEveryList checks that every list of fusible programs sends and counts in fused form the same as by hooks.
// TestEveryListFull has more parameters and traffic for each.
func TestEveryList(t *testing.T) { everyList(t, 4) }

// everyList runs every list the given number of times, each time with other parameters, ports and traffic.
func everyList(t *testing.T, times int) {
	t.Helper()
	r := fusedtest.CompareFused(t, dataplanetest.RunDirect, schemes(), times)
	for _, list := range []string{"[]", "[ecn]", "[red]", "[shared_buffer]", "[telemetry]", "[red, ecn]", "[ecn, red]",
		"[shared_buffer, pfc]", "[shared_buffer, ecn]", "[ecn, shared_buffer]", "[shared_buffer, pfc, ecn, telemetry]",
		"[telemetry, ecn, shared_buffer, pfc]", "[red, shared_buffer, pfc, telemetry]", "[pfc]", "[pfc, ecn]"} {
		if r.Fused[list] == 0 {
			t.Errorf("%s was never fused", list)
		}
	}
	if r.Passed < 1000 {
		t.Errorf("%d packets needed no queue", r.Passed)
	}
	t.Logf("%d lists, %d packets without a queue", len(r.Fused), r.Passed)
}

// TestSetPrograms checks that a switch sends the same packets as by hooks when programs without a pipe replace its own,
// and when those return.
func TestSetPrograms(t *testing.T) {
	var got [2][]int32
	pipes := 0
	for i := range got {
		s := dataplanetest.NewLinks(3, unit.Gbps, 1)
		site := s.NewSiteWithPorts()
		make := func(d dataplane.Scheme, given ...string) dataplane.Program {
			p, err := dataplanetest.BuildProgram(d, site, given...)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		s.Programs = []dataplane.Program{make(ecmp.Scheme()), make(sharedbuffer.Scheme(), "size", "20KB"),
			make(ecn.Scheme(), "kmin", "1KB", "kmax", "2KB")}
		if i == 1 {
			s.Fuse = func(programs []dataplane.Program, ports []*tm.Port) dataplane.Pipe {
				x := fused.FusePrograms(programs, ports)
				if x != nil {
					pipes++
				}
				return x
			}
		}
		var pool packet.Pool
		sw, book, now := s.NewSwitch(&pool), s.NewBook(), unit.Time(0)
		for n := range 600 {
			now += unit.Microsecond
			switch n {
			case 200:
				err := sw.SetPrograms(now, append(slices.Clone(s.Programs), make(codel.Scheme(), "target", "1us")))
				if err != nil {
					t.Fatal(err)
				}
			case 400:
				if err := sw.SetPrograms(now, s.Programs); err != nil {
					t.Fatal(err)
				}
			}
			sw.Receive(now, packet.PortID(n%2), s.NewPacket(&pool, book, dataplanetest.Arrival{Dst: 3, Payload: int32(n),
				TOS: packet.ECT0, Port: packet.PortID(n % 2)}))
			if n%3 > 0 {
				if p, _ := sw.Dequeue(now, 2); p != nil {
					got[i] = append(got[i], p.Size, int32(p.TOS), int32(sw.BufferedBytes()))
				}
			}
		}
		for why, n := range sw.DropCounts() {
			got[i] = append(got[i], int32(why), int32(n))
		}
	}
	if !slices.Equal(got[0], got[1]) {
		t.Errorf("by hooks %v, fused %v", got[0], got[1])
	}
	if pipes != 2 {
		t.Errorf("%d pipes", pipes)
	}
}

// TestFusePrograms_UnusedWithObserver checks that a switch with an observer uses its hooks, including the observer's.
func TestFusePrograms_UnusedWithObserver(t *testing.T) {
	s := dataplanetest.NewLinks(2, unit.Gbps, 1)
	asked := false
	_, err := dataplane.New(dataplane.Config{Ports: s.NewSiteWithPorts().At, Numbers: make([]dataplane.Number, 2),
		Programs: []dataplane.Program{forward.New(s.NewSite())}, Observer: nobody{},
		FusePrograms: func([]dataplane.Program, []*tm.Port) dataplane.Pipe {
			asked = true
			return nil
		}})
	if err != nil || asked {
		t.Errorf("asked for a pipe: %v, %v", asked, err)
	}
}

type nobody struct{}

func (nobody) Observe(trace.Event, *packet.Packet) {}

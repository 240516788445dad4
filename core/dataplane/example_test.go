package dataplane_test

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config is what an experiment can set: switch: [forward, {step: {from: 2 packets}}].
type config struct{ From int }

// Params binds it.
func (c *config) Params(p *scheme.Params) {
	p.Packets(&c.From, "from", "5 packets", "queue from which packets are marked", "an example").Min("1 packets")
}

// step marks packets that find a queue.
type step struct{ from int }

// Name is the program's.
func (s *step) Name() string { return "step" }

// Admit runs before a packet enters the queue of port p.Meta.Out.
func (s *step) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if int(env.Port(p.Meta.Out).Packets()) >= s.from && p.TOS&packet.ECN == packet.ECT0 {
		p.TOS |= packet.CE
	}
	return dataplane.Accept
}

// Example writes a switch program, a name with any hooks, here Admit, and defines it as a scheme that experiments name.
// A switch runs its programs in their order: forward chooses the port, and step marks.
func Example() {
	step := dataplane.Define(scheme.Scheme{Name: "step", Doc: "marks from a queue on", Source: "an example"},
		func(_ *dataplane.Site, c config) (*step, error) { return &step{from: c.From}, nil })
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Gbps}},
		{Rate: unit.LinkRate{Bits: unit.Mbps}}}}
	site := s.NewSite()
	p, err := dataplanetest.BuildProgram(step, site, "from", "2 packets")
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Programs = []dataplane.Program{forward.New(site), p}
	var arrivals []dataplanetest.Arrival
	for i := range 5 {
		arrivals = append(arrivals, dataplanetest.Arrival{At: unit.Microsecond, Dst: 2, Seq: int64(i), Payload: 1000,
			TOS: packet.ECT0})
	}
	for _, d := range dataplanetest.RunDirect(s, arrivals).Departures {
		fmt.Println(d.Seq, d.TOS&packet.ECN == packet.CE)
	}
	// Output:
	// 0 false
	// 1 false
	// 2 false
	// 3 true
	// 4 true
}

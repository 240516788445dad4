package dataplane

import (
	"testing"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// keeps is a program that keeps a table of 16 bits and 3 × 10 bits at ingress and 4 × 8 in the manager.
type keeps struct{ control bool }

func (keeps) Name() string { return "keeps" }

func (keeps) Ingress(*Env, *packet.Packet) Verdict { return Accept }

func (k keeps) Footprint() Footprint {
	f := Footprint{Stages: []Stage{
		{Name: "a", Gress: InIngress, Registers: []RegisterUse{{Name: "r", Cells: 3, Bits: 10, Reads: 1, Writes: 1}},
			Tables:     []TableUse{{Name: "t", Match: MatchExact, Entries: 2, Key: 4, Action: 4}},
			Operations: []Operation{{Kind: Dividing, Times: 2}, {Kind: Copying, Times: 5}}},
		{Name: "b", Gress: InManager, Registers: []RegisterUse{{Name: "q", Cells: 4, Bits: 8, Reads: 1},
			{Name: "r", Cells: 3, Bits: 10, Reads: 1}}}}} // the same array as in a: its bits count once
	if k.control {
		f.Stages = append(f.Stages, Stage{Name: "c", Gress: InControl,
			Registers:  []RegisterUse{{Name: "x", Cells: 1000, Bits: 64, Reads: 1}},
			Operations: []Operation{{Kind: Looping, Times: 1000}}})
	}
	return f
}

// silent is a program that reports no footprint.
type silent struct{}

func (silent) Name() string { return "silent" }

func (silent) Ingress(*Env, *packet.Packet) Verdict { return Accept }

// TestSwitch_SumsUsageOfPrograms checks that a switch's usage is the sum of its programs' and its schedulers'. It
// counts pipeline and manager without the control plane, the state of all ports, and a packet's cost at one of them.
func TestSwitch_SumsUsageOfPrograms(t *testing.T) {
	for _, x := range []struct {
		name     string
		programs []Program
		want     Usage
		ok       bool
	}{
		{"one", []Program{keeps{}}, Usage{State: 16 + 30 + 32 + 2*224, Reads: 1 + 2 + 1, Writes: 1 + 1,
			Lookups: 1, PipelineOperations: 5, CostlyOperations: 2 + 1}, true},
		{"two", []Program{keeps{}, keeps{true}},
			Usage{State: 2*78 + 2*224, Reads: 2*3 + 1, Writes: 2 + 1, Lookups: 2, PipelineOperations: 2 * 5,
				CostlyOperations: 2*2 + 1}, true},
		{"silent", []Program{silent{}}, Usage{}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			var ports []*tm.Port
			for range 2 {
				ports = append(ports, tm.NewPort(tm.NewBuffer(2, tm.Limit{}, tm.Limit{}), tm.NewDRR(2, 1514),
					unit.LinkRate{Bits: unit.Gbps}))
			}
			s, err := New(Config{Name: "s", Ports: ports, Programs: x.programs, Pool: &packet.Pool{}})
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := s.Usage(); ok != x.ok || ok && got != x.want {
				t.Errorf("%+v, %v; want %+v", got, ok, x.want)
			}
		})
	}
}

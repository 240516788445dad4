package dataplane_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

func TestWidthOf_CountsBitsOfFields(t *testing.T) {
	type cell struct {
		at    unit.Time
		port  packet.PortID
		used  bool
		rates [3]uint8
		rest  []int64
	}
	for _, c := range []struct {
		x    any
		want int
	}{
		{cell{at: 1, port: 2, used: true, rates: [3]uint8{3}, rest: []int64{4}}, 64 + 16 + 1 + 3*8},
		{uint32(0), 32}, {true, 1}, {0.0, 64}, {[]int{1}, 0}, {nil, 0},
	} {
		t.Run(fmt.Sprintf("%T", c.x), func(t *testing.T) {
			if got := dataplane.WidthOf(c.x); got != c.want {
				t.Errorf("%d bits, want %d", got, c.want)
			}
		})
	}
	for n, want := range map[int]int{0: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 64: 6, 65: 7} {
		if got := dataplane.IndexBits(n); got != want {
			t.Errorf("an index into %d has %d bits, want %d", n, got, want)
		}
	}
}

// TestLimits_BreakOnlyTheirSection checks that each limit of P4TE §4 is broken only by the case of its section.
func TestLimits_BreakOnlyTheirSection(t *testing.T) {
	register := func(name string, cells, bits, reads, writes int) dataplane.RegisterUse {
		return dataplane.RegisterUse{Name: name, Cells: cells, Bits: bits, Reads: reads, Writes: writes}
	}
	op := func(k dataplane.OperationKind) dataplane.Stage {
		return dataplane.Stage{Name: "s", Operations: []dataplane.Operation{{Kind: k, Times: 1}}}
	}
	with := func(g dataplane.SwitchPart, s dataplane.Stage) dataplane.Stage { s.Gress = g; return s }
	registers := func(name string, r ...dataplane.RegisterUse) dataplane.Stage {
		return dataplane.Stage{Name: name, Registers: r}
	}
	many := slices.Repeat([]dataplane.Stage{{Name: "s"}}, 33)
	tcam := dataplane.Stage{Name: "s", Tables: []dataplane.TableUse{{Name: "t", Match: dataplane.MatchTernary,
		Entries: 20000, Key: 128, Action: 8}}}
	for _, c := range []struct {
		name   string
		stages []dataplane.Stage
		want   string
	}{
		{"nothing", []dataplane.Stage{{Name: "s"}}, ""},
		{"§4.1 division", []dataplane.Stage{op(dataplane.Dividing)}, "4.1"},
		{"§4.1 floating point", []dataplane.Stage{op(dataplane.FloatingPoint)}, "4.1"},
		{"§4.1 exponential", []dataplane.Stage{op(dataplane.Transcendental)}, "4.1"},
		{"§4.1 stages", many, "4.1"},
		{"32 stages", many[:32], ""},
		{"§4.2 one read-write in a stage", []dataplane.Stage{registers("s", register("a", 8, 32, 1, 1))}, ""},
		{"§4.2 two reads", []dataplane.Stage{registers("s", register("a", 8, 32, 2, 0))}, "4.2"},
		{"§4.2 two registers", []dataplane.Stage{registers("s", register("a", 8, 32, 1, 1), register("b", 8, 32, 0, 1))},
			"4.2"},
		{"§4.2 shared between stages", []dataplane.Stage{registers("s", register("a", 8, 32, 1, 0)),
			registers("t", register("a", 8, 32, 0, 1))}, "4.2"},
		{"§4.2 shared with egress", []dataplane.Stage{registers("s", register("a", 8, 32, 1, 0)), with(dataplane.InEgress,
			registers("t", register("a", 8, 32, 0, 1)))}, "4.2"},
		{"§4.2 memory of a stage", []dataplane.Stage{registers("s", register("a", 106*1024, 113, 1, 1))}, "4.2"},
		{"the memory of a stage", []dataplane.Stage{registers("s", register("a", 106*1024, 112, 1, 1))}, ""},
		{"§4.2 TCAM", []dataplane.Stage{tcam}, "4.2"},
		{"§4.2 egress state at ingress", []dataplane.Stage{op(dataplane.ReadingEgress)}, "4.2"},
		{"§4.3", []dataplane.Stage{op(dataplane.WritingTables)}, "4.3"},
		{"§4.4", []dataplane.Stage{op(dataplane.Looping)}, "4.4"},
		{"§4.5 timer", []dataplane.Stage{op(dataplane.Timing)}, "4.5"},
		{"§4.5 queues", []dataplane.Stage{op(dataplane.TouchingTail)}, "4.5"},
		{"§4.6", []dataplane.Stage{op(dataplane.MakingPacket)}, "4.6"},
		{"§4.6 leaves copies", []dataplane.Stage{op(dataplane.Copying), op(dataplane.Recirculating)}, ""},
		{"the control plane can do it all", []dataplane.Stage{with(dataplane.InControl, op(dataplane.Timing)),
			with(dataplane.InControl, registers("s", register("a", 8, 32, 8, 8)))}, ""},
		{"the traffic manager's own", []dataplane.Stage{with(dataplane.InManager, op(dataplane.MakingPacket))}, ""},
		{"no traffic manager evicts", []dataplane.Stage{with(dataplane.InManager, op(dataplane.TouchingTail))}, "4.5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := dataplane.Footprint{Stages: c.stages}
			var got []string
			for _, b := range f.FindViolations(dataplane.RMT) {
				got = append(got, b.Section)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%s: breaks %q, want %q", c.name, s, c.want)
			}
			if err := f.Check(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

// TestFootprint_SumsSharedArraysOnce checks that an array that two stages access is one array. The control plane's and
// the traffic manager's use no part of the pipeline.
func TestFootprint_SumsSharedArraysOnce(t *testing.T) {
	a := dataplane.RegisterUse{Name: "a", Cells: 8, Bits: 32, Reads: 1, Writes: 1}
	f := dataplane.Footprint{Stages: []dataplane.Stage{
		{Name: "in", Registers: []dataplane.RegisterUse{a}, Meters: []dataplane.MeterUse{{Name: "m", Count: 16, Rates: 1}},
			Tables: []dataplane.TableUse{{Name: "e", Entries: 10, Key: 32, Action: 9}, {Name: "l", Match: dataplane.MatchPrefix,
				Entries: 5, Key: 128, Action: 9}, {Name: "g", Match: dataplane.MatchSelector, Entries: 4, Action: 9}}},
		{Name: "tm", Gress: dataplane.InManager, Registers: []dataplane.RegisterUse{{Name: "b", Cells: 1000, Bits: 64,
			Reads: 1}}},
		{Name: "out", Gress: dataplane.InEgress, Registers: []dataplane.RegisterUse{a}},
		{Name: "cpu", Gress: dataplane.InControl, Registers: []dataplane.RegisterUse{{Name: "c", Cells: 1000, Bits: 64,
			Reads: 1}}},
	}}
	want := dataplane.Sums{Ingress: 1, Egress: 1, Entries: 19, SRAM: 10*(32+9) + 5*9 + 4*9, TCAM: 5 * 128,
		Registers: 8 * 32, Meters: 16, Reads: 2, Writes: 2}
	if got := f.Sums(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if err := f.Check(); err != nil {
		t.Error(err)
	}
	for _, bad := range []dataplane.Stage{{}, {Name: "s", Gress: 9},
		{Name: "s", Tables: []dataplane.TableUse{{Name: "t", Entries: 1}}},
		{Name: "s", Registers: []dataplane.RegisterUse{{Name: "r", Cells: 1, Bits: 1}}},
		{Name: "s", Registers: []dataplane.RegisterUse{{Name: "r", Cells: 1, Bits: 1, Reads: 2}}},
		{Name: "s", Meters: []dataplane.MeterUse{{Name: "m", Count: 1}}},
		{Name: "s", Operations: []dataplane.Operation{{Kind: 99, Times: 1}}}} {
		if (&dataplane.Footprint{Stages: []dataplane.Stage{bad}}).Check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestRoutesStage checks that a route is an entry of its version's table. Sets of several ports are groups, and equal
// sets share one.
func TestRoutesStage(t *testing.T) {
	book := packet.NewBook()
	route := func(prefix string, ports ...packet.PortID) dataplane.Route {
		return dataplane.Route{Prefix: netip.MustParsePrefix(prefix), Ports: ports}
	}
	r, err := dataplane.NewRoutes(book, []dataplane.Route{route("10.0.0.1/32", 0), route("10.0.0.2/32", 1, 2, 3),
		route("10.0.0.3/32", 1, 2, 3), route("fd00::/64", 1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Stage(true)
	want := []dataplane.TableUse{{Name: "routes, IPv4", Entries: 3, Key: 32, Action: 16}, {Name: "routes, IPv6",
		Match: dataplane.MatchPrefix, Entries: 1, Key: 128, Action: 16},
		{Name: "equal paths", Match: dataplane.MatchSelector, Entries: 5, Action: 16}}
	if !slices.Equal(s.Tables, want) {
		t.Errorf("%+v, want %+v", s.Tables, want)
	}
	if s := r.Stage(false); len(s.Tables) != 2 {
		t.Errorf("without a choice %+v", s.Tables)
	}
	var none *dataplane.Routes
	if s := none.Stage(true); len(s.Tables) != 0 {
		t.Errorf("of no routes %+v", s.Tables)
	}
}

func ExampleFootprint_FindViolations() {
	f := dataplane.Footprint{Stages: []dataplane.Stage{{Name: "average",
		Operations: []dataplane.Operation{{Kind: dataplane.Dividing, What: "S/N", Times: 1}}}}}
	for _, b := range f.FindViolations(dataplane.RMT) {
		fmt.Printf("P4TE §%s %s %s\n", b.Section, b.Stage, b.What)
	}
	// Output: P4TE §4.1 average divides: S/N
}

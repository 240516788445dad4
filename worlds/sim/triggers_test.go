package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/window"
	"weir/core/unit"
	"weir/core/workload"
)

// triggered is a run of flows between four hosts at two leaves, of 20 packets each, with triggers.
func triggered(flows [][2]int, triggers []workload.Trigger) *Config {
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: leafSpine(2, 2, unit.Length{})}, Duration: 20 * unit.Millisecond,
		UntilDone: true, Triggers: triggers}
	forwarding(c)
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{ecmp.New(site, uint32(site.Random("ecmp").Uint64()))}, nil
		}
	}
	for i, ends := range flows {
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(ends[0] + 1), Dst: packet.Addr(ends[1] + 1),
			SrcPort: uint16(100 + i), DstPort: 7, Version: 4, Size: 20_000, Payload: 1000, Framing: packet.Framings[0],
			Random: unit.NewRandom(1, fmt.Sprint("flow ", i))}
		s, r := window.New(f, 20, 200*unit.Microsecond)
		c.Add(outcome.Flow{Src: ends[0], Dst: ends[1], Size: f.Size,
			SrcPort: f.SrcPort, DstPort: f.DstPort}, s, r)
	}
	return c
}

// TestTriggers_StartFlowsAtOnce checks that a flow begins when others have ended at their senders or receivers, at once
// and at any host, so only the trigger's kind decides. Threads, windows and bytes as fields make no difference.
func TestTriggers_StartFlowsAtOnce(t *testing.T) {
	flows := [][2]int{{0, 2}, {0, 3}, {1, 3}, {3, 1}, {2, 0}, {3, 0}, {1, 2}}
	all := []workload.Trigger{
		{Kind: workload.OneShot, Sent: []int{0}, Begins: []int{1}},                         // at the same host
		{Kind: workload.OneShot, Sent: []int{1}, Begins: []int{2}},                         // at another one
		{Kind: workload.OneShot, Arrived: []int{2}, Begins: []int{3}},                      // where it arrives
		{Kind: workload.Barrier, Count: 2, Sent: []int{3, 4}, Begins: []int{5}},            // both
		{Kind: workload.MultiShot, Sent: []int{1}, Arrived: []int{5}, Begins: []int{4, 6}}, // one, then the other one
	}
	first := ""
	for name, change := range map[string]func(c *Config){
		"plain": func(*Config) {}, "threads": func(c *Config) { c.Threads = 3 }, "wire": func(c *Config) { c.Wire = true },
		"window": func(c *Config) { c.Window = 100 * unit.Nanosecond }, "sweeps": func(c *Config) { c.sweeps = 1 },
	} {
		c := triggered(flows, all)
		change(c)
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		if r.End != outcome.AllDone {
			t.Fatalf("%s: %v", name, r.End)
		}
		text := ""
		for _, f := range r.Flows {
			text += fmt.Sprint(f.Start, " ", f.FCT, " ", f.Arrived, "\n")
		}
		if first == "" {
			first = text
		}
		if text != first {
			t.Errorf("%s:\n%s, not\n%s", name, text, first)
		}
		sent := func(i int) unit.Time { return r.Flows[i].Start + r.Flows[i].FCT }
		for i, want := range []unit.Time{0, sent(0), sent(1), r.Flows[2].Arrived, sent(1), max(sent(3), sent(4)),
			r.Flows[5].Arrived} {
			if got := r.Flows[i].Start; got != want {
				t.Errorf("%s: flow %d begins at %v, want %v", name, i, got, want)
			}
		}
	}
}

// TestBadTriggers checks that impossible triggers are errors.
func TestBadTriggers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *Config)
		want   string
	}{
		"no such flow": {func(c *Config) { c.Triggers[0].Begins = []int{9} }, "there are 2"},
		"no end":       {func(c *Config) { c.Flows[0].Size = 0 }, "no end"},
		"both":         {func(c *Config) { c.Flows[1].After = []int{0} }, "also has a trigger"},
	} {
		t.Run(name, func(t *testing.T) {
			x := triggered([][2]int{{0, 2}, {2, 0}}, []workload.Trigger{{Sent: []int{0}, Begins: []int{1}}})
			x.Triggers = slices.Clone(x.Triggers)
			c.change(x)
			if _, err := New(x); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

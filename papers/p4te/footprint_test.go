package p4te

import (
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// paperSwitch is a switch with k ports, half of them upward, as §6.6 has it.
func paperSwitch(t *testing.T, k, tier int, given ...string) (*Program, *dataplane.Site) {
	t.Helper()
	place := &dataplane.TreePosition{Tiers: 3, Tier: tier, All: netip.MustParsePrefix("2001:1:1::/48")}
	site := &dataplane.Site{Switch: "s", Ports: k, MaxFrame: 1514, Book: packet.NewBook(),
		Place: func() (*dataplane.TreePosition,
			error) {
			return place, nil
		},
		Lines: make([]dataplane.Line, k), Random: func(e string) unit.Random { return unit.NewRandom(1, e) }}
	for i := range k {
		site.Lines[i].Rate.Bits = 10 * unit.Gbps
		if port := packet.PortID(i); i >= k/2 {
			place.Up = append(place.Up, port)
			site.Book.Add(netip.Addr{}, netip.MustParseAddr(fmt.Sprintf("2001:1:1:1::%x", i)))
		} else {
			prefix := netip.MustParsePrefix(fmt.Sprintf("2001:1:1::%x/128", i))
			place.Down = append(place.Down, port)
			place.Routes = append(place.Routes, dataplane.Route{Prefix: prefix, Ports: []packet.PortID{port}})
			site.Book.Add(netip.Addr{}, prefix.Addr())
		}
	}
	p, err := dataplanetest.BuildProgram(Scheme(), site, given...)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*Program), site
}

func table(f dataplane.Footprint, name string) (found dataplane.TableUse) {
	for _, s := range f.Stages {
		for _, x := range s.Tables {
			if x.Name == name {
				found = x
			}
		}
	}
	return found
}

func register(f dataplane.Footprint, name string) (found dataplane.RegisterUse) {
	for _, s := range f.Stages {
		for _, x := range s.Registers {
			if x.Name == name {
				found = x
			}
		}
	}
	return found
}

// TestPaperRoutingGroups checks P4TE §6.6, path control: "For a k=512 port switch, required space for 50 routing groups
// is around 13K", of k/2 upward ports each, which fits into a stage. Each of the tables has one entry per group, "at
// most k" in MAT_Down.
func TestPaperRoutingGroups(t *testing.T) {
	p, _ := paperSwitch(t, 512, 2, "depth_groups", "50", "delay_groups", "50", "utilisation_groups", "50")
	f := p.Footprint()
	for _, name := range []string{"MAT_Up^Delay", "MAT_Up^Queue_Depth", "MAT_Up^Link_Util"} {
		t.Run(name, func(t *testing.T) {
			if x := table(f, name); x.Entries != 50 || x.Match != dataplane.MatchTernary {
				t.Errorf("%s: %+v, want 50 groups", name, x)
			}
			if x := table(f, name+" groups"); x.Entries != 50*512/2 {
				t.Errorf("%s has %d members of groups; k/2 · 50 = 12 800, around 13 K", name, x.Entries)
			}
		})
	}
	if x := table(f, "MAT_Down"); x.Entries > 512 || x.Entries != 256 {
		t.Errorf("MAT_Down has %d entries; at most k, here 256", x.Entries)
	}
	if b := f.FindViolations(dataplane.RMT); len(b) > 0 {
		t.Errorf("§6.6: easily accommodated in a single stage; %v", b)
	}
	// Ports that move from group to group take no more space.
	before := f.Sums()
	for port := packet.PortID(256); port < 512; port++ {
		p.upward[QueueDepth].Apply(Write{Metric: QueueDepth, Group: 0, Port: port})
		p.upward[QueueDepth].Apply(Write{Metric: QueueDepth, Group: 7, Port: port, Enter: true})
	}
	if f = p.Footprint(); f.Sums() != before {
		t.Errorf("%+v after all ports have moved, %+v before", f.Sums(), before)
	}
}

// TestPaperMonitoring checks P4TE §6.6, monitoring: registers and meters of algorithm 1 are O(k), and of algorithm 2 at
// most O(k), its table O(k · TC).
func TestPaperMonitoring(t *testing.T) {
	for _, k := range []int{8, 64, 512} {
		p, _ := paperSwitch(t, k, 2)
		f := p.Footprint()
		for _, name := range []string{"old queue depths", "old packet colours", "old delays", "port utilisations"} {
			if x := register(f, name); x.Cells != k || x.Reads != 1 || x.Writes != 1 {
				t.Errorf("k = %d: %+v, want k cells, of which a packet reads and writes one", k, x)
			}
		}
		if x := table(f, "MAT_Rate^In"); x.Entries != 2*k {
			t.Errorf("k = %d: MAT_Rate^In has %d entries, want one a port and class", k, x.Entries)
		}
		if s := f.Sums(); s.Meters != k+2*k {
			t.Errorf("k = %d: %d meters, want one a port and one a port and class", k, s.Meters)
		}
	}
}

// TestPaperFlows checks P4TE §6.6, rate control: "For each flow … requires only 4 bytes. For 1M flows total stateful
// memory requirement is 4MB". It is "less than 2 x per stage available memory" only of a stage with more than RMT's 106
// blocks of 1 K × 112 bits. A fake ACK with the last acknowledgement (P4TE §7.2.1) needs that in addition, which P4TE
// §6.6 does not count.
func TestPaperFlows(t *testing.T) {
	p, _ := paperSwitch(t, 8, 1, "flows", "1048576")
	f := p.Footprint()
	x := register(f, "last change")
	if x.TotalBits() != 8*4<<20 {
		t.Errorf("the last change of 1 M flows takes %d bits, want 4 MB", x.TotalBits())
	}
	stages := float64(x.TotalBits()) / float64(dataplane.RMT.SRAM)
	if stages < 2.7 || stages > 2.8 {
		t.Errorf("it takes the memory of %.2f stages of RMT", stages)
	}
	if ack := register(f, "last acknowledgement"); ack.Cells != x.Cells || ack.Bits < 32+32+16 {
		t.Errorf("%+v: acknowledgement, sequence and window of each flow are wanted", ack)
	}
	var sections []string
	for _, b := range f.FindViolations(dataplane.RMT) {
		sections = append(sections, b.Section+" "+b.What)
	}
	if s := strings.Join(sections, "; "); !strings.Contains(s, "4.2 its SRAM equals 2.8 stages") {
		t.Errorf("what breaks §4: %s", s)
	}
	spine, _ := paperSwitch(t, 8, 2, "flows", "1048576")
	f = spine.Footprint()
	if x := register(f, "last change"); x.Cells != 0 {
		t.Errorf("a spine keeps flows: %+v; §6.6: solely maintained by the leaf switches", x)
	}
}

// TestFootprintModes checks that at default sizes no limit of P4TE §4 is broken, unless packets between two hosts of
// one leaf look at the cells of both directions of their flow (P4TE §4.2). Parts that are off are not counted.
func TestFootprintModes(t *testing.T) {
	sums := map[string]dataplane.Sums{}
	for _, given := range []string{"", "monitoring=false", "paths=false", "rate=off", "rate=enforced", "rate=next_byte",
		"mapping=range", "within_leaf=true"} {
		name, value, _ := strings.Cut(given, "=")
		var args []string
		if given != "" {
			args = []string{name, value}
		}
		p, _ := paperSwitch(t, 8, 1, args...)
		f := p.Footprint()
		if err := f.Check(); err != nil {
			t.Errorf("%s: %v", given, err)
		}
		for _, b := range f.FindViolations(dataplane.RMT) {
			if b.Section != "4.2" || !strings.HasPrefix(b.Stage, "rate control") ||
				!strings.HasPrefix(b.What, "registers are read 2") {
				t.Errorf("%s: %v", given, b)
			}
		}
		if b := f.FindViolations(dataplane.RMT); (len(b) > 0) != (given == "within_leaf=true") {
			t.Errorf("%s: %v", given, b)
		}
		sums[given] = f.Sums()
	}
	all := sums[""]
	if x := sums["monitoring=false"]; x.Meters != 0 || x.Egress != 0 {
		t.Errorf("without monitoring %+v", x)
	}
	if x := sums["paths=false"]; x.TCAM >= all.TCAM || x.Registers >= all.Registers {
		t.Errorf("without path control %+v, with it %+v", x, all)
	}
	if x := sums["rate=off"]; x.Registers >= all.Registers || x.Ingress >= all.Ingress {
		t.Errorf("without rates %+v, with them %+v", x, all)
	}
	if x := sums["rate=enforced"]; x.Registers <= all.Registers {
		t.Errorf("enforced %+v, else %+v", x, all)
	}
}

// TestFootprintWrites checks that one packet changes no more cells of each register than the footprint declares.
func TestFootprintWrites(t *testing.T) {
	busy := []string{"committed", "0.1%", "peak", "0.2%", "burst", "1ns", "safe_low_delay", "0.1%", "safe_high_throughput",
		"0.1%", "depth_delta", "1 packet", "bytes", "1 B"}
	for k, given := range [][]string{nil, nil, {"rate", "enforced", "within_leaf", "true"}, busy, busy,
		append([]string{"rate", "enforced"}, busy...), append([]string{"rate", "enforced"}, busy...)} {
		tier := 1 + k%2
		t.Run(fmt.Sprintf("tier %d %s", tier, strings.Join(given, " ")), func(t *testing.T) {
			p, site := paperSwitch(t, 8, tier, append([]string{"flows", "16", "flowlet_cells", "16", "gap", "1us"}, given...)...)
			once := &stepwise{Program: p, state: registersOf(p), f: p.Footprint(), t: t}
			drive(t, once, site, tier)
			if once.ingress == 0 || once.egress == 0 || len(once.changed) < 4 {
				t.Errorf("%d packets in, %d out changed %v", once.ingress, once.egress, once.changed)
			}
		})
	}
}

// registersOf reads all registers of a program, each as a list of its cells.
func registersOf(p *Program) func() map[string][]string {
	cells := func(v reflect.Value, fields ...string) (out []string) {
		for i := range v.Len() {
			c := v.Index(i)
			if len(fields) == 0 {
				out = append(out, string(appendCell(nil, c)))
				continue
			}
			var text []byte
			for _, name := range fields {
				text = append(appendCell(text, c.FieldByName(name)), ' ')
			}
			out = append(out, string(text))
		}
		return out
	}
	flowlets := reflect.ValueOf(p.flowlets).Elem().FieldByName("cells")
	return func() map[string][]string {
		flows := reflect.ValueOf(p.rate.flows)
		return map[string][]string{
			"minimum delays":       cells(reflect.ValueOf(p.links.ports)),
			"old delays":           cells(reflect.ValueOf(p.delay.old)),
			"old queue depths":     cells(reflect.ValueOf(p.depth.old)),
			"old packet colours":   cells(reflect.ValueOf(p.colours.old)),
			"port utilisations":    cells(reflect.ValueOf(p.utilisation)),
			"flowlet's end":        cells(flowlets, "until", "used"),
			"flowlet's port":       cells(flowlets, "port"),
			"owner of the cell":    cells(flows, "tag", "used"),
			"last change":          cells(flows, "lastChange"),
			"limit":                cells(flows, "limit"),
			"last acknowledgement": cells(flows, "hasAck", "stamped", "scale", "window", "ack", "seq", "tsVal", "tsEcho"),
			"sent last":            cells(flows, "nextByte", "maxPayload"),
		}
	}
}

// appendCell appends the text of a cell, which is a number or a truth value, or a structure of them.
func appendCell(text []byte, v reflect.Value) []byte {
	switch {
	case v.CanInt():
		return strconv.AppendInt(text, v.Int(), 10)
	case v.CanUint():
		return strconv.AppendUint(text, v.Uint(), 10)
	case v.Kind() == reflect.Bool:
		return strconv.AppendBool(text, v.Bool())
	}
	return fmt.Append(text, v)
}

// drive sends segments at random through a switch of eight ports that runs a program.
func drive(t *testing.T, program dataplane.Program, site *dataplane.Site, tier int) {
	t.Helper()
	var ports []*tm.Port
	for range 8 {
		ports = append(ports, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(),
			unit.LinkRate{Bits: 10 * unit.Gbps}))
	}
	pool := packet.Pool{}
	sw, err := dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: []dataplane.Program{program}, Pool: &pool,
		Book:          site.Book,
		Random:        unit.NewRandom(1, "switch"),
		Recirculation: dataplane.Recirculation{Rate: unit.LinkRate{Bits: 10 * unit.Gbps}, Queue: 64}})
	if err != nil {
		t.Fatal(err)
	}
	r := unit.NewRandom(7, "packets")
	now := unit.Time(0)
	for i := range 600 {
		now += unit.Time(r.IntN(2000)) * unit.Nanosecond
		x := pool.Get()
		in := packet.PortID(r.IntN(8))
		x.Version, x.Proto, x.HopLimit, x.Size, x.Payload = 6, packet.ProtoTCP, 64, 1514, 1440
		x.Src, x.Dst = packet.Addr(r.IntN(8)+1), packet.Addr(r.IntN(8)+1)
		if in < 4 {
			x.Src = packet.Addr(in + 1)
		}
		x.SrcPort, x.DstPort, x.Seq, x.Ack = 1, 1, int64(i)*1440, int64(i)*10
		x.TOS = [...]uint8{0, 0x10, 0x08}[r.IntN(3)]
		x.TCP.Flags, x.TCP.Window = packet.ACK, 1000
		if i < 60 {
			x.TCP.Flags, x.Payload, x.Size = packet.SYN, 0, 74
		}
		x.Hash = packet.FlowHash(x.Src, x.Dst, x.SrcPort, x.DstPort, x.Proto)
		if in >= 4 || tier > 1 {
			h := Header{Source: stampOf(now - unit.Time(r.IntN(100))*unit.Millisecond)}
			h.WriteTo(x)
		}
		sw.Receive(now, in, x)
		for out := range packet.PortID(8) {
			if r.IntN(3) == 0 {
				if gone, _ := sw.Dequeue(now, out); gone != nil {
					pool.Put(gone)
				}
			}
		}
		if next := sw.Wants().Timer; next <= now {
			sw.Advance(now)
		}
	}
}

// stepwise looks at the state before and after each step of a packet.
type stepwise struct {
	*Program
	state           func() map[string][]string
	f               dataplane.Footprint
	t               *testing.T
	ingress, egress int
	changed         map[string]int
}

func (s *stepwise) step(g dataplane.SwitchPart, what func() dataplane.Verdict) dataplane.Verdict {
	before := s.state()
	v := what()
	after := s.state()
	if s.changed == nil {
		s.changed = map[string]int{}
	}
	for name := range before {
		n := 0
		for i := range before[name] {
			if before[name][i] != after[name][i] {
				n++
			}
		}
		s.changed[name] = max(s.changed[name], n)
		if s.changed[name] == 0 {
			delete(s.changed, name)
		}
		most := 0
		for _, x := range s.f.Stages {
			for _, r := range x.Registers {
				if r.Name == name && x.Gress == g {
					most += r.Writes
				}
			}
		}
		if name == "sent last" && s.config.Rate.Mode != Enforced {
			continue // which nobody reads then, and no switch would keep
		}
		if n > most {
			s.t.Errorf("%s: a packet changes %d cells at %v; the footprint says %d", name, n, g, most)
		}
	}
	return v
}

func (s *stepwise) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	s.ingress++
	return s.step(dataplane.InIngress, func() dataplane.Verdict { return s.Program.Ingress(env, p) })
}

func (s *stepwise) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	s.egress++
	return s.step(dataplane.InEgress, func() dataplane.Verdict { return s.Program.Egress(env, p) })
}

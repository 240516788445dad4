package dataplane

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"weir/core/packet"
)

// Footprint is the use of a PISA switch by a program, stage by stage in the order in which a packet meets them, and
// the operations that such a pipeline lacks (P4TE §4, §6.6). Sizes count the program's tables and arrays in its
// switch.
type Footprint struct{ Stages []Stage }

// Footprinted is a program that reports its footprint, before and after it has processed packets.
type Footprinted interface{ Footprint() Footprint }

// SwitchPart is the part of the switch that a stage is in.
type SwitchPart uint8

// Parts of the switch. The functions of the traffic manager (buffer accounting, PFC) are fixed. They are no program
// of the pipeline and do not use its memory. The control plane is a CPU, to which no limit of P4TE §4 applies.
const (
	InIngress SwitchPart = iota
	InManager
	InEgress
	InControl
)

// String returns "ingress", "manager", "egress" or "control"; "unknown" for any other value.
func (g SwitchPart) String() string {
	if g <= InControl {
		return [...]string{"ingress", "manager", "egress", "control"}[g]
	}
	return "unknown"
}

// Stage is one logical match-action stage: its tables are looked up in parallel, after the stages that produce its
// input.
type Stage struct {
	Name       string
	Gress      SwitchPart
	Tables     []TableUse
	Registers  []RegisterUse
	Meters     []MeterUse
	Operations []Operation
}

// Match is the kind of a table's lookup.
type Match uint8

// Kinds of tables: P4's three, and the members of action selectors, which are groups with one member selected by the
// packet's hash.
const (
	MatchExact Match = iota
	MatchPrefix
	MatchTernary
	MatchSelector
)

// String returns P4's name of the kind, "exact", "lpm" or "ternary", or "selector"; "unknown" for any other value.
func (m Match) String() string {
	if m <= MatchSelector {
		return [...]string{"exact", "lpm", "ternary", "selector"}[m]
	}
	return "unknown"
}

// TableUse is a table. Key and Action are bits of an entry; the entries of a selector have no key.
type TableUse struct {
	Name        string
	Match       Match
	Entries     int
	Key, Action int
}

// RegisterUse is an array of registers, with the maximum number of cells that a packet reads and writes. A cell that is
// read and written in one place counts once in each.
type RegisterUse struct {
	Name          string
	Cells, Bits   int // Bits: of a cell
	Reads, Writes int
}

// MeterUse is an array of meters with one rate (RFC 2697) or two (RFC 2698).
type MeterUse struct {
	Name         string
	Count, Rates int
}

// Operation is something beyond matching, adding and comparing that a stage does for a packet.
type Operation struct {
	Kind  OperationKind
	What  string
	Times int // max for one packet; for a loop its turns
}

// OperationKind is a kind of operation.
type OperationKind uint8

// Kinds of operations. P4TE §4.6 leaves one way to make a packet: copy and recirculate another one, which costs the
// pipeline a packet each time.
const (
	Copying OperationKind = iota
	Recirculating
	Dividing
	FloatingPoint // also multiplication by a fraction
	Transcendental
	ReadingEgress // at ingress: queues, bytes sent by a port
	WritingTables // without the control plane
	Looping
	Timing       // a timer, or another action without a packet
	TouchingTail // a packet that waits, or was dropped, is changed, removed or answered
	MakingPacket // without another packet
	ShiftAdding  // shifted numbers, as in multiplication by a constant
)

// operationKinds holds the names and sections of P4TE's paper by kind; no section: within the limits.
var operationKinds = [...]struct{ name, section string }{
	Copying:        {"copies the packet", ""},
	Recirculating:  {"recirculates a copy", ""},
	Dividing:       {"divides", "4.1"},
	FloatingPoint:  {"calculates with fractions", "4.1"},
	Transcendental: {"takes an exponential or a logarithm", "4.1"},
	ReadingEgress:  {"reads egress state at ingress", "4.2"},
	WritingTables:  {"writes a table from the data plane", "4.3"},
	Looping:        {"loops", "4.4"},
	Timing:         {"acts without a packet", "4.5"},
	TouchingTail:   {"touches a packet that is not in the pipeline", "4.5"},
	MakingPacket:   {"makes a packet out of none", "4.6"},
	ShiftAdding:    {"adds shifted numbers", ""},
}

// String returns what a program with the operation does, as a verb in the third person, such as "divides"; "unknown"
// for any other value.
func (k OperationKind) String() string {
	if int(k) < len(operationKinds) {
		return operationKinds[k].name
	}
	return "unknown"
}

// Section returns the section of P4TE's paper which states that a pipeline cannot do this; "": it can.
func (k OperationKind) Section() string {
	if int(k) < len(operationKinds) {
		return operationKinds[k].section
	}
	return ""
}

// WidthOf returns the width in bits of the state in x: the sum of its fields' widths, where a bool has 1 bit.
// Referenced data (slices, maps, pointers) does not count. A nil x has width 0.
func WidthOf(x any) int { return widthOf(reflect.TypeOf(x)) }

// widthOf returns the width of a type in bits, as WidthOf counts it; 0 for nil.
func widthOf(t reflect.Type) (n int) {
	if t == nil {
		return 0
	}
	switch t.Kind() {
	case reflect.Bool:
		return 1
	case reflect.Struct:
		for i := range t.NumField() {
			n += widthOf(t.Field(i).Type)
		}
	case reflect.Array:
		return t.Len() * widthOf(t.Elem())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return t.Bits()
	}
	return n
}

// IndexBits returns the width of an index into n cells, at least 1 bit.
func IndexBits(n int) int { return max(bits.Len(uint(max(n-1, 0))), 1) }

// PortBits is the width of a port number.
var PortBits = WidthOf(packet.PortID(0))

// Limits are the limits of a pipeline (P4TE §4.1, §4.2).
type Limits struct {
	Stages     int   // of ingress and egress together
	SRAM, TCAM int64 // bits of a stage
	Accesses   int   // reads, and writes, of registers by a packet in one stage
}

// RMT holds the limits of the architecture in P4TE's paper: 32 stages, each with 106 blocks of SRAM of 1024 × 112
// bits and 16 of TCAM of 2048 × 40 bits (Bosshart et al., SIGCOMM 2013), and one read and write of memory in a stage
// (P4TE §4.2).
var RMT = Limits{Stages: 32, SRAM: 106 * 1024 * 112, TCAM: 16 * 2048 * 40, Accesses: 1}

// Sums are the totals of a footprint, of the pipeline only.
type Sums struct {
	Ingress, Egress int // stages
	Entries         int // of tables, selectors' members included
	SRAM, TCAM      int64
	Registers       int64 // bits
	Meters          int
	Reads, Writes   int // of registers by one packet, at most
}

// Add adds the sums o of another program of the switch to s, field by field.
func (s *Sums) Add(o Sums) {
	s.Ingress, s.Egress, s.Entries, s.Meters = s.Ingress+o.Ingress, s.Egress+o.Egress, s.Entries+o.Entries,
		s.Meters+o.Meters
	s.SRAM, s.TCAM, s.Registers = s.SRAM+o.SRAM, s.TCAM+o.TCAM, s.Registers+o.Registers
	s.Reads, s.Writes = s.Reads+o.Reads, s.Writes+o.Writes
}

// MemoryBits returns the bits of tables and registers together.
func (s *Sums) MemoryBits() int64 { return s.SRAM + s.TCAM + s.Registers }

// Sums returns the totals of the pipeline's stages. An array in several stages counts its bits once, but all reads and
// writes.
func (f *Footprint) Sums() (s Sums) {
	var seen []string
	for i := range f.Stages {
		x := &f.Stages[i]
		switch x.Gress {
		case InIngress:
			s.Ingress++
		case InEgress:
			s.Egress++
		default:
			continue
		}
		sram, tcam := x.tableBits()
		s.SRAM, s.TCAM = s.SRAM+sram, s.TCAM+tcam
		for _, t := range x.Tables {
			s.Entries += t.Entries
		}
		for _, r := range x.Registers {
			s.Reads, s.Writes = s.Reads+r.Reads, s.Writes+r.Writes
			if !slices.Contains(seen, r.Name) {
				seen = append(seen, r.Name)
				s.Registers += r.TotalBits()
			}
		}
		for _, m := range x.Meters {
			s.Meters += m.Count
		}
	}
	return s
}

// registerNames returns the names of the pipeline's registers, stage by stage, each as often as it is there.
func (f *Footprint) registerNames() (names []string) {
	for i := range f.Stages {
		if g := f.Stages[i].Gress; g == InIngress || g == InEgress {
			for _, r := range f.Stages[i].Registers {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

// TotalBits returns the bits of all cells.
func (r *RegisterUse) TotalBits() int64 { return int64(r.Cells) * int64(r.Bits) }

// tableBits returns the bits of SRAM and of TCAM of a stage's tables. Keys of exact match and all action data are in
// SRAM.
func (x *Stage) tableBits() (sram, tcam int64) {
	for _, t := range x.Tables {
		sram += int64(t.Entries) * int64(t.Action)
		if keys := int64(t.Entries) * int64(t.Key); t.Match == MatchPrefix || t.Match == MatchTernary {
			tcam += keys
		} else {
			sram += keys
		}
	}
	return sram, tcam
}

// Violation is a limit of P4TE §4 that a footprint exceeds.
type Violation struct {
	Section string // of P4TE's paper, "4.1" to "4.6"
	Stage   string
	What    string
}

// FindViolations returns the limits of P4TE §4 that a footprint exceeds, stage by stage, followed by arrays in more
// than one stage, and too many stages. Stages of the control plane do not count. Of the traffic manager only operations
// of kind TouchingTail do.
func (f *Footprint) FindViolations(l Limits) (out []Violation) {
	type access struct{ register, first string }
	var seen []access
	var shared []Violation
	for i := range f.Stages {
		x := &f.Stages[i]
		if x.Gress == InControl {
			continue
		}
		for _, o := range x.Operations {
			if section := o.Kind.Section(); section != "" && (x.Gress != InManager || o.Kind == TouchingTail) {
				out = append(out, Violation{section, x.Name, o.String()})
			}
		}
		if x.Gress == InManager {
			continue
		}
		reads, writes, memory := 0, 0, int64(0)
		for _, r := range x.Registers {
			reads, writes, memory = reads+r.Reads, writes+r.Writes, memory+r.TotalBits()
			if k := slices.IndexFunc(seen, func(a access) bool { return a.register == r.Name }); k >= 0 {
				shared = append(shared, Violation{"4.2", x.Name, fmt.Sprintf("register %q is accessed in stage %q already", r.Name,
					seen[k].first)})
			} else {
				seen = append(seen, access{r.Name, x.Name})
			}
		}
		if reads > l.Accesses || writes > l.Accesses {
			out = append(out, Violation{"4.2", x.Name, fmt.Sprintf("registers are read %d and written %d times; %d each can be",
				reads, writes, l.Accesses)})
		}
		sram, tcam := x.tableBits()
		if sram+memory > l.SRAM {
			out = append(out, Violation{"4.2", x.Name, fmt.Sprintf("its SRAM equals %.1f stages",
				float64(sram+memory)/float64(l.SRAM))})
		}
		if tcam > l.TCAM {
			out = append(out, Violation{"4.2", x.Name, fmt.Sprintf("its TCAM equals %.1f stages",
				float64(tcam)/float64(l.TCAM))})
		}
	}
	out = append(out, shared...)
	if s := f.Sums(); s.Ingress+s.Egress > l.Stages {
		out = append(out, Violation{"4.1", "all", fmt.Sprintf("%d stages; allowed: at most %d", s.Ingress+s.Egress,
			l.Stages)})
	}
	return out
}

// String returns the operation, what it is about, and its count if that is above 1.
func (o Operation) String() string {
	s := o.Kind.String()
	if o.What != "" {
		s += ": " + o.What
	}
	if o.Times > 1 {
		s += fmt.Sprintf(" (%d times)", o.Times)
	}
	return s
}

// Check returns an error, for tests, if a footprint is impossible. Examples are no stages, a missing name, stages that
// are not in the order of SwitchPart, a size below 0, a selector with keys, or a register without access.
func (f *Footprint) Check() error {
	if len(f.Stages) == 0 {
		return fmt.Errorf("no stages")
	}
	for i, x := range f.Stages {
		switch {
		case strings.TrimSpace(x.Name) == "":
			return fmt.Errorf("stage %d has no name", i)
		case x.Gress > InControl:
			return fmt.Errorf("stage %q is in part %d of the switch", x.Name, x.Gress)
		case i > 0 && x.Gress < f.Stages[i-1].Gress:
			return fmt.Errorf("stage %q of %v comes after one of %v", x.Name, x.Gress, f.Stages[i-1].Gress)
		}
		for _, t := range x.Tables {
			if t.Name == "" || t.Match > MatchSelector || t.Entries < 0 || t.Key < 0 || t.Action < 0 ||
				(t.Key == 0) != (t.Match == MatchSelector) {
				return fmt.Errorf("stage %q: table %+v", x.Name, t)
			}
		}
		for _, r := range x.Registers {
			if r.Name == "" || r.Cells < 1 || r.Bits < 1 || r.Reads < 0 || r.Writes < 0 || r.Reads > r.Cells ||
				r.Writes > r.Cells || r.Reads+r.Writes == 0 {
				return fmt.Errorf("stage %q: register %+v", x.Name, r)
			}
		}
		for _, m := range x.Meters {
			if m.Name == "" || m.Count < 1 || m.Rates < 1 || m.Rates > 2 {
				return fmt.Errorf("stage %q: meters %+v", x.Name, m)
			}
		}
		for _, o := range x.Operations {
			if int(o.Kind) >= len(operationKinds) || o.Times < 1 {
				return fmt.Errorf("stage %q: operation %+v", x.Name, o)
			}
		}
	}
	return nil
}

// Stage returns the footprint of a route lookup: a table for each version of IP, exact if all prefixes are single
// addresses. With choice, destinations with several shortest paths have a group of a selector. A nil Routes has no
// tables.
func (r *Routes) Stage(choice bool) Stage {
	s := Stage{Name: "routes", Gress: InIngress}
	var groups portGroups
	for i, name := range [...]string{"routes, IPv4", "routes, IPv6"} {
		t := TableUse{Name: name, Match: MatchExact, Key: [...]int{32, 128}[i], Action: PortBits}
		r.eachRoute(i, func(whole bool, ports []packet.PortID) {
			if t.Entries++; !whole {
				t.Match = MatchPrefix
			}
			if choice {
				groups.addGroup(ports)
			}
		})
		if t.Entries > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	if len(groups) > 0 {
		members := 0
		for _, g := range groups {
			members += len(g)
		}
		s.Tables = append(s.Tables, TableUse{Name: "equal paths", Match: MatchSelector, Entries: members, Action: PortBits})
	}
	return s
}

// portGroups are the different sets of several ports.
type portGroups [][]packet.PortID

// addGroup adds a set of ports, unless it has one port or is known.
func (g *portGroups) addGroup(ports []packet.PortID) {
	if len(ports) > 1 && !slices.ContainsFunc(*g, func(x []packet.PortID) bool { return slices.Equal(x, ports) }) {
		*g = append(*g, ports)
	}
}

// eachRoute calls f for every route of a version of IP (0: IPv4, 1: IPv6). whole reports a route to a single address.
// Without rules, only addresses with ports have a route. A nil Routes has no routes.
func (r *Routes) eachRoute(version int, f func(whole bool, ports []packet.PortID)) {
	if r == nil {
		return
	}
	if r.rules != nil {
		for _, x := range r.rules {
			if x.Prefix.Addr().Is4() == (version == 0) {
				f(x.Prefix.IsSingleIP(), x.Ports)
			}
		}
		return
	}
	if r.book == nil {
		return
	}
	for a := range packet.Addr(r.book.Len()) {
		x := r.book.V4(a)
		if version == 1 {
			x = r.book.V6(a)
		}
		if ports := r.paths[version].PortsTo(a); len(ports) > 0 && x.IsValid() {
			f(true, ports)
		}
	}
}

// Stage returns the footprint of the routes with the groups of equal paths.
func (s *PathSet) Stage() Stage { return s.routes.Stage(true) }

// GroupSizes returns the sizes of the different sets of several paths, of both IP versions.
func (s *PathSet) GroupSizes() (sizes []int) {
	var groups portGroups
	for i := range s.paths {
		s.routes.eachRoute(i, func(_ bool, ports []packet.PortID) { groups.addGroup(ports) })
	}
	for _, g := range groups {
		sizes = append(sizes, len(g))
	}
	return sizes
}

// MaxGroupSize returns the size of the largest set of several paths (GroupSizes); 0 without such sets.
func (s *PathSet) MaxGroupSize() (n int) {
	for _, size := range s.GroupSizes() {
		n = max(n, size)
	}
	return n
}

// Stages returns the footprint of the flowlet table: first the check whether the flowlet continues, then, after the
// choice of a port, the port.
func (f *Flowlets) Stages() (gap, port Stage) {
	var c flowlet
	n := len(f.cells)
	return Stage{Name: "flowlet's gap", Gress: InIngress, Registers: []RegisterUse{{"flowlet's end", n, WidthOf(c.until) +
			WidthOf(c.used), 1, 1}}},
		Stage{Name: "flowlet's port", Gress: InIngress, Registers: []RegisterUse{{"flowlet's port", n, WidthOf(c.port), 1,
			1}}}
}

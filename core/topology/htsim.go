package topology

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/core/unit"
)

// tier is one block of a .topo file.
type tier struct {
	line           int
	speed          int // Gb/s of the links below it
	down, up       int // ports
	latency        int // ns
	oversubscribed int // 0: not given
	bundle         int // links side by side to each switch below
	given          map[string]bool
}

// topo is a .topo file while it is read.
type topo struct {
	file              string
	line              int // of the key that is read, for errors
	nodes, tiers, pod int
	given             map[string]bool // keys above the tiers
	blocks            []*tier
}

func (f *topo) errorf(column int, format string, args ...any) error {
	return &FormatError{File: f.file, Line: max(f.line, 1), Column: max(column, 1), Msg: fmt.Sprintf(format, args...)}
}

// readHTSim reads a .topo file of htsim: Nodes, Tiers, Podsize, then a block for each
// tier with Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns and others.
// Tier 0 are the top-of-rack switches (tor0, …), 1 the aggregation switches (agg0, …)
// or, of two tiers, the cores, 2 the cores (core0, …). Radix counts links, of which a
// Bundle of a tier has so many side by side to each switch below; its links are paths like
// those to different switches. Several links to a host are refused, and a latency of
// switches, which a Network does not have.
// Queue lengths (Queue_…) are refused too: here they are the experiment's. Errors are
// of type *FormatError; a network without one is valid.
func readHTSim(r io.Reader, file string) (*Network, error) {
	f := &topo{file: file, given: map[string]bool{}}
	if err := f.read(r); err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.network()
}

// read reads all lines. Without an error the file is complete.
func (f *topo) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	last, end := 0, 1 // where the file ends, apart from empty lines
	for lines.Scan() {
		f.line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		last, end = f.line, len(text)+1
		at := strings.Index(text, fields[0]) + 1
		if len(fields) == 1 {
			return f.errorf(end, "the line ends; %s needs a number", fields[0])
		}
		if len(fields) != 2 {
			return f.errorf(at, "%d words; a line is a key and a number", len(fields))
		}
		value := strings.LastIndex(text, fields[1]) + 1
		v, err := strconv.Atoi(fields[1])
		if err != nil || v < 0 || v > largestNetwork {
			whole := ""
			if strings.Contains(fields[1], ".") {
				whole = "whole "
			}
			return f.errorf(value, "%s is %q; a %snumber from 0 to %d is allowed", fields[0], fields[1], whole, largestNetwork)
		}
		if len(f.blocks) == 0 || strings.EqualFold(fields[0], "tier") {
			err = f.set(fields[0], v, at, value)
		} else {
			err = f.setTier(f.blocks[len(f.blocks)-1], fields[0], v, at, value)
		}
		if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return unreadable(f.file, f.line+1, bufio.MaxScanTokenSize, err)
	}
	f.line = last
	switch {
	case f.nodes < 1:
		return f.errorf(end, "the file ends; Nodes is missing")
	case f.tiers == 0:
		return f.errorf(end, "the file ends; Tiers is missing")
	case len(f.blocks) != f.tiers:
		return f.errorf(end, "the file ends after %d of %d tiers", len(f.blocks), f.tiers)
	}
	return nil
}

// set sets a key above the tiers, or starts a tier. at and value are the columns of the key and
// of v.
func (f *topo) set(key string, v, at, value int) error {
	name := strings.ToLower(key)
	if name != "tier" && f.given[name] {
		return f.errorf(at, "%q is given twice", key)
	}
	f.given[name] = true
	switch name {
	case "nodes":
		if f.nodes = v; v < 1 {
			return f.errorf(value, "Nodes is 0; 1 or more are possible")
		}
	case "tiers":
		if f.tiers = v; v != 2 && v != 3 {
			return f.errorf(value, "Tiers is %d; 2 and 3 are possible", v)
		}
	case "podsize":
		f.pod = v
	case "tier":
		if v != len(f.blocks) {
			return f.errorf(value, "tier %d; the next one is %d", v, len(f.blocks))
		}
		f.blocks = append(f.blocks, &tier{line: f.line, bundle: 1, given: map[string]bool{}})
	default:
		return f.errorf(at, "%q is not known here; Nodes, Tiers, Podsize and Tier are", key)
	}
	return nil
}

// setTier sets a key of a tier.
func (f *topo) setTier(t *tier, key string, v, at, value int) error {
	name := strings.ToLower(key)
	if t.given[name] {
		return f.errorf(at, "%q is given twice", key)
	}
	t.given[name] = true
	switch name {
	case "downlink_speed_gbps":
		if t.speed = v; v < 1 {
			return f.errorf(value, "a speed of 0; 1 Gb/s or more are possible")
		}
	case "radix_down":
		if t.down = v; v < 1 {
			return f.errorf(value, "a switch without ports down; 1 or more are possible")
		}
	case "radix_up":
		t.up = v
	case "downlink_latency_ns":
		t.latency = v
	case "oversubscribed":
		t.oversubscribed = v
	case "switch_latency_ns":
		if v != 0 {
			return f.errorf(value, "a switch latency of %d ns; only 0 is possible: put it into the links' latency", v)
		}
	case "bundle":
		t.bundle = v
		switch {
		case v < 1 || v > mostBundled:
			return f.errorf(value, "a bundle of %d links; 1 to %d are possible", v, mostBundled)
		case v > 1 && len(f.blocks) == 1:
			return f.errorf(value, "a bundle of %d links to each node; only 1 is possible: multiply Downlink_speed_Gbps by "+
				"%d", v, v)
		}
	default:
		return f.errorf(at, "%q is not known in a tier; Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, "+
			"Switch_Latency_ns, Oversubscribed and Bundle are", key)
	}
	return nil
}

// check checks each tier: its keys, and its links against its oversubscription.
func (f *topo) check() error {
	for i, b := range f.blocks {
		f.line = b.line
		switch {
		case b.speed < 1 || b.down < 1:
			return f.errorf(1, "tier %d lacks Downlink_speed_Gbps or Radix_Down", i)
		case i < f.tiers-1 && b.up < 1:
			return f.errorf(1, "tier %d lacks Radix_Up", i)
		case i == f.tiers-1 && b.up > 0:
			return f.errorf(1, "tier %d is the highest; it has no Radix_Up", i)
		}
		if i < f.tiers-1 && b.oversubscribed > 0 && b.down*b.speed != b.oversubscribed*b.up*f.blocks[i+1].speed {
			return f.errorf(1, "tier %d: %d × %d Gb/s down and %d × %d Gb/s up are not oversubscribed by %d", i, b.down,
				b.speed, b.up, f.blocks[i+1].speed, b.oversubscribed)
		}
	}
	return nil
}

// network builds the hosts and their switches, and the tiers above.
func (f *topo) network() (*Network, error) {
	leaf := f.blocks[0]
	f.line = leaf.line
	tors := f.nodes / leaf.down
	if f.nodes%leaf.down != 0 {
		return nil, f.errorf(1, "%d nodes do not fill switches with %d ports down", f.nodes, leaf.down)
	}
	b := &builder{}
	b.hosts(f.nodes)
	first := b.switches("tor", tors)
	b.links.Delay = leaf.delay()
	for i := range f.nodes {
		b.link(i, first+i/leaf.down, leaf.rate())
	}
	var err error
	if f.tiers == 2 {
		err = f.cores(b, first, tors)
	} else {
		err = f.pods(b, first, tors)
	}
	if err != nil {
		return nil, err
	}
	return &b.n, nil
}

// fits bounds the numbers of nodes and links. Factors are up to largestNetwork, so products of three of them are
// numbers.
func (f *topo) fits(nodes, links int) error {
	if nodes > largestNetwork || links > largestNetwork {
		return f.errorf(1, "%d nodes and %d links; at most %d of each are possible", nodes, links, largestNetwork)
	}
	return nil
}

func (t *tier) delay() unit.Time    { return unit.Time(t.latency) * unit.Nanosecond }
func (t *tier) rate() unit.LinkRate { return unit.LinkRate{Bits: unit.Rate(t.speed) * unit.Gbps} }

// said is what an error about ports adds of bundles.
func (t *tier) said() string {
	if t.bundle == 1 {
		return ""
	}
	return fmt.Sprintf(", in bundles of %d", t.bundle)
}

// bundled adds the links between a switch and one of the tier above.
func (t *tier) bundled(b *builder, low, high int) {
	for k := range t.bundle {
		b.link(low, high, t.rate())
		b.n.Links[len(b.n.Links)-1].Nth = uint16(k)
	}
}

// shares is how many switches of a tier those below have links to, of so many links.
func (f *topo) shares(up int, above *tier) (int, error) {
	if up%above.bundle != 0 {
		return 0, f.errorf(1, "%d links up of each switch below are not in bundles of %d", up, above.bundle)
	}
	return up / above.bundle, nil
}

// cores links each of the switches from the first one on to each core.
func (f *topo) cores(b *builder, first, tors int) error {
	up, top := f.blocks[0].up, f.blocks[1]
	f.line = top.line
	if top.down != tors*top.bundle {
		return f.errorf(1, "the highest tier has %d ports down; there are %d switches below%s", top.down, tors, top.said())
	}
	cores, err := f.shares(up, top)
	if err != nil {
		return err
	}
	if err := f.fits(f.nodes+tors+cores, f.nodes+tors*up); err != nil {
		return err
	}
	core := b.switches("core", cores)
	b.links.Delay = top.delay()
	for i := range tors {
		for c := range cores {
			top.bundled(b, first+i, core+c)
		}
	}
	return nil
}

// pods links the switches from the first one on to the aggregation switches of their pods, and
// those to the cores.
func (f *topo) pods(b *builder, first, tors int) error {
	leaf, middle, top := f.blocks[0], f.blocks[1], f.blocks[2]
	perPod := f.pod / leaf.down
	f.line = middle.line
	switch {
	case f.pod < 1 || f.nodes%f.pod != 0 || f.pod%leaf.down != 0:
		return f.errorf(1, "a Podsize of %d does not divide %d nodes, or is no multiple of %d", f.pod, f.nodes, leaf.down)
	case middle.down != perPod*middle.bundle:
		return f.errorf(1, "tier 1 has %d ports down; a pod has %d switches below%s", middle.down, perPod, middle.said())
	}
	perTor, err := f.shares(leaf.up, middle)
	if err != nil {
		return err
	}
	pods := f.nodes / f.pod
	f.line = top.line
	if top.down != pods*top.bundle {
		return f.errorf(1, "tier 2 has %d ports down; there are %d pods%s", top.down, pods, top.said())
	}
	perAgg, err := f.shares(middle.up, top)
	if err != nil {
		return err
	}
	cores, aggs := perTor*perAgg, pods*perTor
	if err := f.fits(f.nodes+tors+aggs+cores, f.nodes+tors*leaf.up+aggs*middle.up); err != nil {
		return err
	}
	agg, core := b.switches("agg", aggs), b.switches("core", cores)
	b.links.Delay = middle.delay()
	for i := range tors {
		for j := range perTor {
			middle.bundled(b, first+i, agg+i/perPod*perTor+j)
		}
	}
	b.links.Delay = top.delay()
	for i := range aggs {
		for c := range perAgg {
			top.bundled(b, agg+i, core+i%perTor*perAgg+c)
		}
	}
	return nil
}

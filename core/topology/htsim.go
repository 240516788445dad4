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
	oversubscribed int // 0: missing
	bundle         int // parallel links to each switch below
	given          map[string]bool
}

// topoReader is a .topo file while it is read.
type topoReader struct {
	file              string
	line              int // line of the current key, for errors
	nodes, tiers, pod int
	given             map[string]bool // keys above the tiers
	blocks            []*tier
}

// errorf returns an error at a column of the current line.
func (f *topoReader) errorf(column int, format string, args ...any) error {
	return &FormatError{File: f.file, Line: max(f.line, 1), Column: max(column, 1), Msg: fmt.Sprintf(format, args...)}
}

// readHTSim parses a .topo file of htsim: Nodes, Tiers, Podsize, then a block for each tier with Downlink_speed_Gbps,
// Radix_Down, Radix_Up, Downlink_Latency_ns and others. Tier 0 are the top-of-rack switches (tor0, …), 1 the
// aggregation switches (agg0, …) or, with two tiers, the cores, 2 the cores (core0, …). Radix counts links. A tier
// with a Bundle has that many parallel links to each switch below; they are paths like links to different switches.
//
// Several links to a host and a latency of switches are refused, because a Network does not have them. Queue lengths
// (Queue_…) are refused too, because the experiment sets them. Errors are of type *FormatError; without an error the
// network is valid.
func readHTSim(r io.Reader, file string) (*Network, error) {
	f := &topoReader{file: file, given: map[string]bool{}}
	if err := f.readLines(r); err != nil {
		return nil, err
	}
	if err := f.checkTiers(); err != nil {
		return nil, err
	}
	return f.buildNetwork()
}

// readLines parses all lines. Without an error the file has Nodes, Tiers and all its tiers, but their keys are not
// checked.
func (f *topoReader) readLines(r io.Reader) error {
	lines := bufio.NewScanner(r)
	last, end := 0, 1 // end of the last line that is not empty
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
			err = f.setKey(fields[0], v, at, value)
		} else {
			err = f.setTier(f.blocks[len(f.blocks)-1], fields[0], v, at, value)
		}
		if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return lineError(f.file, f.line+1, bufio.MaxScanTokenSize, err)
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

// setKey sets a key above the tiers, or starts a tier. keyColumn and valueColumn are the columns of the key and of v,
// for errors.
func (f *topoReader) setKey(key string, v, keyColumn, valueColumn int) error {
	name := strings.ToLower(key)
	if name != "tier" && f.given[name] {
		return f.errorf(keyColumn, "%q is given twice", key)
	}
	f.given[name] = true
	switch name {
	case "nodes":
		if f.nodes = v; v < 1 {
			return f.errorf(valueColumn, "Nodes is 0; allowed: 1 or more")
		}
	case "tiers":
		if f.tiers = v; v != 2 && v != 3 {
			return f.errorf(valueColumn, "Tiers is %d; allowed: 2 or 3", v)
		}
	case "podsize":
		f.pod = v
	case "tier":
		if v != len(f.blocks) {
			return f.errorf(valueColumn, "tier %d; the next one is %d", v, len(f.blocks))
		}
		f.blocks = append(f.blocks, &tier{line: f.line, bundle: 1, given: map[string]bool{}})
	default:
		return f.errorf(keyColumn, "unknown key %q; allowed: Nodes, Tiers, Podsize, Tier", key)
	}
	return nil
}

// setTier sets key, a key of tier t, to v. The columns are as in setKey. It fails for an unknown or repeated key, and
// for a value out of range.
func (f *topoReader) setTier(t *tier, key string, v, keyColumn, valueColumn int) error {
	name := strings.ToLower(key)
	if t.given[name] {
		return f.errorf(keyColumn, "%q is given twice", key)
	}
	t.given[name] = true
	switch name {
	case "downlink_speed_gbps":
		if t.speed = v; v < 1 {
			return f.errorf(valueColumn, "a speed of 0; allowed: 1 Gb/s or more")
		}
	case "radix_down":
		if t.down = v; v < 1 {
			return f.errorf(valueColumn, "a switch without ports down; allowed: 1 or more")
		}
	case "radix_up":
		t.up = v
	case "downlink_latency_ns":
		t.latency = v
	case "oversubscribed":
		t.oversubscribed = v
	case "switch_latency_ns":
		if v != 0 {
			return f.errorf(valueColumn, "a switch latency of %d ns; only 0 is possible: put it into the links' latency", v)
		}
	case "bundle":
		t.bundle = v
		switch {
		case v < 1 || v > maxBundled:
			return f.errorf(valueColumn, "a bundle of %d links; allowed: 1 to %d", v, maxBundled)
		case v > 1 && len(f.blocks) == 1:
			return f.errorf(valueColumn, "a bundle of %d links to each node; only 1 is possible: multiply Downlink_speed_Gbps "+
				"by %d", v, v)
		}
	default:
		return f.errorf(keyColumn, "unknown key %q in a tier; allowed: Downlink_speed_Gbps, Radix_Down, Radix_Up, "+
			"Downlink_Latency_ns, Switch_Latency_ns, Oversubscribed, Bundle", key)
	}
	return nil
}

// checkTiers verifies each tier: its keys, and its links against its oversubscription. All tiers need a speed and ports
// down, and all but the highest ports up.
func (f *topoReader) checkTiers() error {
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

// buildNetwork builds the hosts and their switches, and the tiers above, from tiers that checkTiers has accepted. It
// fails if the numbers of ports do not fit, or if the network is too large.
func (f *topoReader) buildNetwork() (*Network, error) {
	leaf := f.blocks[0]
	f.line = leaf.line
	tors := f.nodes / leaf.down
	if f.nodes%leaf.down != 0 {
		return nil, f.errorf(1, "%d nodes do not fill switches with %d ports down", f.nodes, leaf.down)
	}
	b := &builder{}
	b.addHosts(f.nodes)
	first := b.addSwitches("tor", tors)
	b.links.Delay = leaf.linkDelay()
	for i := range f.nodes {
		b.addLink(i, first+i/leaf.down, leaf.linkRate())
	}
	var err error
	if f.tiers == 2 {
		err = f.linkCores(b, first, tors)
	} else {
		err = f.linkPods(b, first, tors)
	}
	if err != nil {
		return nil, err
	}
	return &b.n, nil
}

// checkSize returns an error if there are too many nodes or links. Factors are at most largestNetwork, so products of
// three of them do not overflow.
func (f *topoReader) checkSize(nodes, links int) error {
	if nodes > largestNetwork || links > largestNetwork {
		return f.errorf(1, "%d nodes and %d links; allowed: at most %d of each", nodes, links, largestNetwork)
	}
	return nil
}

func (t *tier) linkDelay() unit.Time    { return unit.Time(t.latency) * unit.Nanosecond }
func (t *tier) linkRate() unit.LinkRate { return unit.LinkRate{Bits: unit.Rate(t.speed) * unit.Gbps} }

// describeBundle returns the part of an error about ports that describes bundles. It is "" without bundles.
func (t *tier) describeBundle() string {
	if t.bundle == 1 {
		return ""
	}
	return fmt.Sprintf(", in bundles of %d", t.bundle)
}

// addBundle adds the parallel links between switch low and switch high, which is of this tier. Link.Nth numbers them
// from 0.
func (t *tier) addBundle(b *builder, low, high int) {
	for k := range t.bundle {
		b.addLink(low, high, t.linkRate())
		b.n.Links[len(b.n.Links)-1].Nth = uint16(k)
	}
}

// switchesAbove returns the number of switches in upperTier to which the uplinks of a switch lead, in bundles. It fails
// if these are no whole bundles.
func (f *topoReader) switchesAbove(uplinks int, upperTier *tier) (int, error) {
	if uplinks%upperTier.bundle != 0 {
		return 0, f.errorf(1, "%d links up of each switch below are not in bundles of %d", uplinks, upperTier.bundle)
	}
	return uplinks / upperTier.bundle, nil
}

// linkCores links each of the tors switches from node first on to each core, which it adds to b. It fails if the ports
// do not fit.
func (f *topoReader) linkCores(b *builder, first, tors int) error {
	up, top := f.blocks[0].up, f.blocks[1]
	f.line = top.line
	if top.down != tors*top.bundle {
		return f.errorf(1, "the highest tier has %d ports down; there are %d switches below%s", top.down, tors,
			top.describeBundle())
	}
	cores, err := f.switchesAbove(up, top)
	if err != nil {
		return err
	}
	if err := f.checkSize(f.nodes+tors+cores, f.nodes+tors*up); err != nil {
		return err
	}
	core := b.addSwitches("core", cores)
	b.links.Delay = top.linkDelay()
	for i := range tors {
		for c := range cores {
			top.addBundle(b, first+i, core+c)
		}
	}
	return nil
}

// linkPods links the tors switches from node first on to the aggregation switches of their pods, and those to the
// cores, which it adds to b. It fails if Podsize or the ports do not fit.
func (f *topoReader) linkPods(b *builder, first, tors int) error {
	leaf, middle, top := f.blocks[0], f.blocks[1], f.blocks[2]
	perPod := f.pod / leaf.down
	f.line = middle.line
	switch {
	case f.pod < 1 || f.nodes%f.pod != 0 || f.pod%leaf.down != 0:
		return f.errorf(1, "a Podsize of %d does not divide %d nodes, or is no multiple of %d", f.pod, f.nodes, leaf.down)
	case middle.down != perPod*middle.bundle:
		return f.errorf(1, "tier 1 has %d ports down; a pod has %d switches below%s", middle.down, perPod,
			middle.describeBundle())
	}
	perTor, err := f.switchesAbove(leaf.up, middle)
	if err != nil {
		return err
	}
	pods := f.nodes / f.pod
	f.line = top.line
	if top.down != pods*top.bundle {
		return f.errorf(1, "tier 2 has %d ports down; there are %d pods%s", top.down, pods, top.describeBundle())
	}
	perAgg, err := f.switchesAbove(middle.up, top)
	if err != nil {
		return err
	}
	cores, aggs := perTor*perAgg, pods*perTor
	if err := f.checkSize(f.nodes+tors+aggs+cores, f.nodes+tors*leaf.up+aggs*middle.up); err != nil {
		return err
	}
	agg, core := b.addSwitches("agg", aggs), b.addSwitches("core", cores)
	b.links.Delay = middle.linkDelay()
	for i := range tors {
		for j := range perTor {
			middle.addBundle(b, first+i, agg+i/perPod*perTor+j)
		}
	}
	b.links.Delay = top.linkDelay()
	for i := range aggs {
		for c := range perAgg {
			top.addBundle(b, agg+i, core+i%perTor*perAgg+c)
		}
	}
	return nil
}

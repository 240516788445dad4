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
	seen           map[string]bool
}

// ReadHTSim reads a .topo file of htsim: Nodes, Tiers, Podsize, then a block for each
// tier with Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns and others.
// Tier 0 are the top-of-rack switches (tor0, …), 1 the aggregation switches (agg0, …)
// or, of two tiers, the cores, 2 the cores (core0, …). A latency of switches and more
// than one link between two switches (Bundle) are refused: a Network has neither.
// Queue lengths (Queue_…) are refused too: here they are the experiment's. Errors are
// of type *FormatError; a network without one is valid.
func ReadHTSim(r io.Reader, file string) (*Network, error) {
	lines := bufio.NewScanner(r)
	line := 0
	fail := func(column int, format string, args ...any) error {
		return &FormatError{File: file, Line: max(line, 1), Column: max(column, 1), Msg: fmt.Sprintf(format, args...)}
	}
	nodes, tiers, pod := 0, 0, 0
	last, end := 0, 1 // where the file ends, but for empty lines
	above := map[string]bool{}
	var blocks []*tier
	var now *tier
	for lines.Scan() {
		line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		last, end = line, len(text)+1
		at := strings.Index(text, fields[0]) + 1
		if len(fields) == 1 {
			return nil, fail(end, "the line ends; %s needs a number", fields[0])
		}
		if len(fields) != 2 {
			return nil, fail(at, "%d words; a line is a key and a number", len(fields))
		}
		value := strings.LastIndex(text, fields[1]) + 1
		v, err := strconv.Atoi(fields[1])
		if err != nil || v < 0 || v > largestNetwork {
			return nil, fail(value, "%s is %q; a number from 0 to %d is allowed", fields[0], fields[1], largestNetwork)
		}
		key := strings.ToLower(fields[0])
		if now == nil || key == "tier" {
			if key != "tier" && above[key] {
				return nil, fail(at, "%q is here twice", fields[0])
			}
			above[key] = true
			switch key {
			case "nodes":
				if nodes = v; v < 1 {
					return nil, fail(value, "Nodes is 0; 1 or more are possible")
				}
			case "tiers":
				if tiers = v; v != 2 && v != 3 {
					return nil, fail(value, "Tiers is %d; 2 and 3 are possible", v)
				}
			case "podsize":
				pod = v
			case "tier":
				if v != len(blocks) {
					return nil, fail(value, "tier %d; the next one is %d", v, len(blocks))
				}
				now = &tier{line: line, seen: map[string]bool{}}
				blocks = append(blocks, now)
			default:
				return nil, fail(at, "%q is not known here; Nodes, Tiers, Podsize and Tier are", fields[0])
			}
			continue
		}
		if now.seen[key] {
			return nil, fail(at, "%q is here twice", fields[0])
		}
		now.seen[key] = true
		switch key {
		case "downlink_speed_gbps":
			if now.speed = v; v < 1 {
				return nil, fail(value, "a speed of 0; 1 Gb/s or more are possible")
			}
		case "radix_down":
			if now.down = v; v < 1 {
				return nil, fail(value, "a switch without ports down; 1 or more are possible")
			}
		case "radix_up":
			now.up = v
		case "downlink_latency_ns":
			now.latency = v
		case "oversubscribed":
			now.oversubscribed = v
		case "switch_latency_ns":
			if v != 0 {
				return nil, fail(value, "a switch latency of %d ns; only 0 is possible: put it into the links' latency", v)
			}
		case "bundle":
			if v != 1 {
				return nil, fail(value, "a bundle of %d links; only 1 is possible", v)
			}
		default:
			return nil, fail(at, "%q is not known in a tier; Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, "+
				"Switch_Latency_ns, Oversubscribed and Bundle are", fields[0])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, unreadable(file, line+1, bufio.MaxScanTokenSize, err)
	}
	line = last
	switch {
	case nodes < 1:
		return nil, fail(end, "the file ends; Nodes is missing")
	case tiers == 0:
		return nil, fail(end, "the file ends; Tiers is missing")
	case len(blocks) != tiers:
		return nil, fail(end, "the file ends after %d of %d tiers", len(blocks), tiers)
	}
	for i, b := range blocks {
		line = b.line
		switch {
		case b.speed < 1 || b.down < 1:
			return nil, fail(1, "tier %d lacks Downlink_speed_Gbps or Radix_Down", i)
		case i < tiers-1 && b.up < 1:
			return nil, fail(1, "tier %d lacks Radix_Up", i)
		case i == tiers-1 && b.up > 0:
			return nil, fail(1, "tier %d is the highest; it has no Radix_Up", i)
		}
		if i < tiers-1 && b.oversubscribed > 0 && b.down*b.speed != b.oversubscribed*b.up*blocks[i+1].speed {
			return nil, fail(1, "tier %d: %d × %d Gb/s down and %d × %d Gb/s up are not oversubscribed by %d", i, b.down,
				b.speed, b.up, blocks[i+1].speed, b.oversubscribed)
		}
	}
	line = blocks[0].line
	tors := nodes / blocks[0].down
	if nodes%blocks[0].down != 0 {
		return nil, fail(1, "%d nodes do not fill switches with %d ports down", nodes, blocks[0].down)
	}
	b := &builder{}
	b.hosts(nodes)
	set := func(i int) { b.delay = unit.Time(blocks[i].latency) * unit.Nanosecond }
	speed := func(i int) unit.LinkRate { return unit.LinkRate{Bits: unit.Rate(blocks[i].speed) * unit.Gbps} }
	tor := b.switches("tor", tors)
	set(0)
	for i := range nodes {
		b.link(i, tor+i/blocks[0].down, speed(0))
	}
	up := blocks[0].up
	if tiers == 2 {
		line = blocks[1].line
		if blocks[1].down != tors {
			return nil, fail(1, "the highest tier has %d ports down; there are %d switches below", blocks[1].down, tors)
		}
		core := b.switches("core", up)
		set(1)
		for i := range tors {
			for c := range up {
				b.link(tor+i, core+c, speed(1))
			}
		}
		return &b.n, nil
	}
	perPod := pod / blocks[0].down
	line = blocks[1].line
	switch {
	case pod < 1 || nodes%pod != 0 || pod%blocks[0].down != 0:
		return nil, fail(1, "a Podsize of %d does not divide %d nodes, or is no multiple of %d", pod, nodes, blocks[0].down)
	case blocks[1].down != perPod:
		return nil, fail(1, "tier 1 has %d ports down; a pod has %d switches below", blocks[1].down, perPod)
	}
	pods := nodes / pod
	line = blocks[2].line
	if blocks[2].down != pods {
		return nil, fail(1, "tier 2 has %d ports down; there are %d pods", blocks[2].down, pods)
	}
	cores := up * blocks[1].up
	if pods*up+cores+tors+nodes > largestNetwork {
		return nil, fail(1, "the network has more than %d nodes", largestNetwork)
	}
	agg, core := b.switches("agg", pods*up), b.switches("core", cores)
	set(1)
	for i := range tors {
		for j := range up {
			b.link(tor+i, agg+i/perPod*up+j, speed(1))
		}
	}
	set(2)
	for i := range pods * up {
		for c := range blocks[1].up {
			b.link(agg+i, core+i%up*blocks[1].up+c, speed(2))
		}
	}
	return &b.n, nil
}

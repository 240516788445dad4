package experiment

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"weir/core/unit"
	"weir/worlds/sim"
)

var eventKeys = []string{"at", "link", "down", "rate", "enabled"}

// eventList reads what happens to links during a run.
func (d *decoder) eventList(root *tree, p *point) {
	t := root.get("events")
	if t == nil {
		return
	}
	if t.kind != list {
		d.fail(t.place, "[{at: 5ms, link: [s1, s2], down: true}]", "events is a list")
		return
	}
	for _, x := range t.items {
		if !d.keys(x, "an event's key", eventKeys) {
			continue
		}
		at, ends := x.get("at"), x.get("link")
		for _, k := range []string{"at", "link"} {
			if x.get(k) == nil {
				d.missing(x, k, "an event's key", eventKeys, "{at: 5ms, link: [s1, s2], down: true}", "the event has no %q", k)
			}
		}
		if at == nil || ends == nil {
			continue
		}
		var e sim.Event
		if e.At = read(d, at, unit.ParseTime); e.At < 0 || e.At >= p.warmup+p.duration {
			d.fail(at.place, fmt.Sprintf("0s up to the end, %v", p.warmup+p.duration), "the event at %s is not in the run",
				at.text)
		}
		e.Link = d.link(ends, p)
		down, rate := x.get("down"), x.get("rate")
		switch {
		case down == nil && rate == nil:
			d.missing(x, "down", "an event's key", eventKeys, "down: true, down: false, or rate: 5Gbps",
				"an event has either down or rate")
		case down != nil && rate != nil:
			d.fail(x.place, "down: true, down: false, or rate: 5Gbps", "an event has either down or rate")
		case down != nil:
			e.Down = d.word(down, "state", []string{"true", "false"}) == "true"
		default:
			e.Rate = read(d, rate, unit.ParseLinkRate)
			if e.Link >= 0 && len(d.errors) == 0 {
				if old := p.network.Links[e.Link].Rate; e.Rate == (unit.LinkRate{}) || (old.Bits > 0) != (e.Rate.Bits > 0) {
					d.fail(rate.place, "a rate above 0, in bit/s or packets/s as the link's", "%q is no rate for a link of %v",
						rate.text, old)
				}
			}
		}
		if d.word(d.value(x, "enabled", "true", "ours"), "switch", []string{"true", "false"}) == "true" {
			p.events = append(p.events, e)
		}
	}
	sort.SliceStable(p.events, func(i, j int) bool { return p.events[i].At < p.events[j].At })
}

var stallKeys = []string{"every", "length"}

// stalls reads when the simulator's hosts stand still.
func (d *decoder) stalls(root *tree, p *point) {
	const like = "{every: 2s, length: 2ms}"
	t := root.get("stalls")
	if t == nil || !d.keys(t, "a key of stalls", stallKeys) {
		return
	}
	every, length := t.get("every"), t.get("length")
	for _, k := range stallKeys {
		if t.get(k) == nil {
			d.missing(t, k, "a key of stalls", stallKeys, like, "stalls have no %q", k)
		}
	}
	if every == nil || length == nil {
		return
	}
	var ok bool
	if p.stalls.Every, ok = readOK(d, every, unit.ParseTime); ok && (p.stalls.Every < unit.Millisecond ||
		p.stalls.Every > 1000*unit.Second) {
		d.fail(every.place, "1ms … 1000s, the mean from one stall to the next", "stalls every %s", every.text)
	}
	if p.stalls.Length, ok = readOK(d, length, unit.ParseTime); ok && p.stalls.Every > 0 &&
		(p.stalls.Length >= p.stalls.Every || p.stalls.Length > unit.Second) {
		d.fail(length.place, "0s, for none, up to below every and 1s", "a stall of %s every %s", length.text, every.text)
	}
}

// Stalls tells whether the simulator's hosts stand still in some run; the lab's have stalls
// of their own.
func (s *Spec) Stalls() bool {
	return slices.ContainsFunc(s.points, func(p *point) bool { return p.stalls.Length > 0 })
}

// link finds the link between two nodes; −1 if there is none.
func (d *decoder) link(t *tree, p *point) int {
	if t.kind != list || len(t.items) != 2 {
		d.fail(t.place, "[s1, s2]", "a link is named by its two ends")
		return -1
	}
	var ends [2]int
	for i, x := range t.items {
		ends[i] = -1
		var names []string
		for k, n := range p.network.Nodes {
			if n.Name == d.text(x) {
				ends[i] = k
			}
			names = append(names, n.Name)
		}
		if ends[i] < 0 {
			if len(names) > 20 {
				names = append(names[:20], "…")
			}
			d.unknown(x.place, "node", x.text, names)
			return -1
		}
	}
	var neighbours []string
	for i, l := range p.network.Links {
		if l.Ends == ends || l.Ends == [2]int{ends[1], ends[0]} {
			return i
		}
		for e := range 2 {
			if l.Ends[e] == ends[0] && len(neighbours) < 20 {
				neighbours = append(neighbours, p.network.Nodes[l.Ends[1-e]].Name)
			}
		}
	}
	d.fail(t.place, t.items[0].text+" has links to "+strings.Join(neighbours, ", "), "there is no link between %s and %s",
		t.items[0].text, t.items[1].text)
	return -1
}

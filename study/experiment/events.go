package experiment

import (
	"fmt"
	"slices"
	"sort"

	"weir/core/fabric/wiring"
	"weir/core/unit"
	"weir/internal/document"
)

// eventDecoder reads events of links and stalls of hosts.
type eventDecoder struct {
	*reader
	nodes *nodeNames
}

// readEvents reads the changes of links during a run, and returns them in order of time, without disabled ones. Events
// with errors may be included.
func (d *eventDecoder) readEvents(root document.Map, p *Point) (events []wiring.Event) {
	t := root.Get("events")
	if t == nil {
		return nil
	}
	if t.Kind != document.List {
		d.Fail(t.Position, "[{at: 5ms, link: [s1, s2], down: true}]", "events is not a list")
		return nil
	}
	for _, item := range t.Items {
		x, ok := d.ReadMap(item, event)
		if !ok {
			continue
		}
		time, ends := x.Get("at"), x.Get("link")
		for _, k := range []string{"at", "link"} {
			if x.Get(k) == nil {
				x.FailMissing(k, "the event has no %q", k)
			}
		}
		if time == nil || ends == nil {
			continue
		}
		var e wiring.Event
		if e.At = document.ReadValue(d.Reader, time, unit.ParseTime); e.At < 0 || e.At >= p.measured.End() {
			d.Fail(time.Position, fmt.Sprintf("0s to the end of the run, %v", p.measured.End()),
				"the event at %s is outside the run",
				time.Text)
		}
		e.Link = d.nodes.findLink(ends, p)
		if from := x.Get("from"); from != nil && e.Link >= 0 {
			e.OnlyEnd = d.readDirection(from, e.Link, p)
		}
		down, rate := x.Get("down"), x.Get("rate")
		switch {
		case down == nil && rate == nil:
			x.FailMissing("down", "an event needs exactly one of down and rate")
		case down != nil && rate != nil:
			d.Fail(x.Position, event.FindKey("down").Example, "an event needs exactly one of down and rate")
		case down != nil:
			e.Down = d.ReadWord(down, "value of down", event.FindKey("down").Form.Words) == "true"
		default:
			e.Rate = document.ReadValue(d.Reader, rate, unit.ParseLinkRate)
			if e.Link >= 0 && d.OK() {
				if old := p.measured.Network.Links[e.Link].Rate; e.Rate == (unit.LinkRate{}) ||
					(old.Bits > 0) != (e.Rate.Bits > 0) {
					d.Fail(rate.Position, "a rate above 0 in the unit of the link's rate, bit/s or packets/s",
						"%q does not fit a link with the rate %v",
						rate.Text, old)
				}
			}
		}
		if d.ReadWord(x.GetDefault("enabled"), "value of enabled", event.FindKey("enabled").Form.Words) == "true" {
			events = append(events, e)
		}
	}
	sort.SliceStable(events, func(i, j int) bool { return events[i].At < events[j].At })
	return events
}

// readDirection reads a direction of a link, and returns 1 + the end that sends; 0 after an error.
func (d *eventDecoder) readDirection(t *document.Node, link int, p *Point) uint8 {
	n := p.measured.Network
	ends := n.Links[link].Ends
	name := d.ReadText(t)
	for e, node := range ends {
		if n.Nodes[node].Name == name {
			return uint8(1 + e)
		}
	}
	d.Fail(t.Position, n.Nodes[ends[0]].Name+" or "+n.Nodes[ends[1]].Name, "%q is not an end of the link", name)
	return 0
}

// Stalls defines when the simulator's hosts stall (sim.Stalls).
type Stalls struct {
	Every  unit.Time // mean time from one stall to the next
	Length unit.Time // of each stall; 0: no stalls
}

// readStalls reads into p.stalls when the simulator's hosts stall. Without the key they do not.
func (d *eventDecoder) readStalls(root document.Map, p *Point) {
	value := root.Get("stalls")
	if value == nil {
		return
	}
	t, ok := d.ReadMap(value, stalls)
	if !ok {
		return
	}
	every, length := t.Get("every"), t.Get("length")
	for _, k := range stalls.KeyNames() {
		if t.Get(k) == nil {
			t.FailMissing(k, "stalls needs the key %q", k)
		}
	}
	if every == nil || length == nil {
		return
	}
	if p.stalls.Every, ok = document.ReadValid(d.Reader, every, unit.ParseTime); ok &&
		(p.stalls.Every < unit.Millisecond ||
			p.stalls.Every > 1000*unit.Second) {
		d.Fail(every.Position, "1ms … 1000s", "a mean interval of %s between stalls is out of range", every.Text)
	}
	if p.stalls.Length, ok = document.ReadValid(d.Reader, length, unit.ParseTime); ok && p.stalls.Every > 0 &&
		(p.stalls.Length >= p.stalls.Every || p.stalls.Length > unit.Second) {
		d.Fail(length.Position, "0s (no stalls) or a time below every, at most 1s",
			"a stall length of %s is out of range with stalls every %s", length.Text, every.Text)
	}
}

// Stalls reports whether the simulator's hosts stall at some point. The lab does not use them; its hosts have real
// stalls.
func (s *Spec) Stalls() bool {
	return slices.ContainsFunc(s.points, func(p *Point) bool { return p.stalls.Length > 0 })
}

package experiment

import (
	"math"
	"slices"

	"weir/core/unit"
	"weir/internal/document"
	"weir/worlds/sim"
)

// windowed are the names of the traffics whose senders have a window or a rate.
func (p *point) windowed() (names []string) {
	for i := range p.traffic {
		if p.traffic[i].transport.Gauged {
			names = append(names, p.traffic[i].name)
		}
	}
	return names
}

// needsWindow reports that no traffic has a window.
func (d *decoder) needsWindow(at *document.Node, p *point, name string) (ok bool) {
	if ok = len(p.windowed()) > 0; !ok && !p.partial {
		d.Fail(at.Place, "a traffic over a transport with a window",
			"no traffic of the experiment has a window or a rate, as %s needs", name)
	}
	return ok
}

func decodeWindowed(d *decoder, at, options *document.Node, p *point, m *measure) {
	decodeByTraffic(d, at, options, p, m)
	d.needsWindow(at, p, m.name)
}

func decodeReduction(d *decoder, at, options *document.Node, p *point, m *measure) {
	if !d.needsWindow(at, p, m.name) {
		return
	}
	if t := options.Get("traffic"); t != nil {
		m.label = d.Word(t, "traffic with a window", p.windowed())
		m.traffic = slices.IndexFunc(p.traffic, func(t traffic) bool { return t.name == m.label })
	}
	for _, other := range p.measures {
		if other.name == m.name && (other.traffic < 0) != (m.traffic < 0) {
			d.Fail(at.Place, "an entry for each traffic, or one for all", "the reduction of a traffic is here already")
		}
	}
	m.after = p.warmup
	if t := options.Get("after"); t != nil {
		m.after = d.measuredTime(t, p, false)
	}
	port, above := options.Get("port"), options.Get("above")
	switch {
	case (port == nil) != (above == nil):
		key := "port"
		if above == nil {
			key = "above"
		}
		d.Missing(options, key, "reduction's key", m.keys, "reduction: {port: s1->server, above: 10 packets}",
			"port and above belong together: the queue that shows congestion, and from what length on")
		return
	case port != nil:
		m.port = d.port(port, p, true)
		var ok bool
		if m.above, ok = document.ReadOK(d.Reader, above, unit.ParseLength); ok && m.above.Packets < 1 && m.above.Bytes < 1 {
			d.Fail(above.Place, "1 packets, or more",
				"a queue that is longer than %s is no congestion: every packet makes it so", above.Text)
		}
	}
	by := d.Default(options, "by", "10%", "ours")
	if m.level = document.Read(d.Reader, by, unit.ParseShare); !(m.level > 0 && m.level < 1) && by.Kind == document.Scalar {
		d.Fail(by.Place, "above 0% and below 100%", "%q is no part of a window", by.Text)
	}
	m.of = d.Word(d.Default(options, "of", "first", "ours"), "choice of flows", []string{"first", "all"})
	m.inFlight = d.Word(d.Default(options, "gauge", "window", "ours"), "gauge",
		[]string{"window", "in_flight"}) == "in_flight"
}

// onsets are what a run looks for: one for each traffic that a reduction is measured of.
func (m *measure) onsets(p *point, c *sim.Config) (out []sim.Onset) {
	for t := range p.traffic {
		if !p.traffic[t].transport.Gauged || m.traffic >= 0 && m.traffic != t {
			continue
		}
		o := sim.Onset{After: m.after, Port: m.port, Above: m.above, By: m.level, InFlight: m.inFlight}
		for i := range c.Flows {
			if c.Flows[i].Group == t {
				o.Flows = append(o.Flows, i)
			}
		}
		out = append(out, o)
	}
	return out
}

// evaluateReduction is how long after the onset the first flow had reduced, or the last one of
// those that were there at the onset and did not end without. What has not is not a number.
func evaluateReduction(m *measure, e *evaluation) {
	x := Measured{Name: "reduction", Unit: "s", Groups: []Grouped{}}
	from := Measured{Name: "reduction_from", Unit: "s", Groups: []Grouped{}}
	k := 0
	for t := range e.p.traffic {
		if !e.p.traffic[t].transport.Gauged || m.traffic >= 0 && m.traffic != t {
			continue
		}
		o := e.onsets[k]
		k++
		name := e.p.traffic[t].name
		began, at := math.NaN(), math.NaN()
		if o.At != unit.Never {
			began = o.At.Seconds()
			if reduced := e.reduced(m, t, &o); reduced != unit.Never {
				at = (reduced - o.At).Seconds()
			}
		}
		x.Groups = append(x.Groups, Grouped{name, at})
		from.Groups = append(from.Groups, Grouped{name, began})
	}
	e.add(x)
	e.add(from)
}

// reduced is when a traffic's first flow had reduced, or all had; unit.Never if that was not.
func (e *evaluation) reduced(m *measure, t int, o *sim.OnsetResult) unit.Time {
	first, last := unit.Never, unit.Time(-1)
	k := -1
	for i := range e.c.Flows {
		f := &e.c.Flows[i]
		if f.Group != t {
			continue
		}
		if k++; k >= len(o.Reduced) {
			break
		}
		at := o.Reduced[k]
		first = min(first, at)
		r := &e.res.Flows[i]
		ended := f.Stop > 0 && f.Stop <= e.res.Time
		if r.FCT != unit.Never {
			ended = true
		}
		if r.Start <= o.At && (at != unit.Never || !ended) {
			last = max(last, at)
		}
	}
	if m.of == "first" {
		return first
	}
	if last < 0 {
		return unit.Never
	}
	return last
}

// bdp is the bandwidth-delay product of a flow's path: base RTT times what the slowest link
// carries of payload.
func (p *point) bdp(src, dst int, tr *traffic) float64 {
	frame := p.framing.Frame(tr.headers(), tr.payload, true)
	rate := math.Inf(1) // bytes/s
	links, _ := p.routes.Path(src, dst)
	for _, i := range links {
		r := p.network.Links[i].Rate
		if r.Bits > 0 {
			rate = min(rate, float64(r.Bits)/8*float64(tr.payload)/float64(frame))
		} else {
			rate = min(rate, float64(r.Packets)*float64(tr.payload))
		}
	}
	return rate * p.pathOf(src, dst, tr).BaseRTT.Seconds()
}

// evaluateOvershoot compares what each sender had in flight at most with its path's
// bandwidth-delay product: the mean and the largest of the flows that sent anything.
func evaluateOvershoot(_ *measure, e *evaluation) {
	all, most := Measured{Name: "overshoot", Groups: []Grouped{}}, Measured{Name: "overshoot_max", Groups: []Grouped{}}
	for t := range e.p.traffic {
		tr := &e.p.traffic[t]
		if !tr.transport.Gauged {
			continue
		}
		var x []float64
		largest := math.NaN()
		for i := range e.c.Flows {
			if f := &e.c.Flows[i]; f.Group == t && e.res.Flows[i].Peak > 0 {
				v := float64(e.res.Flows[i].Peak) / e.p.bdp(f.Src, f.Dst, tr)
				x = append(x, v)
				if !(largest >= v) {
					largest = v
				}
			}
		}
		all.Groups, most.Groups = append(all.Groups, Grouped{tr.name, mean(x)}),
			append(most.Groups, Grouped{tr.name, largest})
	}
	e.add(all)
	e.add(most)
}

// evaluateTimeouts counts retransmission timeouts.
func evaluateTimeouts(_ *measure, e *evaluation) {
	m := Measured{Name: "timeouts", Groups: []Grouped{}}
	for t := range e.p.traffic {
		if !e.p.traffic[t].transport.Gauged {
			continue
		}
		var n int64
		for i := range e.c.Flows {
			if e.c.Flows[i].Group == t {
				n += e.res.Flows[i].Timeouts
			}
		}
		m.Groups = append(m.Groups, Grouped{e.p.traffic[t].name, float64(n)})
	}
	e.add(m)
}

// evaluateReordering is the share of data packets that came after one that was sent later
// (RFC 4737 §4.1), and the largest extent (§4.2).
func evaluateReordering(_ *measure, e *evaluation) {
	e.byTraffic("reordering", "", func(t int) float64 {
		var reordered, arrived int64
		for i := range e.c.Flows {
			if r := &e.res.Flows[i].Reordering; e.c.Flows[i].Group == t {
				reordered, arrived = reordered+r.Reordered, arrived+r.Arrived
			}
		}
		return float64(reordered) / float64(arrived)
	})
	e.byTraffic("reordering_extent", "packets", func(t int) float64 {
		var most, arrived int64
		for i := range e.c.Flows {
			if r := &e.res.Flows[i].Reordering; e.c.Flows[i].Group == t {
				most, arrived = max(most, r.Extent), arrived+r.Arrived
			}
		}
		if arrived == 0 {
			return math.NaN()
		}
		return float64(most)
	})
}

// evaluateNacks is what became of the notices that switches made.
func evaluateNacks(m *measure, e *evaluation) {
	n := &e.res.Notices
	var taken, refused int64
	for i := range e.res.Flows {
		s := &e.res.Flows[i].Sender
		taken, refused = taken+s.NacksTaken, refused+s.NacksRefused
	}
	e.add(Measured{Name: "nacks", Unit: "packets", Groups: []Grouped{{"made", float64(n.Made)},
		{"dropped", float64(n.Dropped)},
		{"delivered", float64(n.Delivered)}, {"taken", float64(taken)}, {"refused", float64(refused)}}})
	e.add(Measured{Name: "nacks_lost", Value: float64(n.Dropped) / float64(n.Made)})
	d := Distribution{Name: "nacks_delay", Unit: "s"}
	longest := math.NaN()
	for _, c := range n.Delay.Classes() {
		d.add(min(c.Middle(), n.DelayMax).Seconds(), c.Count) // which no middle exceeds
		longest = n.DelayMax.Seconds()
	}
	groups := []Grouped{{"mean", n.DelaySum.Seconds() / float64(n.Delivered)}, {"max", longest}}
	for _, q := range m.percentiles {
		groups = append(groups, Grouped{percentileGroup(q), d.percentile(q)})
	}
	e.add(Measured{Name: "nacks_delay", Unit: "s", Groups: groups})
	e.distribution(d)
}

func decodeNacks(d *decoder, _, options *document.Node, _ *point, m *measure) {
	m.percentiles = d.percentiles(options, "50 99", "ours")
}

// evaluateLast is how long a traffic's flows took together: from its first start until the last
// byte of all has arrived; and the goodput of all of them over that.
func evaluateLast(_ *measure, e *evaluation) {
	took := func(t int) float64 {
		first, last := unit.Never, unit.Time(-1)
		for i := range e.c.Flows {
			if f := &e.c.Flows[i]; f.Group == t {
				if f.Size == 0 {
					return math.NaN()
				}
				first, last = min(first, e.res.Flows[i].Start), max(last, e.res.Flows[i].Arrived)
			}
		}
		if last < 0 || last == unit.Never {
			return math.NaN()
		}
		return (last - first).Seconds()
	}
	e.ofSized("fct_last", "s", took)
	e.ofSized("incast_goodput", "bps", func(t int) float64 {
		var size unit.Bytes
		for i := range e.c.Flows {
			if e.c.Flows[i].Group == t {
				size += e.c.Flows[i].Size
			}
		}
		return float64(size) * 8 / took(t)
	})
}

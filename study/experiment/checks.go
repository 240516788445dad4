package experiment

import (
	"fmt"
	"math"
	"slices"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/internal/document"
)

// maxPairs limits the pairs of hosts of a traffic for which paths are examined.
const maxPairs = 1000

// checkTraffic reports the remarks of the transport and the controller of traffic id about their paths. It runs when
// the traffic is read, for errors, and again when all traffics are known (checkPrograms), for warnings. The traffic's
// flows are the point's flows from first on and before end. It also sets the traffic's timer and extends the range of
// round trips (longest, shortest). The first call adds the traffic to d.checked. After errors it has no effect.
func (d *pathChecker) checkTraffic(p *Point, id, first, end int) {
	if !d.OK() || id >= len(p.entries) {
		return
	}
	tr := &p.entries[id]
	if d.loads == nil {
		d.first, d.end = first, end
		d.checked = append(d.checked, d.currentTraffic)
	}
	t := &tr.traits
	site := &cc.FlowContext{MSS: tr.measured.Payload, AppRate: t.AppRate, Telemetry: p.telemetry, Controller: tr.cc,
		Config: tr.ccConfig, Uncongested: t.AsksUponCongestion(), WhyUnmeasured: t.WhyUnmeasured, AwaitsSlowPath: t.KeepsSlow,
		AcksDelayed: t.DelaysAcks}
	spread := d.collectPaths(p, site, tr, first, end)
	if site.Sprayed && d.loads != nil {
		if why := t.WhyInOrder; why != "" {
			d.warn(warnOrder, d.transportAt, "traffic %s: transport %s: packets are reordered, since program %s (%v) sprays "+
				"them: %s", tr.measured.Name, tr.measured.Transport.Name, spread.program, spread.place, why)
		}
	}
	ofTransport, ofControl := transport.CheckTelemetry(t.Telemetry, site)
	d.addRemarks(tr, "transport "+tr.measured.Transport.Name, d.transportAt, d.transport,
		d.issuable(slices.Concat(tr.checkPathChoice(spread), cc.Check(tr.transportConfig, site), ofTransport,
			transport.ShortTimer(t.Timer, site))))
	tr.timer, tr.timed = transport.ReportTimer(t.Timer, site.Paths)
	if tr.cc == nil {
		return
	}
	for i := range site.Paths {
		x := &site.Paths[i]
		if d.longest = max(d.longest, x.BaseRTT); d.shortest == 0 || x.BaseRTT < d.shortest {
			d.shortest = x.BaseRTT
		}
	}
	d.addRemarks(tr, "cc "+tr.cc.Name, tr.ccPlace, d.control, d.issuable(append(cc.CheckScheme(tr.cc, tr.ccConfig, site),
		ofControl...)))
}

// issuable removes the remarks that cannot be issued yet, and returns the rest in the same memory. As long as not all
// traffics are known, only errors can be issued: warnings may depend on other traffics.
func (d *pathChecker) issuable(remarks []scheme.Remark) []scheme.Remark {
	return slices.DeleteFunc(remarks, func(r scheme.Remark) bool { return d.loads == nil && !r.Refused })
}

// checkPathChoice returns a warning about senders that choose among paths if their choice has no effect, or no lasting
// one. It returns nil for a transport with one path.
func (tr *Traffic) checkPathChoice(spread spreading) []scheme.Remark {
	if tr.traits.Paths <= 1 {
		return nil
	}
	why := ""
	switch {
	case spread.mode == dataplane.EachPacket:
		why = fmt.Sprintf("program %s (%v) sends each packet over a different path", spread.program, spread.place)
	case spread.mode == dataplane.EachFlowlet:
		why = fmt.Sprintf("program %s (%v) sends each flowlet over a different path", spread.program, spread.place)
	case !spread.hashes:
		why = "no switch chooses among paths by a hash (program ecmp)"
	default:
		return nil
	}
	return []scheme.Remark{warnNoChoice.NewRemark("paths",
		"%d source ports do not select separate paths, since %s; paths: 1 uses a single window", tr.traits.Paths, why)}
}

// eachPair calls add for pairs of hosts that send to each other in a traffic; it samples them if there are more than
// about maxPairs. The traffic's flows are the point's flows from first on and before end.
func (l *trafficList) eachPair(tr *Traffic, first, end int, add func(src, dst int)) {
	step := max(1, (end-first)/maxPairs)
	for i := first; i < end; i += step {
		f := l.flows.flowAt(i)
		add(f.Src, f.Dst)
	}
	if tr.job != nil {
		for _, pair := range tr.job.samplePairs() {
			add(pair[0], pair[1])
		}
	}
	if tr.generator != nil {
		tr.generator.eachPair(add)
	}
}

// eachPair calls add for pairs of hosts between which the generator may draw a flow, at most maxPairs of them.
func (g *Generator) eachPair(add func(src, dst int)) {
	to := g.To
	switch {
	case g.Pattern == ToStride && g.FromCount == 0:
		for i, from := range g.From[:min(len(g.From), maxPairs)] {
			add(from, g.From[(i+g.Stride)%len(g.From)])
		}
		return
	case g.Pattern == Permutation, g.Pattern == ToStride:
		to = g.From
	}
	if len(g.From) == 0 || len(to) == 0 {
		return
	}
	if len(g.From)*len(to) <= maxPairs {
		for _, src := range g.From {
			for _, dst := range to {
				if src != dst {
					add(src, dst)
				}
			}
		}
		return
	}
	for i := range maxPairs {
		src := g.From[i%len(g.From)]
		if len(g.From) > maxPairs {
			src = g.From[i*len(g.From)/maxPairs]
		}
		_, share := math.Modf(float64(i) * math.Phi) // multiples of the golden ratio are evenly distributed
		k := int(share * float64(len(to)))
		if to[k] == src {
			k = (k + 1) % len(to)
		}
		if to[k] != src {
			add(src, to[k])
		}
	}
}

// addRemarks reports a scheme's remarks as errors or warnings, at the place of the parameter concerned in params, or
// else at place. who names the scheme in the text.
func (d *pathChecker) addRemarks(tr *Traffic, who string, place document.Position, params *document.Node,
	remarks []scheme.Remark) {
	for _, r := range remarks {
		where, text := place, r.Text
		if r.Param != "" {
			text = r.Param + ": " + text
			if v := params.Find(r.Param); v != nil && v.Position.Line > 0 {
				where = v.Position
			}
		}
		if r.Refused {
			d.FailLines(where, fmt.Sprintf("traffic %s: %s: %s", document.ShortenName(tr.measured.Name), who, text))
		} else {
			d.issue(document.Warning{Kind: r.Kind, At: where, Port: r.Port,
				Text: "traffic " + tr.measured.Name + ": " + who + ": " + text})
		}
	}
}

package experiment

import (
	"strconv"
	"strings"

	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
)

// findTelemetry finds the format of telemetry in which the programs write; all must agree,
// since hosts cannot tell who has written. rates are those that links have at any time.
func (d *switchDecoder) findTelemetry(root document.Map, p *Point, programs [][]switchfile.Program, rates []unit.Rate) {
	for i, list := range programs {
		for _, x := range list {
			if !p.seen.Network.Nodes[i].Switch || x.Traits.Telemetry == nil || !d.OK() {
				continue
			}
			f, err := x.Traits.Telemetry(rates)
			f.Counted = p.seen.Framing.Fixed()
			at := root.Place
			if t := root.Get("switches"); t != nil {
				at = t.Place
			} else if t := root.Get("switch"); t != nil {
				at = t.Place
			}
			switch {
			case err != nil:
				d.Fail(at, "", "%v", err)
			case p.telemetry == nil:
				p.telemetry, p.telemetryAt = &f, x.At
			case *p.telemetry != f:
				d.Fail(at, "one format, one set of parameters", "switch %s writes other telemetry than the switches before it",
					p.seen.Network.Nodes[i].Name)
			}
		}
	}
}

// checkUnits warns of units of HPCC's format that are coarse for the slowest port of a switch that packets with
// telemetry pass.
func (d *pathChecker) checkUnits(p *Point, loads map[topology.PortRef]*portLoad) {
	f := p.telemetry
	if f == nil || f.Profile.Name != "hpcc" {
		return
	}
	slowest, name := unit.Rate(0), ""
	for port, x := range loads {
		l := &p.seen.Network.Links[port.Link]
		if !x.informed || l.Rate.Bits == 0 || !p.seen.Network.Nodes[l.Ends[port.End]].Switch {
			continue
		}
		n := p.seen.Network.PortName(port.Link, port.End)
		if slowest == 0 || l.Rate.Bits < slowest || l.Rate.Bits == slowest && n < name {
			slowest, name = l.Rate.Bits, n
		}
	}
	if most := telemetry.MostMulti(max(slowest, 1)); slowest > 0 && f.HPCC.Multi > most {
		w := document.Warn(warnMulti, p.telemetryAt, "program telemetry: multi: %d makes the units of HPCC's format too "+
			"coarse for %s, of %v, whose load then seems larger than it is: up to %d is fine", f.HPCC.Multi, name, slowest, most)
		w.Port = name
		d.issue(w)
	}
}

// readClock reads a switch's clock.
func (d *switchDecoder) readClock(t *document.Node) (c telemetry.Clock) {
	m, ok := d.Map(t, clock)
	if !ok {
		return
	}
	x := m.Default("resolution")
	if c.Resolution = d.Positive(x); c.Resolution > unit.Second {
		d.Fail(x.Place, "1ps … 1s", "a resolution of %q is too coarse", x.Text)
	}
	x = m.Default("offset")
	text, behind := strings.CutPrefix(d.Text(x), "-")
	offset, err := unit.ParseTime(text)
	if err != nil || offset > 3600*unit.Second {
		d.Fail(x.Place, "5us, or -5us; an hour at most", "%q is not an offset of a clock", x.Text)
	}
	if c.Offset = offset; behind {
		c.Offset = -offset
	}
	x = m.Default("drift")
	number, parts := strings.CutSuffix(d.Text(x), "ppm")
	if c.Drift, err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil || !parts || !(c.Drift >= -100_000 &&
		c.Drift <= 100_000) {
		d.Fail(x.Place, "20ppm, or -20ppm; 100000ppm at most", "%q is not a drift of a clock", x.Text)
		c.Drift = 0
	}
	return
}

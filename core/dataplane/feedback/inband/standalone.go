package inband

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// standalone is the program in a standalone switch, between hosts that get telemetry only on request. It counts its
// records.
type standalone struct {
	*Program
	records, without []uint64 // by port
}

// newProgram returns the program for a switch of a network, or for a standalone one, which has no routes, and has
// c.Identity.
func newProgram(site *dataplane.Site, c Config) (dataplane.Program, error) {
	p, err := buildProgram(site, c)
	if err != nil || site.Routes != nil {
		return p, err
	}
	p.id = uint32(c.Identity)
	return &standalone{p, make([]uint64, site.Ports), make([]uint64, site.Ports)}, nil
}

// Egress writes telemetry into p if p requests it, and updates loads and classes. It counts packets with a record of
// this switch, and packets that requested one without success. It accepts every packet.
func (a *standalone) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	asked, written := a.writeTelemetry(env, p)
	switch {
	case written:
		a.records[p.Meta.Out]++
	case asked:
		a.without[p.Meta.Out]++
	}
	return dataplane.Accept
}

// Adopt takes over the counts, and also averages of loads and counts of classes if the ports have the same classes.
// From a switch with another number of ports, or another program, it takes no state over, and kept is "". lost is
// always nil.
func (a *standalone) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*standalone)
	if !ok || len(old.records) != len(a.records) {
		return "", nil
	}
	a.records, a.without = old.records, old.without
	for i := range a.ports {
		x, was := &a.ports[i], &old.ports[i]
		if x.load = was.load; len(x.classes) == len(was.classes) {
			for q := range x.classes {
				c, old := &x.classes[q], &was.classes[q]
				c.txBytes, c.fraction, c.lastDeparture = old.txBytes, old.fraction, old.lastDeparture
			}
		}
	}
	return "its counts", nil
}

// Metrics of standalone.
const (
	metricRecords = iota
	metricWithout
)

// Metrics returns the description of the counts of records.
func (*standalone) Metrics() []dataplane.Metric {
	return []dataplane.Metric{
		metricRecords: {Name: "weir_telemetry_records_total",
			Help: "Frames sent by a port with this switch's telemetry.", Label: "port", ByPort: true, Counter: true},
		metricWithout: {Name: "weir_telemetry_without_room_total",
			Help:  "Frames that requested a record but had no space for it, in their header or within the port's MTU.",
			Label: "port", ByPort: true, Counter: true},
	}
}

// Sample writes the counts by port to samples, as many as fit, and returns their number.
func (a *standalone) Sample(_ unit.Time, samples []dataplane.Sample) (n int) {
	for metric, by := range [][]uint64{metricRecords: a.records, metricWithout: a.without} {
		for port, x := range by {
			if n == len(samples) {
				return n
			}
			samples[n] = dataplane.Sample{Metric: metric, Port: packet.PortID(port), Value: float64(x)}
			n++
		}
	}
	return n
}

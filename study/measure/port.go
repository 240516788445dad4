package measure

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
)

// port is embedded by measures of one port.
type port struct {
	Plain
	index int // into outcome.Result.Ports
	label string
	every unit.Time
}

// Label returns the port's name.
func (m *port) Label() string { return m.label }

// ReadOptions reads `port` and `every`.
func (m *port) ReadOptions(o *Options) {
	t := o.Node.Get("port")
	if t == nil {
		name := o.Kind.Name
		o.Node.FailMissing("port", "%s needs the key port", name)
		return
	}
	m.index = o.ReadPort(t, false)
	m.label = o.Point.PortName(m.index)
	m.every = o.ReadEvery()
}

// watchPort returns a watch of a quantity of the port if `every` is given; no needs otherwise.
func (m *port) watchPort(quantity outcome.Quantity) Needs {
	if m.every == 0 {
		return Needs{}
	}
	return Needs{Watches: []outcome.Watch{{What: quantity, Index: m.index, Every: m.every}}}
}

// sentRates returns the rate at which the watched port has sent in each interval. factor is 8 to get bit/s from bytes,
// and 1 for packets/s. It uses only the first of the measure's watches.
func (e *Evaluation) sentRates(every unit.Time, factor float64) (out []float64) {
	for k := range e.countIntervals() {
		out = append(out, float64(e.Samples[0][k+1]-e.Samples[0][k])*factor/every.Seconds())
	}
	return out
}

// throughput measures the bits of frames per second that a port has sent.
type throughput struct{ port }

// ListNeeds requests samples of the port's sent bytes, if `every` is given.
func (m *throughput) ListNeeds(*Point, *outcome.Load) Needs { return m.watchPort(outcome.SentBytes) }

// AddValues adds the mean rate, and with `every` the rate over time.
func (m *throughput) AddValues(e *Evaluation) {
	e.Add(Measured{Name: "throughput", Unit: "bps",
		Groups: []GroupValue{{Group: m.label, Value: float64(e.Result.Ports[m.index].TxBytes) * 8 / e.seconds}}})
	if m.every > 0 {
		e.AddSeries("throughput", "bps", m.label, m.every, e.sentRates(m.every, 8))
	}
}

// utilisation measures what a port has sent, divided by what its link could have carried.
type utilisation struct{ port }

// inPackets reports whether the link's rate is in packets/s.
func (m *utilisation) inPackets(p *Point) bool { return p.Network.Links[m.index/2].Rate.Bits == 0 }

// ListNeeds requests samples of the port's sent bytes or packets, if `every` is given.
func (m *utilisation) ListNeeds(p *Point, _ *outcome.Load) Needs {
	if m.inPackets(p) {
		return m.watchPort(outcome.SentPackets)
	}
	return m.watchPort(outcome.SentBytes)
}

// AddValues adds the mean utilisation, and with `every` the utilisation over time.
func (m *utilisation) AddValues(e *Evaluation) {
	port := &e.Result.Ports[m.index]
	sent, each := float64(port.TxBytes)*8, 8.0
	if m.inPackets(e.Point) {
		sent, each = float64(port.TxPackets), 1
	}
	e.Add(Measured{Name: "utilisation", Groups: []GroupValue{{Group: m.label, Value: sent / port.Capacity}}})
	if m.every > 0 {
		over := e.sentRates(m.every, each)
		for k := range over {
			over[k] /= e.meanLinkRate(m.index/2, e.Point.Warmup+unit.Time(k)*m.every, m.every)
		}
		e.AddSeries("utilisation", "", m.label, m.every, over)
	}
}

// meanLinkRate returns the mean rate of a link in an interval that begins at from and has the given length, in bit/s or
// packets/s. Events that change the rate count.
func (e *Evaluation) meanLinkRate(link int, from, length unit.Time) float64 {
	perSecond := func(l unit.LinkRate) float64 { return float64(max(int64(l.Bits), int64(l.Packets))) }
	rate, time, sum := perSecond(e.Point.Network.Links[link].Rate), from, 0.0
	for _, x := range e.Point.Events {
		if x.Link != link || x.Rate == (unit.LinkRate{}) || x.At >= from+length {
			continue
		}
		if x.At > time {
			sum += rate * (x.At - time).Seconds()
			time = x.At
		}
		rate = perSecond(x.Rate)
	}
	return (sum + rate*(from+length-time).Seconds()) / length.Seconds()
}

// balance measures how evenly the upward ports of a fat tree's switches are used.
type balance struct {
	Plain
	label string
	ports []int
	nodes []int
	every unit.Time
}

// Label returns the pattern of switches.
func (m *balance) Label() string { return m.label }

// ReadOptions reads `switches` and `every`. It reports an error if the network is not a fat tree.
func (m *balance) ReadOptions(o *Options) {
	t := o.Node.GetDefault("switches")
	nodes := o.ReadSwitches(t)
	m.every = o.ReadEvery()
	if !o.OK() {
		return
	}
	x, err := o.Point.Network.FindTree()
	if err != nil {
		o.Fail(o.At, "a fat tree of two or three tiers", "balance needs the upward ports of a fat tree: %v", err)
		return
	}
	ports := o.Point.Network.Ports()
	for _, n := range nodes {
		for _, up := range x.Up[n] {
			ref := ports[n][up]
			m.ports = append(m.ports, 2*ref.Link+ref.End)
		}
		if len(x.Up[n]) > 0 {
			m.nodes = append(m.nodes, n)
		}
	}
	if m.label = o.ReadText(t); len(m.nodes) == 0 {
		o.Fail(t.Position, "a pattern of switches below the highest tier", "no switch that %q matches has upward ports",
			t.Text)
	}
	if len(m.ports) > maxPorts {
		o.Fail(t.Position, fmt.Sprintf("a pattern of switches with at most %d upward ports", maxPorts),
			"%q matches switches with %d upward ports", t.Text,
			len(m.ports))
	}
}

// ListNeeds requests samples of the ports' sent packets, if `every` is given.
func (m *balance) ListNeeds(*Point, *outcome.Load) (n Needs) {
	for _, port := range m.ports {
		if m.every > 0 {
			n.Watches = append(n.Watches, outcome.Watch{What: outcome.SentPackets, Index: port, Every: m.every})
		}
	}
	return n
}

// AddValues adds Jain's index of each switch's upward ports, their packets, and with `every` the packets over time.
func (m *balance) AddValues(e *Evaluation) {
	index, packets := Measured{Name: "balance"}, Measured{Name: "port_packets", Unit: "packets"}
	next := 0
	for _, n := range m.nodes {
		var x []float64
		for next < len(m.ports) && e.Point.Network.Links[m.ports[next]/2].Ends[m.ports[next]%2] == n {
			sent := float64(e.Result.Ports[m.ports[next]].TxPackets)
			x = append(x, sent)
			packets.Groups = append(packets.Groups, GroupValue{Group: e.Point.PortName(m.ports[next]), Value: sent})
			next++
		}
		index.Groups = append(index.Groups, GroupValue{Group: e.Point.Network.Nodes[n].Name, Value: jainIndex(x)})
	}
	e.Add(index)
	e.Add(packets)
	for k, samples := range e.Samples {
		over := make([]float64, 0, len(samples))
		for _, v := range samples {
			over = append(over, float64(v-samples[0]))
		}
		e.AddSeries("port_packets", "packets", e.Point.PortName(m.ports[k]), m.every, over)
	}
}

// drops counts dropped packets by reason.
type drops struct{ Plain }

// AddValues adds the number of dropped packets for each reason, and the sum.
func (*drops) AddValues(e *Evaluation) {
	x := Measured{Name: "drops", Unit: "packets", Groups: []GroupValue{{Group: "all", Value: 0}}}
	for r := dataplane.Reason(1); r < dataplane.Reasons; r++ {
		x.Groups = append(x.Groups, GroupValue{Group: r.OneWord(), Value: float64(e.Result.Drops[r])})
		x.Groups[0].Value += float64(e.Result.Drops[r])
	}
	e.Add(x)
}

// overhead counts the bytes of frames by their content.
type overhead struct{ Plain }

// ListNeeds requests the tally of all frames.
func (*overhead) ListNeeds(*Point, *outcome.Load) Needs { return Needs{Tally: true} }

// AddValues adds the bytes of each kind of content.
func (*overhead) AddValues(e *Evaluation) {
	t := &e.Result.Tally
	data := t.Kinds[packet.Data]
	groups := []GroupValue{{Group: "payload", Value: float64(t.Payload)},
		{Group: "headers", Value: float64(data - t.Payload)},
		{Group: "extensions", Value: float64(t.Extensions)}}
	for _, k := range []struct {
		name string
		kind packet.Kind
	}{{"ack", packet.Ack}, {"nack", packet.Nack}, {"notice", packet.Notice}, {"probe", packet.Probe}} {
		groups = append(groups, GroupValue{Group: k.name, Value: float64(t.Kinds[k.kind])})
	}
	groups = append(groups, GroupValue{Group: "pfc", Value: float64(t.Kinds[packet.Pause] + t.Kinds[packet.Resume])})
	e.Add(Measured{Name: "overhead", Unit: "bytes", Groups: groups})
}

// pause measures how long PFC held ports.
type pause struct {
	Plain
	by  string
	log bool // keep every frame
}

// maxPorts limits the groups of a measure that has one group for each port.
const maxPorts = 256

// ReadOptions reads `by` and `log`.
func (m *pause) ReadOptions(o *Options) {
	m.log = o.ReadChoice("log", "value of log") == "true"
	n := 2 * len(o.Point.Network.Links)
	if m.by = o.ReadChoice("by", "grouping"); m.by == "port" && n > maxPorts {
		o.Fail(o.Node.Get("by").Position, "all, traffic", "the network has %d ports; by: port is possible up to %d ports",
			n, maxPorts)
	}
}

// ListNeeds requests a log of every Pause frame, with `log`.
func (m *pause) ListNeeds(*Point, *outcome.Load) Needs { return Needs{Pauses: m.log} }

// WhyNotInLab returns that the lab's data plane keeps no log of Pause frames.
func (m *pause) WhyNotInLab(*Point) string {
	if m.log {
		return "its data plane records no log of pause frames; measure pfc_pause without log"
	}
	return ""
}

// AddValues adds the share of time for which ports were held, and the number of Pause frames that they received.
func (m *pause) AddValues(e *Evaluation) {
	share, frames := Measured{Name: "pfc_pause"}, Measured{Name: "pfc_pauses", Unit: "frames"}
	total := e.Result.Measured.Seconds()
	add := func(group string, held, got float64) {
		share.Groups = append(share.Groups, GroupValue{Group: group, Value: held})
		frames.Groups = append(frames.Groups, GroupValue{Group: group, Value: got})
	}
	switch m.by {
	case "port":
		for i := range e.Result.Ports {
			p := &e.Result.Ports[i].Pauses
			add(e.Point.PortName(i), p.Any.Seconds()/total, float64(p.Frames))
		}
	case "traffic":
		for t := range e.Point.Traffic {
			held, got := 0.0, 0.0
			var senders []float64
			counted := map[[2]int]bool{}
			for i := range e.Load.Flows {
				f := &e.Load.Flows[i]
				if key := [2]int{f.Src, int(f.Class)}; f.Group == t && !counted[key] {
					counted[key] = true
					nics := e.Point.Routes.NICs()
					ref := e.Point.Routes.Ports(nics.HostOf(f.Src))[nics.PortOf(f.Src)]
					p := &e.Result.Ports[2*ref.Link+ref.End].Pauses
					senders = append(senders, p.Time[f.Class].Seconds()/total)
					got += float64(p.Frames)
				}
			}
			held = mean(senders)
			add(e.Point.Traffic[t].Name, held, got)
		}
	default:
		for i := range e.Result.Ports {
			p := &e.Result.Ports[i].Pauses
			share.Value += p.Any.Seconds() / total / float64(len(e.Result.Ports))
			frames.Value += float64(p.Frames)
		}
	}
	e.Add(share)
	e.Add(frames)
}

package experiment

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// IdealFormula says how the flow completion time is reckoned that a flow would have
// alone.
const IdealFormula = "2·Σ delay + Σ tx(frame) + (bytes of frames − frame)/slowest rate + Σ tx(ack), over the links " +
	"of a shortest path"

// ideal is the flow completion time of a flow that is alone (HPCC §5.1: alone, with
// basic headers only; the sender's handshake does not count).
func (p *point) ideal(src, dst int, size unit.Bytes, tr *traffic) unit.Time {
	headers := tr.headers()
	f := p.framing
	payload := unit.Bytes(tr.payload)
	frame := f.Frame(headers, int32(min(size, payload)), true)
	ack := f.Frame(headers, 0, false)
	bytes := float64(size/payload) * float64(f.Frame(headers, tr.payload, true))
	if rest := size % payload; rest > 0 {
		bytes += float64(f.Frame(headers, int32(rest), true))
	}
	var total unit.Time
	slowest := 0.0 // seconds a byte
	links, _ := p.routes.Path(src, dst)
	for _, i := range links {
		l := &p.network.Links[i]
		one, both := 0.0, 0.0 // seconds that a frame takes, and frame and ack
		if l.Rate.Bits > 0 {
			one = float64(frame) * 8 / float64(l.Rate.Bits)
			both = one * float64(frame+ack) / float64(frame)
		} else {
			one = 1 / float64(l.Rate.Packets)
			both = 2 * one
		}
		slowest = max(slowest, one/float64(frame))
		total += 2*l.Delay + unit.Time(both*float64(unit.Second))
	}
	return total + unit.Time(slowest*(bytes-float64(frame))*float64(unit.Second))
}

// headers are the bytes of a full packet's headers, from Ethernet's on.
func (tr *traffic) headers() int32 {
	if tr.version == 6 {
		return packet.EthernetHeader + packet.IPv6Header + tr.transport.Headers
	}
	return packet.EthernetHeader + packet.IPv4Header + tr.transport.Headers
}

// pathOf is what a flow's endpoints may know of their path.
func (p *point) pathOf(src, dst int, tr *traffic) cc.Path {
	links, _ := p.routes.Path(src, dst)
	nic := p.network.Links[links[0]].Rate.Bits
	frame := p.framing.Frame(tr.headers(), tr.payload, true)
	return cc.Path{NICRate: nic, LineRate: unit.Rate(float64(nic) * float64(tr.payload) / float64(frame)),
		ReceiverRate: p.network.Links[links[len(links)-1]].Rate.Bits,
		BaseRTT:      p.ideal(src, dst, unit.Bytes(tr.payload), tr), Hops: len(links) - 1}
}

package experiment

import (
	"weir/packet"
	"weir/unit"
)

// IdealFormula says how the flow completion time is reckoned that a flow would have
// alone.
const IdealFormula = "2·Σ delay + Σ tx(frame) + (bytes of frames − frame)/slowest rate + Σ tx(ack), over the links of a shortest path"

// ideal is the flow completion time of a flow that is alone (HPCC §5.1: alone, with
// basic headers only; the sender's handshake does not count).
func (p *point) ideal(src, dst int, size unit.Bytes, tr *traffic) unit.Time {
	headers := int32(packet.EthernetHeader+packet.IPv4Header) + tr.transport.Headers
	if tr.version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
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

package frames

import "weir/core/packet"

// An IOAM trace in an IPv6 frame has space for the records of all hops from its sender on (RFC 9197 §4.4), so a
// switch writes in place: in an option of type 0x31 (RFC 9486 §3).
const (
	traceOption    = 0x31
	minTraceHeader = 10 // bytes of its header
)

// tracePlace returns offset and length of the data of a frame's trace; length 0 without a trace.
func (d *frameLayout) tracePlace(f []byte) (at, n int) {
	header := d.ip + packet.IPv6Header
	if d.version != 6 || f[d.ip+6] != hopByHop || d.end < header+8 || d.end < header+8*(int(f[header+1])+1) {
		return 0, 0
	}
	for i, end := header+2, header+8*(int(f[header+1])+1); i < end; {
		if f[i] == 0 { // Pad1
			i++
			continue
		}
		if i+2 > end || i+2+int(f[i+1]) > end {
			return 0, 0
		}
		if f[i] == traceOption && f[i+1] >= minTraceHeader {
			return i + 2, int(f[i+1])
		}
		i += 2 + int(f[i+1])
	}
	return 0, 0
}

// readTrace copies a frame's trace to its packet.
func readTrace(p *packet.Packet, d *frameLayout) {
	if at, n := d.tracePlace(p.Data); n > 0 {
		p.SetStack(packet.HopByHop, p.Data[at:at+n])
	}
}

// writeTrace writes the packet's trace back to the frame, if its length is the same.
func writeTrace(p *packet.Packet, d *frameLayout) {
	if b := p.Stack(); b != nil {
		if at, n := d.tracePlace(p.Data); n == len(b) {
			copy(p.Data[at:], b)
		}
	}
}

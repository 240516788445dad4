package ncf

import "weir/core/packet"

// repeats holds the packets of mice that a port dropped with a notice to their senders, and that have not arrived
// again: a fingerprint of flow, sequence number and length in the cell of their hash, or 0. Such a packet has counted
// at its first arrival (overload). Each notice excuses one arrival, so the allowance of NACKs limits the excused ones.
// A drop replaces another one in its cell, and the replaced packet counts twice. So the table limits the backlog, too:
// repeats beyond its cells count as new, and become an overload. One of 255 packets with a dropped one's hash is
// mistaken for it.
type repeats []uint8

// repeatCells is the number of cells of a port.
const repeatCells = 2048

// findCell returns the cell and the fingerprint of a packet of the flow with the given key. The fingerprint is 0
// without a table, and for datagrams, which have no sequence numbers.
func (r repeats) findCell(flow uint64, p *packet.Packet) (*uint8, uint8) {
	if p.Proto == packet.ProtoUDP || len(r) == 0 {
		return nil, 0
	}
	x := (flow ^ (uint64(p.Seq)<<16^uint64(p.Payload))*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	x ^= x >> 31
	return &r[x>>32%uint64(len(r))], uint8(x>>56%255) + 1
}

// add records a packet that was dropped with a notice to its sender.
func (r repeats) add(flow uint64, p *packet.Packet) {
	if cell, print := r.findCell(flow, p); print != 0 {
		*cell = print
	}
}

// remove reports whether an arriving packet was recorded, and removes it.
func (r repeats) remove(flow uint64, p *packet.Packet) bool {
	cell, print := r.findCell(flow, p)
	if print == 0 || *cell != print {
		return false
	}
	*cell = 0
	return true
}

package ncf

import "weir/core/packet"

// repeats are a sample of the packets of mice that a port dropped, and notified, and that have not arrived again: a
// fingerprint of flow, sequence number and length in the cell of their hash, or 0. A packet that arrives again was
// counted when it first came (overload). Each notice excuses one arrival, so the allowance of NACKs bounds what is
// excused. A drop that takes the cell of another one has that one count twice, which is why the table holds a sample; a
// fingerprint of another packet excuses one of 255. A larger sample has fewer errors by chance, and holds fewer drops.
type repeats []uint8

const (
	repeatCells = 3584 // of a port
	repeatsOf   = 4    // packets of which one is in the sample, by its hash
)

// at returns the cell and the fingerprint of a packet of the flow with the given key; 0: it is not in the sample, as are
// no datagrams, which never arrive again.
func (r repeats) at(flow uint64, p *packet.Packet) (*uint8, uint8) {
	x := (flow ^ (uint64(p.Seq)<<16^uint64(p.Payload))*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	if x ^= x >> 31; x%repeatsOf != 0 || p.Proto == packet.ProtoUDP || len(r) == 0 {
		return nil, 0
	}
	return &r[x>>32%uint64(len(r))], uint8(x>>56%255) + 1
}

// drop records that a packet was dropped, and its sender is notified.
func (r repeats) drop(flow uint64, p *packet.Packet) {
	if cell, print := r.at(flow, p); print != 0 {
		*cell = print
	}
}

// arrive returns how many packets like one that arrives have come before: all that it stands for if it was dropped,
// which it then no longer is.
func (r repeats) arrive(flow uint64, p *packet.Packet) int32 {
	cell, print := r.at(flow, p)
	if print == 0 || *cell != print {
		return 0
	}
	*cell = 0
	return repeatsOf
}

package telemetry

// Profile is what a format of telemetry costs on the wire.
type Profile struct {
	Name   string
	Source string
	Fixed  int32 // bytes that are there without any hop
	PerHop int32 // bytes of each record
	Slots  int   // hops whose room is there from the sender on; 0: the packet grows at each hop
	Max    int   // most hops that the format can hold
	Align  int32 // the whole is padded to a multiple of this
	Fields Field // what a record has
}

// Bytes is what the telemetry of a packet takes after so many hops; hops beyond Max
// (or Slots) add nothing.
func (p *Profile) Bytes(hops int) int32 {
	hops = min(max(hops, 0), p.Max)
	if p.Slots > 0 {
		hops = p.Slots
	}
	n := p.Fixed + int32(hops)*p.PerHop
	if rest := n % p.Align; rest > 0 {
		n += p.Align - rest
	}
	return n
}

// Profiles are the formats of draft-miao §6.1, each with the fields that HPCC++ needs:
//
//   - hpcc: 2 bytes nHop and pathID, 8 a hop, room for five from the sender on: 42.
//   - int-md: P4 INT v2.1, INT-MD over TCP or UDP: shim 4, header 12. A hop: node id 4
//     (bit 0), ingress and egress port 4 (bit 1), queue id and occupancy 4 (bit 3),
//     egress time stamp 8 (bit 5), and, since the standard bitmap has neither,
//     domain-specific txBytes 4 and link capacity 4: 28, which is 7 of the at most 31
//     words that HopML allows. The shim's 8-bit length in words bounds the whole:
//     255 words less 3 of the header hold 36 hops.
//   - ioam: RFC 9197 pre-allocated trace with draft-gafni-ippm-ioam-additional-data-fields:
//     hop-by-hop header 2, padding 2 (the option begins at a multiple of 4), option type,
//     length, reserved, IOAM type 4, trace header 8: 16. A hop: hop limit and node id 4
//     (bit 0), ingress and egress port 4 (bit 1), time stamp 4 + 4 (bits 2, 3), queue
//     depth 4 (bit 6), tx_bytes 4 (bit 12), speed and errors 4 (bit 13): 28. The whole is
//     a multiple of 8; an option's 255 bytes hold 8 hops (2 + 8 + 28·8 = 234). Room for
//     five is allocated.
//   - ifa: IFA 2.0 (draft-kumar-ippm-ifa): header 4, metadata header 4, 32 a hop. It
//     carries no count of sent bytes, so HPCC++ cannot run on it as it is. Its 8-bit
//     length in words holds 31 hops.
//   - relative: ours, of §9.1: 2 bytes, whatever the path (RelativeLoad).
var Profiles = [...]Profile{
	{Name: "hpcc", Source: "HPCC (SIGCOMM'19) §4.1, figure 7", Fixed: 2, PerHop: 8, Slots: 5, Max: 5, Align: 1,
		Fields: Time | TxBytes | Queue | Rate},
	{Name: "int-md", Source: "P4 INT v2.1", Fixed: 4 + 12, PerHop: 4 + 4 + 4 + 8 + 4 + 4, Max: 36, Align: 4,
		Fields: inFull},
	{Name: "ioam", Source: "RFC 9197, draft-gafni-ippm-ioam-additional-data-fields-00", Fixed: 2 + 2 + 4 + 8,
		PerHop: 4 + 4 + 4 + 4 + 4 + 4 + 4, Slots: 5, Max: 8, Align: 8, Fields: inFull},
	{Name: "ifa", Source: "draft-kumar-ippm-ifa", Fixed: 4 + 4, PerHop: 32, Max: 31, Align: 4,
		Fields: inFull &^ TxBytes},
	{Name: "relative", Source: "draft-miao-iccrg-hpccplus-01 §9.1; ours", Fixed: relativeBytes, Max: 255, Align: 1,
		Fields: Load},
}

const inFull = Time | TxBytes | Queue | Rate | Sojourn | Identity

// FindProfile returns the profile with this name.
func FindProfile(name string) (Profile, bool) {
	for _, p := range Profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

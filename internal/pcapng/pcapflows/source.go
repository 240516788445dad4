package pcapflows

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"weir/core/packet"
	"weir/core/unit"
)

// Suffixes of interfaces in Weir's files: drops at a port, and, in a lab's capture, changes of a switch's ports,
// which are packets without bytes.
const (
	Drops   = " drops"
	Changes = " events"
)

// Horizon limits how far from time 0 a file's first packet may be for its times to count as simulation times.
// Times beyond it are wall-clock times and count from the first packet.
const Horizon = 100 * 24 * time.Hour

// Selection selects packets of a capture.
type Selection struct {
	WantsInterface func(name string) bool // selects interfaces; nil selects all
	Port           uint16                 // selects packets from or to this port; 0 selects all
	Flows          bool                   // selects TCP connections instead of packets
}

// Source is a capture read as a source of traffic. Times count from 0 in files with simulation times, such as
// Weir's, else from the capture's first packet.
type Source struct {
	Addresses  []netip.Addr // unicast addresses of packets, ascending: IPv4 before IPv6
	Packets    []Datagram   // IP packets in order of time; empty with Selection.Flows
	Flows      []Stream     // each direction of a connection that carried data, in order of time
	Omissions  []Omission   // packets left out, by reason
	Interfaces int          // number of interfaces with packets

	Connections int   // number of TCP connections
	Unopened    int   // connections without their SYN in the capture: their bytes count from the first segment on
	Empty       int   // connections that carried no data
	Repeated    int   // segments without new data
	Missing     int64 // bytes missing within streams: they count as carried
}

// Datagram is an IP packet.
type Datagram struct {
	At       unit.Time
	Src, Dst int32 // indices into Addresses
	Length   int32 // of the IP packet
	Block    int32 // block in the file
}

// Stream is the data of one direction of a connection.
type Stream struct {
	Start    unit.Time // time of the first captured byte
	Src, Dst int32     // indices into Addresses
	Bytes    int64
}

// Omission counts packets that were left out for one reason.
type Omission struct {
	Why     string
	Packets int
}

// Reasons to leave packets out.
const (
	notIP          = "not IP"
	unknownLink    = "of a link layer that is not read"
	cut            = "cut off before the end of their headers"
	damaged        = "with headers that cannot be"
	untimed        = "without a time"
	weirDrops      = "of drops and changes in a trace of Weir's"
	otherInterface = "of other interfaces"
	otherPort      = "of other ports"
	groupAddress   = "from or to groups of hosts, or none"
	toItself       = "from an address to itself"
	notTCP         = "not TCP"
	firstMissing   = "fragments whose first one is not there"
	outside        = "TCP segments outside of any window"
)

// countLeft counts a packet left out for the given reason.
func (s *Source) countLeft(reason string) {
	i := slices.IndexFunc(s.Omissions, func(l Omission) bool { return l.Why == reason })
	if i < 0 {
		i = len(s.Omissions)
		s.Omissions = append(s.Omissions, Omission{Why: reason})
	}
	s.Omissions[i].Packets++
}

// item is a packet of the selection.
type item struct {
	Datagram
	segment
	offset int // offset of a later fragment's payload in the segment
}

// Read reads the selected packets of a capture as a source of traffic. Packets that cannot be used are counted in
// Omissions. The error is a *BlockError.
func Read(file []byte, selection Selection) (*Source, error) {
	r := &captureReader{Selection: selection, numbers: map[netip.Addr]int32{}, first: map[fragmentKey]item{},
		interfaces: map[int]bool{}}
	if err := r.findOrigin(file); err != nil {
		return nil, err
	}
	if err := ReadFrames(file, r.addFrame); err != nil {
		return nil, err
	}
	s := &r.Source
	s.Interfaces = len(r.interfaces)
	slices.SortStableFunc(r.items, func(a, b item) int { return cmp.Compare(a.At, b.At) })
	index := r.sortAddresses()
	for i := range r.items {
		x := &r.items[i]
		x.Src, x.Dst = index[x.Src], index[x.Dst]
		if !selection.Flows {
			s.Packets = append(s.Packets, x.Datagram)
		}
	}
	if selection.Flows {
		r.followConnections()
	}
	return s, nil
}

// captureReader is the state of Read.
type captureReader struct {
	Selection
	Source
	seconds int64 // time 0 in seconds since 1970
	// part is the fraction of the second of time 0.
	part       unit.Time
	items      []item
	numbers    map[netip.Addr]int32
	first      map[fragmentKey]item // first fragments of packets
	interfaces map[int]bool         // interfaces with packets
}

// fragmentKey identifies the packet of a fragment.
type fragmentKey struct {
	src, dst int32
	id       uint32
}

// findOrigin sets time 0: the first packet's time, unless that is within Horizon of time 0 of the file.
func (r *captureReader) findOrigin(file []byte) error {
	first := Frame{Seconds: math.MaxInt64}
	err := ReadFrames(file, func(f *Frame) error {
		if f.Timed && (f.Seconds < first.Seconds || f.Seconds == first.Seconds && f.Part < first.Part) {
			first = *f
		}
		return nil
	})
	if first.Seconds < 0 || first.Seconds > int64(Horizon.Seconds()) {
		r.seconds, r.part = first.Seconds, first.Part
	}
	return err
}

// addFrame adds a frame to the items or counts it as left out.
func (r *captureReader) addFrame(f *Frame) error {
	reason, err := r.takePacket(f)
	if reason != "" {
		r.countLeft(reason)
	}
	return err
}

// takePacket adds the packet of a frame to the items, and numbers its addresses. The result reason is why it is left
// out; empty if it is not. A packet more than Horizon behind time 0 is an error.
func (r *captureReader) takePacket(f *Frame) (reason string, err error) {
	if hasWeirSuffix(f.Interface.Name) {
		return weirDrops, nil
	}
	if r.WantsInterface != nil && !r.WantsInterface(f.Interface.Name) {
		return otherInterface, nil
	}
	if !f.Timed {
		return untimed, nil
	}
	h, reason := f.parseHeader()
	if reason != "" {
		return reason, nil
	}
	for _, a := range [2]netip.Addr{h.src, h.dst} {
		if a.IsMulticast() || a.IsUnspecified() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return groupAddress, nil
		}
	}
	if h.src == h.dst {
		return toItself, nil
	}
	x := item{Datagram: Datagram{Src: r.numberAddress(h.src), Dst: r.numberAddress(h.dst), Length: int32(h.length),
		Block: int32(f.Block)}}
	if reason := r.readTransport(&h, &x); reason != "" {
		return reason, nil
	}
	since := f.Seconds - r.seconds
	if since > int64(Horizon.Seconds()) {
		return "", &BlockError{f.Block, f.Offset, fmt.Sprintf("the packet is %d s behind the first one; "+
			"up to %.0f s are possible", since, Horizon.Seconds())}
	}
	x.At = unit.Time(since)*unit.Second + f.Part - r.part
	r.interfaces[f.Interface.Number] = true
	r.items = append(r.items, x)
	return "", nil
}

// hasWeirSuffix reports whether an interface has drops of Weir's Writer or link changes of a lab's capture.
func hasWeirSuffix(name string) bool {
	return len(name) > len(Drops) && name[len(name)-len(Drops):] == Drops ||
		len(name) > len(Changes) && name[len(name)-len(Changes):] == Changes
}

// numberAddress returns the number of an address. A new address gets the next one.
func (r *captureReader) numberAddress(a netip.Addr) int32 {
	n, known := r.numbers[a]
	if !known {
		n = int32(len(r.numbers))
		r.numbers[a] = n
	}
	return n
}

// readTransport reads the ports of a packet, and with Selection.Flows its TCP header, into x. It records a selected
// first fragment, from which later ones get their ports. The result reason is why the packet is left out; empty if the
// packet is selected.
func (r *captureReader) readTransport(h *header, x *item) (reason string) {
	if !r.Selection.Flows && r.Port == 0 {
		return ""
	}
	if r.Selection.Flows && h.proto != packet.ProtoTCP {
		return notTCP
	}
	key := fragmentKey{x.Src, x.Dst, h.id}
	if h.fragment && h.fragmentOffset > 0 {
		first, known := r.first[key]
		if !known {
			return firstMissing
		}
		x.segment = first.segment
		x.offset, x.payload = h.fragmentOffset-first.head, h.payload
		if x.offset < 0 {
			return damaged
		}
		return ""
	}
	switch {
	case h.proto == packet.ProtoTCP:
		if x.segment, reason = h.parseSegment(); reason != "" {
			return reason
		}
	case h.proto == packet.ProtoUDP && len(h.rest) >= 4:
		x.from, x.to = be.Uint16(h.rest), be.Uint16(h.rest[2:])
	case h.proto == packet.ProtoUDP:
		return cut
	}
	if r.Port != 0 && x.from != r.Port && x.to != r.Port {
		return otherPort
	}
	if h.fragment {
		r.first[key] = *x
	}
	return ""
}

// sortAddresses stores the sorted addresses of all items in Addresses and returns the index of each by its number.
func (r *captureReader) sortAddresses() []int32 {
	used := make([]bool, len(r.numbers))
	for i := range r.items {
		used[r.items[i].Src], used[r.items[i].Dst] = true, true
	}
	for a, n := range r.numbers {
		if used[n] {
			r.Addresses = append(r.Addresses, a)
		}
	}
	slices.SortFunc(r.Addresses, netip.Addr.Compare)
	index := make([]int32, len(r.numbers))
	for i, a := range r.Addresses {
		index[r.numbers[a]] = int32(i)
	}
	return index
}

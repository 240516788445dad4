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

// Suffixes of the interfaces of Weir's files: of a port's drops, and, in a lab's capture, of changes of a switch's
// ports, whose packets have no bytes.
const (
	Drops   = " drops"
	Changes = " events"
)

// Horizon is how far from time 0 a file's first packet may be for its times to be taken as they are: a run of Weir.
// Those of clocks count from their first packet.
const Horizon = 100 * 24 * time.Hour

// Selection is what of a capture is wanted.
type Selection struct {
	On    func(name string) bool // interfaces; nil: all
	Port  uint16                 // only packets from it or to it; 0: all
	Flows bool                   // connections of TCP, not packets
}

// Source is a capture as a source of traffic. Times count from the capture's first packet or, in a file whose times
// begin with a run (Weir's are), from 0.
type Source struct {
	Addresses  []netip.Addr // of unicast that packets are from or to, ascending: IPv4 before IPv6
	Packets    []Datagram   // IP packets in order of time; none with Flows
	Flows      []Stream     // each direction of a connection that has carried something, in order of time
	Left       []Left       // what was left out, and why
	Interfaces int          // that packets are of

	Connections int   // of TCP
	Midway      int   // … of which the capture has no SYN: their bytes count from the first segment on
	Empty       int   // … that have carried nothing
	Repeated    int   // segments that had nothing new
	Missing     int64 // bytes that the capture lacks between others of its stream: they count, for TCP has carried them
}

// Datagram is an IP packet.
type Datagram struct {
	At       unit.Time
	Src, Dst int32 // of Addresses
	Length   int32 // of the IP packet
	Block    int32 // of the file
}

// Stream is what a connection carries in one direction.
type Stream struct {
	Start    unit.Time // when its first byte was seen
	Src, Dst int32     // of Addresses
	Bytes    int64
}

// Left is a number of packets that were left out.
type Left struct {
	Why     string
	Packets int
}

// Why packets are left out.
const (
	notIP       = "not IP"
	unknownLink = "of a link layer that is not read"
	cut         = "cut off before the end of their headers"
	damaged     = "with headers that cannot be"
	untimed     = "without a time"
	ofDrops     = "of drops and changes in a trace of Weir's"
	otherOn     = "of other interfaces"
	otherPort   = "of other ports"
	ofMany      = "from or to groups of hosts, or none"
	toItself    = "from an address to itself"
	notTCP      = "not TCP"
	headless    = "fragments whose first one is not there"
	outside     = "TCP segments outside of any window"
)

// leave counts a packet that is left out.
func (s *Source) leave(why string) {
	i := slices.IndexFunc(s.Left, func(l Left) bool { return l.Why == why })
	if i < 0 {
		i = len(s.Left)
		s.Left = append(s.Left, Left{Why: why})
	}
	s.Left[i].Packets++
}

// item is a packet that is taken.
type item struct {
	Datagram
	segment
	offset int // of a later fragment's payload from the first one's, in the segment
}

// Read reads a capture as a source of traffic. The error is a *BlockError.
func Read(file []byte, want Selection) (*Source, error) {
	r := &reading{Selection: want, numbers: map[netip.Addr]int32{}, first: map[piece]item{}, on: map[int]bool{}}
	if err := r.origin(file); err != nil {
		return nil, err
	}
	if err := Frames(file, r.frame); err != nil {
		return nil, err
	}
	s := &r.Source
	s.Interfaces = len(r.on)
	slices.SortStableFunc(r.items, func(a, b item) int { return cmp.Compare(a.At, b.At) })
	to := r.sorted()
	for i := range r.items {
		x := &r.items[i]
		x.Src, x.Dst = to[x.Src], to[x.Dst]
		if !want.Flows {
			s.Packets = append(s.Packets, x.Datagram)
		}
	}
	if want.Flows {
		r.connections()
	}
	return s, nil
}

// reading is a capture that is read.
type reading struct {
	Selection
	Source
	seconds int64 // time 0
	part    unit.Time
	items   []item
	numbers map[netip.Addr]int32
	first   map[piece]item // fragments that others may follow
	on      map[int]bool   // interfaces that packets are of
}

// piece says of which packet a fragment is.
type piece struct {
	src, dst int32
	id       uint32
}

// origin finds time 0.
func (r *reading) origin(file []byte) error {
	first := Frame{Seconds: math.MaxInt64}
	err := Frames(file, func(f *Frame) error {
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

// frame takes a frame in.
func (r *reading) frame(f *Frame) error {
	why, err := r.take(f)
	if why != "" {
		r.leave(why)
	}
	return err
}

func (r *reading) take(f *Frame) (why string, err error) {
	if ofWeir(f.On.Name) {
		return ofDrops, nil
	}
	if r.On != nil && !r.On(f.On.Name) {
		return otherOn, nil
	}
	if !f.Timed {
		return untimed, nil
	}
	h, why := f.header()
	if why != "" {
		return why, nil
	}
	for _, a := range [2]netip.Addr{h.src, h.dst} {
		if a.IsMulticast() || a.IsUnspecified() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return ofMany, nil
		}
	}
	if h.src == h.dst {
		return toItself, nil
	}
	x := item{Datagram: Datagram{Src: r.number(h.src), Dst: r.number(h.dst), Length: int32(h.length),
		Block: int32(f.Block)}}
	if why := r.transport(&h, &x); why != "" {
		return why, nil
	}
	since := f.Seconds - r.seconds
	if since > int64(Horizon.Seconds()) {
		return "", &BlockError{f.Block, f.Offset, fmt.Sprintf("the packet is %d s behind the first one; "+
			"up to %.0f s are possible", since, Horizon.Seconds())}
	}
	x.At = unit.Time(since)*unit.Second + f.Part - r.part
	r.on[f.On.Number] = true
	r.items = append(r.items, x)
	return "", nil
}

// ofWeir reports whether packets of an interface were dropped, or are none (Writer; captures of the lab).
func ofWeir(name string) bool {
	return len(name) > len(Drops) && name[len(name)-len(Drops):] == Drops ||
		len(name) > len(Changes) && name[len(name)-len(Changes):] == Changes
}

// number numbers addresses as they come.
func (r *reading) number(a netip.Addr) int32 {
	n, known := r.numbers[a]
	if !known {
		n = int32(len(r.numbers))
		r.numbers[a] = n
	}
	return n
}

// transport reads what is behind IP, as far as it is wanted.
func (r *reading) transport(h *header, x *item) (why string) {
	if !r.Selection.Flows && r.Port == 0 {
		return ""
	}
	if r.Selection.Flows && h.proto != packet.ProtoTCP {
		return notTCP
	}
	key := piece{x.Src, x.Dst, h.id}
	if h.fragment && h.at > 0 {
		first, known := r.first[key]
		if !known {
			return headless
		}
		x.segment = first.segment
		x.offset, x.payload = h.at-first.head, h.payload
		if x.offset < 0 {
			return damaged
		}
		return ""
	}
	switch {
	case h.proto == packet.ProtoTCP:
		if x.segment, why = h.segment(); why != "" {
			return why
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

// sorted sorts the addresses of what was taken, and returns the place of each by its number.
func (r *reading) sorted() []int32 {
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
	to := make([]int32, len(r.numbers))
	for i, a := range r.Addresses {
		to[r.numbers[a]] = int32(i)
	}
	return to
}

package packet

import "fmt"

// Framing defines the number of bytes of a link that a packet occupies, which Packet.Size counts. The zero value is
// not usable; take a profile from Framings.
type Framing struct {
	Name string
	// Fixed profiles replace the real headers: a data packet has Payload+Data bytes, every other packet Other bytes.
	// Zero: the real headers.
	Data, Other int32
	// Extra is added to every frame (preamble, FCS, gap), after padding to Min.
	Extra, Min int32
	// Cells defines how the link divides the frame into cells.
	Cells Cells
}

// Cells defines how a link divides frames into cells: not at all, or as DSL links do.
type Cells uint8

// The links of cake (tc-cake(8)): ATM carries 48 bytes in each cell of 53, and the last cell of a frame is padded
// (ITU-T I.361, §2). PTM adds a byte to each 64, counted from a frame's begin and rounded up.
const (
	Whole Cells = iota
	ATM
	PTM
)

const (
	cellPayload, cellBytes = 48, 53
	ptmBytes               = 64
)

// bytesOnLink returns the bytes of the link that a frame of n bytes occupies in cells; n itself with Whole.
func (c Cells) bytesOnLink(n int32) int32 {
	switch c {
	case ATM:
		return (n + cellPayload - 1) / cellPayload * cellBytes
	case PTM:
		return n + (n+ptmBytes-1)/ptmBytes
	}
	return n
}

// MaxOverhead is the maximum of an overhead or a minimum length in bytes (tc-cake(8)).
const MaxOverhead = 256

// LineFraming returns the framing of an operator's line, as cake counts it (sch_cake.c, cake_calc_overhead). overhead
// replaces the Ethernet header, frames shorter than minBytes count as minBytes, and the result is divided into cells.
func LineFraming(overhead, minBytes int32, cells Cells) Framing {
	extra := overhead - EthernetHeader
	return Framing{Name: fmt.Sprintf("overhead %d mpu %d %s", overhead, minBytes, cells), Extra: extra,
		Min: minBytes - extra, Cells: cells}
}

// String returns the name of c in CellNames. It panics for a value that is not one of the Cells.
func (c Cells) String() string { return CellNames[c] }

// CellNames are the names of Cells by value.
var CellNames = [...]string{"none", "atm", "ptm"}

// MinFrame returns the minimum number of bytes that a frame counts as.
func (f *Framing) MinFrame() int32 { return f.Cells.bytesOnLink(max(f.Min+f.Extra, 0)) }

// Header lengths in bytes.
const (
	EthernetHeader = 14
	IPv4Header     = 20
	IPv6Header     = 40
	UDPHeader      = 8
	TCPHeader      = 20
)

// IPHeader returns the length in bytes of the header of an IP version without options: IPv6's for 6, else IPv4's.
func IPHeader(version uint8) int32 {
	if version == 6 {
		return IPv6Header
	}
	return IPv4Header
}

// FrameBytes returns the bytes of a frame with this payload behind real headers of headers bytes (Ethernet to
// transport, extensions included). data means that it carries payload for its flow, which matters only to fixed
// profiles.
func (f *Framing) FrameBytes(headers, payload int32, data bool) int32 {
	n := headers + payload
	if f.Data > 0 {
		if n = f.Other; data {
			n = f.Data + payload
		}
	}
	n = max(n, f.Min) + f.Extra
	if f.Cells != Whole {
		n = f.Cells.bytesOnLink(n)
	}
	return n
}

// IsFixed reports whether frames have the same size with any headers.
func (f *Framing) IsFixed() bool { return f.Data > 0 }

// Framings are the profiles that a spec's framing key can name. l2 is a frame without FCS, as a queue of Linux counts
// it. wire adds 24 bytes (preamble 8, FCS 4, gap 12) to a frame of at least 60.
//
// The profiles of the HPCC simulator have 14 bytes of PPP, 20 of IP, 8 of UDP and 6 of the simulator's header before
// the payload. An acknowledgement has 14, 20 and 12 of the simulator's header, and is padded to 60 bytes. Both carry
// the telemetry of the run's CC_MODE (int-header.cc, rdma-hw.cc): 42 bytes with hpcc, so that acknowledgements have
// 88, 2 with hpcc_pint, a time stamp of 8 with hpcc_timely, and 0 with hpcc_plain. htsim counts 64 bytes of header and
// 64-byte acknowledgements.
var Framings = []Framing{
	{Name: "l2"},
	{Name: "wire", Extra: 24, Min: 60},
	{Name: "hpcc", Data: 48 + 42, Other: 14 + 20 + 12 + 42},
	{Name: "hpcc_pint", Data: 48 + 2, Other: 60},
	{Name: "hpcc_timely", Data: 48 + 8, Other: 60},
	{Name: "hpcc_plain", Data: 48, Other: 60},
	{Name: "htsim", Data: 64, Other: 64},
}

// FramingByName returns the profile with this name; false if there is no such profile.
func FramingByName(name string) (Framing, bool) {
	for _, f := range Framings {
		if f.Name == name {
			return f, true
		}
	}
	return Framing{}, false
}

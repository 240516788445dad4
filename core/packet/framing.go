package packet

// Framing says how many bytes of a link a packet occupies: what Size counts.
// The zero value is not usable; take a profile from Framings.
type Framing struct {
	Name string
	// Fixed profiles replace the real headers: a data packet is Payload+Data
	// bytes, every other packet Other bytes. Zero means: the real headers.
	Data, Other int32
	// Extra is added to every frame (preamble, FCS, gap), after padding to Min.
	Extra, Min int32
}

// Header lengths in bytes.
const (
	EthernetHeader = 14
	IPv4Header     = 20
	IPv6Header     = 40
	UDPHeader      = 8
	TCPHeader      = 20
)

// Frame returns the bytes of a frame with this payload behind real headers of
// headers bytes (Ethernet to transport, extensions included). data says that it
// carries payload for its flow, which matters only to fixed profiles.
func (f *Framing) Frame(headers, payload int32, data bool) int32 {
	n := headers + payload
	if f.Data > 0 {
		if n = f.Other; data {
			n = f.Data + payload
		}
	}
	return max(n, f.Min) + f.Extra
}

// Fixed reports whether frames do not grow by the headers that they have.
func (f *Framing) Fixed() bool { return f.Data > 0 }

// Framings are the profiles that a spec's framing key can name. l2 is a frame
// without FCS, what a queue of Linux counts; wire adds 24 bytes (preamble 8, FCS
// 4, gap 12) to a frame of at least 60. Those of the HPCC simulator have 14 bytes of PPP, 20 of
// IP, 8 of UDP and 6 of its own before the payload, and 14, 20 and 12 of its own in an
// acknowledgement, which is padded to 60 bytes. Both carry the telemetry of the run's CC_MODE
// (int-header.cc, rdma-hw.cc): 42 bytes with hpcc, so that its acknowledgements have 88, 2 with
// hpcc_pint, a time stamp of 8 with hpcc_timely, none with hpcc_plain. htsim counts 64 bytes of header
// and 64-byte acknowledgements.
var Framings = []Framing{
	{Name: "l2"},
	{Name: "wire", Extra: 24, Min: 60},
	{Name: "hpcc", Data: 48 + 42, Other: 14 + 20 + 12 + 42},
	{Name: "hpcc_pint", Data: 48 + 2, Other: 60},
	{Name: "hpcc_timely", Data: 48 + 8, Other: 60},
	{Name: "hpcc_plain", Data: 48, Other: 60},
	{Name: "htsim", Data: 64, Other: 64},
}

// FramingByName returns the profile with this name.
func FramingByName(name string) (Framing, bool) {
	for _, f := range Framings {
		if f.Name == name {
			return f, true
		}
	}
	return Framing{}, false
}

package measure

import (
	"math"

	"weir/core/cc"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
)

// Point has what measures need to know of a point of an experiment's sweep.
type Point struct {
	Network          *topology.Network
	Routes           *topology.Routes
	Framing          packet.Framing
	Events           []wiring.Event // changes to links, ascending by time
	Warmup, Duration unit.Time      // Duration is the length of the measured part
	Traffic          []Traffic
	Groups           []Group // of hosts, in the file's order
	Waits            *Waits  // limits of waiting in switches; nil: unknown
	pauses           *pauses // pauses by PFC; nil: no switch pauses
	NoPackets        bool    // an ideal network carries the messages of jobs
	Buffered         bool    // at some point a traffic has a send buffer
	Partial          bool    // errors were found, so parts may be missing
	// ResolveHosts returns the hosts of a name, a group, a pattern, or a list of them. It is set while options are read.
	ResolveHosts func(t *document.Node) []int
	// Scale has, by traffic, the number of a run's flows for each flow that a trial's configuration drew; nil: it drew
	// all flows.
	Scale []float64
}

// Group is a named set of hosts.
type Group struct {
	Name  string
	Hosts []int // nodes
}

// Traffic has what measures need to know of an entry of the traffic list.
type Traffic struct {
	Name       string
	Transport  *transport.Scheme
	Payload    int32
	Version    uint8 // of IP
	WeirStack  bool  // in the lab its hosts run Weir's own stack
	Start      unit.Time
	Sized      bool          // its flows have a size at some point of the sweep
	Collective bool          // its flows wait for each other
	Job        bool          // it is a job, and has no flows
	Ranks      []int         // the hosts of a job's ranks
	BusBytes   float64       // minimum of the bytes that each host moves in a collective operation; 0: unknown
	Sizes      *workload.CDF // the distribution that flow sizes are drawn from; nil: sizes are fixed
}

// End returns the end of the measured part.
func (p *Point) End() unit.Time { return p.Warmup + p.Duration }

// PortName returns the name of a port by its index in outcome.Result.Ports: "s1->server".
func (p *Point) PortName(port int) string { return p.Network.PortName(port/2, port%2) }

// windowedTraffics returns the names of the traffics with senders that have a window or a rate.
func (p *Point) windowedTraffics() (names []string) {
	for i := range p.Traffic {
		if p.Traffic[i].Transport.Gauged {
			names = append(names, p.Traffic[i].Name)
		}
	}
	return names
}

// kernelSender returns why the lab cannot measure something if senders of a traffic with a window are the kernel's:
// the reason why, followed by the traffic and the remedy; "" if no such sender is. A negative traffic checks all.
func (p *Point) kernelSender(traffic int, why string) string {
	for i := range p.Traffic {
		if t := &p.Traffic[i]; t.Transport.Gauged && !t.WeirStack && (traffic < 0 || traffic == i) {
			return why + " (traffic " + t.Name + "; stack: weir makes it available)"
		}
	}
	return ""
}

// idealFormula is the formula of Point.IdealFCT for documents.
const idealFormula = "2·Σ delay + Σ tx(frame) + (bytes of frames − frame)/slowest rate + Σ tx(ack), over the links " +
	"of a shortest path"

// IdealFCT returns the flow completion time of a flow that has the network to itself, with basic headers only and
// without the sender's handshake (HPCC §5.1). src and dst are NICs, between which a path must exist. size is in bytes
// and above 0.
func (p *Point) IdealFCT(src, dst int, size unit.Bytes, tr *Traffic) unit.Time {
	headers := tr.Headers()
	f := p.Framing
	payload := unit.Bytes(tr.Payload)
	first := int32(min(size, payload))
	frame := f.FrameBytes(tr.headersFor(first)+tr.Transport.First, first, true)
	ack := f.FrameBytes(tr.headersFor(0)+tr.Transport.Reply, 0, false)
	bytes := float64(size/payload) * float64(f.FrameBytes(headers, tr.Payload, true))
	if rest := size % payload; rest > 0 {
		bytes += float64(f.FrameBytes(tr.headersFor(int32(rest)), int32(rest), true))
	}
	bytes += float64(frame - f.FrameBytes(tr.headersFor(first), first, true))
	var total unit.Time
	slowest := 0.0 // seconds per byte
	links, _ := p.Routes.FindPath(src, dst)
	for _, i := range links {
		l := &p.Network.Links[i]
		one, both := 0.0, 0.0 // seconds for the frame, and for frame and acknowledgement
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

// Headers returns the bytes of a full packet's headers, from Ethernet's on, and of its padding.
func (tr *Traffic) Headers() int32 { return tr.headersFor(tr.Payload) }

// MaxHeaders returns the bytes of headers and padding of a full first packet of a flow, which may have more headers
// than others.
func (tr *Traffic) MaxHeaders() int32 { return tr.Headers() + tr.Transport.First }

// headersFor returns the bytes of headers and padding of a packet with the given payload in bytes.
func (tr *Traffic) headersFor(payload int32) int32 {
	n := packet.EthernetHeader + packet.IPv4Header + tr.Transport.Headers
	if tr.Version == 6 {
		n += packet.IPv6Header - packet.IPv4Header
	}
	if over := payload % max(tr.Transport.Multiple, 1); over > 0 {
		n += tr.Transport.Multiple - over
	}
	return n
}

// Host returns the node of a NIC. outcome.Load.Flows names ends by NIC (topology.NICs).
func (p *Point) Host(nic int) int { return p.Routes.NICs().HostOf(nic) }

// Path returns what a flow's endpoints may know about the path between two NICs, which must exist. Without Waits its
// queueing is 0. Times are for a full packet.
func (p *Point) Path(src, dst int, tr *Traffic) cc.Path {
	links, _ := p.Routes.FindPath(src, dst)
	nic := p.Network.Links[links[0]].Rate.Bits
	frame := p.Framing.FrameBytes(tr.Headers(), tr.Payload, true)
	path := cc.Path{NICRate: nic, LineRate: unit.Rate(float64(nic) * float64(tr.Payload) / float64(frame)),
		ReceiverRate: p.Network.Links[links[len(links)-1]].Rate.Bits,
		BaseRTT:      p.IdealFCT(src, dst, unit.Bytes(tr.Payload), tr), Hops: len(links) - 1}
	if w := p.Waits; w != nil {
		path.MaxQueueing, path.Reorders, path.Uneven = p.MaxQueueing(src, dst, nil), w.Reorders, w.uneven
	}
	return path
}

// BDP returns the bandwidth-delay product of a flow's path in bytes: base RTT times the rate at which the slowest link
// carries payload. src and dst are NICs, between which a path must exist.
func (p *Point) BDP(src, dst int, tr *Traffic) float64 {
	frame := p.Framing.FrameBytes(tr.Headers(), tr.Payload, true)
	rate := math.Inf(1) // bytes/s
	links, _ := p.Routes.FindPath(src, dst)
	for _, i := range links {
		r := p.Network.Links[i].Rate
		if r.Bits > 0 {
			rate = min(rate, float64(r.Bits)/8*float64(tr.Payload)/float64(frame))
		} else {
			rate = min(rate, float64(r.Packets)*float64(tr.Payload))
		}
	}
	return rate * p.Path(src, dst, tr).BaseRTT.Seconds()
}

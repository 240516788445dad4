package ndp

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Queues of a port, by number: headers and control packets; data.
const (
	headers tm.QueueID = 0
	data    tm.QueueID = 1
)

// Config holds the parameters of the program.
type Config struct {
	Data           int        // max packets in the data queue
	Headers        unit.Bytes // of the header queue; 0: the size of Data full packets
	ReturnToSender bool       // a packet that finds the header queue full is returned, once
	TrimTail       float64    // probability that the last packet in the queue is trimmed, not the arriving one
}

// Traits returns that the program trims, and drops where queues grow. It cannot run standalone, because hosts must
// support trimmed packets.
func (c *Config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.NotifiesHosts, DropsEarly: true, LimitsQueues: true, Trims: true,
		MaxBacklog: c.maxBacklog}
}

// Params binds the options of ndp to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Packets(&c.Data, "data", "8 packets", "maximum data packets in the queue; further packets are trimmed; raise it "+
		"if links are idle while packets are trimmed",
		"NDP §3.1, §6.1").Min("1 packet").Max("1000000 packets")
	p.Size(&c.Headers, "headers", "0 B", "maximum bytes of headers and control packets in the queue; 0 B: as many as "+
		"the data queue holds in packets of full size",
		"NDP §3.2.4: the same memory, 8 packets of 9 KB or 1125 headers of 64 B")
	p.Bool(&c.ReturnToSender, "return_to_sender", "true",
		"return a trimmed packet that finds the header queue full to its sender, once; false: drop it", "NDP §3.2.4")
	p.Share(&c.TrimTail, "trim_tail", "50%",
		"probability that the last packet in the queue is trimmed and the arriving packet takes its place",
		"NDP §3.1: breaks phase effects").Min("0%").Max("100%")
}

// headersPerData is the number of full packets' times that a data packet may wait for headers under strict priority,
// since ten headers precede one packet.
const headersPerData = 16

// maxBacklog returns the packets of the data queue and the headers that precede them, or the headers and the data that
// precedes them, if that is more. In either case a turn may have begun already. frame is a full packet in bytes, and
// turns are the scheduler's (TurnsFactors); unless there are two, the port has strict priority.
func (c *Config) maxBacklog(frame unit.Bytes, turns []int64) dataplane.Backlog {
	data := unit.Bytes(c.Data) * frame
	if len(turns) != 2 {
		return dataplane.Backlog{Bytes: headersPerData * data}
	}
	headers := c.Headers
	if headers == 0 {
		headers = data
	}
	ofHeaders, ofData := dataplane.TurnsFactors(frame, turns)
	most := max(ofHeaders*float64(headers), ofData*float64(data))
	return dataplane.Backlog{Bytes: unit.Bytes(most) + frame*unit.Bytes(turns[0]+turns[1])}
}

// Scheme returns the scheme of the program ndp. A program before it chooses the port, and each port has two queues:
// switch: [ecmp, ndp], with queues: 2.
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{
		Name: "ndp", Doc: "trims packets: headers and control in queue 0, a short data queue 1; returns headers to the " +
			"sender if queue 0 is full",
		Source: "NDP (SIGCOMM 2017) §3.1, §3.2.4"}, New)
}

// Program is NDP's switch.
type Program struct {
	config   Config
	trimmed  uint64
	returned uint64
}

// New returns the program. It fails unless ports have two queues. If Headers is 0, it becomes the size of Data full
// packets; an unknown full size counts as 1514 bytes.
func New(site *dataplane.Site, c Config) (*Program, error) {
	if site.Queues != 2 {
		return nil, fmt.Errorf("ndp needs two queues a port (queues: 2), for headers and data; there are %d",
			max(site.Queues, 1))
	}
	if c.Headers == 0 {
		largest := site.MaxFrame
		if largest == 0 {
			largest = 1514
		}
		c.Headers = unit.Bytes(c.Data) * unit.Bytes(largest)
	}
	return &Program{config: c}, nil
}

// Name returns "ndp".
func (n *Program) Name() string { return "ndp" }

// maxHeaderSize is the max Size of a packet without payload: headers of IPv6 and of a transport, and
// packet.MaxExtensionBytes.
const maxHeaderSize = 256

// isHeader reports whether a packet is a trimmed one: data without payload. The wire has no other sign of it.
func isHeader(p *packet.Packet) bool {
	return p.Kind == packet.Data && p.Size <= maxHeaderSize && p.Payload == 0
}

// Ingress sets the packet's class to its queue. Headers, acknowledgements and pulls precede data (NDP §3.1, §3.2). It
// overwrites the class of programs before it.
func (n *Program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = data
	if p.Kind != packet.Data || isHeader(p) {
		p.Meta.Class = headers
	}
	return dataplane.Accept
}

// Admit trims a packet that finds the data queue full, or at random the queue's last one instead (NDP §3.1), and counts
// it. It returns headers that find their queue full (NDP §3.2.4). The port's own limits count like the queues'. Data
// that must not be trimmed is dropped as QueuePacketLimit.
func (n *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	port := env.Port(m.Out)
	if m.Queue == headers {
		if port.Queue(headers).Bytes()+unit.Bytes(p.Size) <= n.config.Headers && port.Fits(headers, p.Size) == tm.Fits {
			return dataplane.Accept
		}
		return n.handleOverflow(env, p)
	}
	q := port.Queue(data)
	if int(q.Packets()) < n.config.Data && port.Fits(data, p.Size) == tm.Fits {
		return dataplane.Accept
	}
	if tail := q.Tail(); tail != nil && tail.MayTrim() && env.Random().Float64() < n.config.TrimTail {
		n.trimmed++
		env.TrimTail(m.Out, data)
		if port.Fits(data, p.Size) == tm.Fits { // otherwise the tail was shorter
			return dataplane.Accept
		}
	}
	if !p.MayTrim() {
		return dataplane.Drop(dataplane.QueuePacketLimit)
	}
	n.trimmed++
	return dataplane.Trim
}

// handleOverflow drops a packet without room in the header queue. A trimmed data packet is dropped as Returned, if
// configured and possible, and a copy goes back to its sender through the switch; otherwise as TrimFailed. Other
// packets are dropped as QueueByteLimit.
func (n *Program) handleOverflow(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	switch {
	case p.Kind != packet.Data:
		return dataplane.Drop(dataplane.QueueByteLimit)
	case !n.config.ReturnToSender || p.Proto != packet.ProtoOwn || !p.MayTrim(): // a returned packet is not trimmable
		return dataplane.Drop(dataplane.TrimFailed)
	}
	n.returned++
	back := env.ClonePacket(p, true)
	back.SwapEnds()
	back.TCP.Flags = back.TCP.Flags&^packet.Trimmable | packet.Returned
	env.InjectPacket(back)
	return dataplane.Drop(dataplane.Returned)
}

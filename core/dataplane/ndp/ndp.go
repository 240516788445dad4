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
	Headers tm.QueueID = 0
	Data    tm.QueueID = 1
)

// Config are the parameters of the program.
type Config struct {
	Data           int32      // packets that wait in the data queue at most, at least 1
	Headers        unit.Bytes // of the header queue, above 0
	ReturnToSender bool       // what finds the header queue full goes back once
	// probability with which the packet queued last is trimmed in place of the one that comes, 0 … 1
	TrimTail float64
}

// Scheme is what an experiment names: switch: [ecmp, ndp], with queues: 2.
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{
			Name: "ndp", Doc: "trims packets: headers and control in queue 0, a short data queue 1; return to sender",
			Source: "NDP (SIGCOMM 2017) §3.1, §3.2.4",
			Params: []scheme.Param{
				{Name: "data", Kind: scheme.Packets, Default: "8 packets", Min: "1 packet", Max: "1000000 packets",
					Doc: "data packets that wait at most; what comes beyond is trimmed", Source: "NDP §3.1, §6.1"},
				{Name: "headers", Kind: scheme.Size, Default: "0 B",
					Doc: "bytes of headers and control packets that wait at most; 0 B: as many as the data queue holds in packets " +
						"of full size", Source: "NDP §3.2.4: the same memory, 8 packets of 9 KB or 1125 headers of 64 B"},
				{Name: "return_to_sender", Kind: scheme.Bool, Default: "true",
					Doc:    "a trimmed packet that finds the header queue full goes back to its sender, once; else it is dropped",
					Source: "NDP §3.2.4"},
				{Name: "trim_tail", Kind: scheme.Share, Default: "50%", Min: "0%", Max: "100%",
					Doc:    "probability that the packet queued last is trimmed, and the one that comes takes its place",
					Source: "NDP §3.1: breaks phase effects"},
			},
		},
		NeedsNetwork: dataplane.Always(dataplane.NotifiesHosts),
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			c := Config{Data: int32(v.Int("data")), Headers: v.Bytes("headers"), ReturnToSender: v.Bool("return_to_sender"),
				TrimTail: v.Float("trim_tail")}
			if c.Headers == 0 {
				largest := site.MaxFrame
				if largest == 0 {
					largest = 1514
				}
				c.Headers = unit.Bytes(c.Data) * unit.Bytes(largest)
			}
			p, err := New(site, c)
			if err != nil {
				return nil, err
			}
			return p, nil
		},
	}
}

// Program is NDP's switch.
type Program struct {
	config   Config
	trimmed  uint64
	returned uint64
}

// New returns the program for a switch whose ports have two queues.
func New(site *dataplane.Site, c Config) (*Program, error) {
	switch {
	case site.Queues != 2:
		return nil, fmt.Errorf("ndp needs two queues a port (queues: 2), for headers and data; there are %d",
			max(site.Queues, 1))
	case c.Data < 1 || c.Headers < 1:
		return nil, fmt.Errorf("ndp: data %d packets, headers %d B; both must be above 0", c.Data, c.Headers)
	case !(c.TrimTail >= 0 && c.TrimTail <= 1):
		return nil, fmt.Errorf("ndp: trim_tail %g; 0 to 1 is possible", c.TrimTail)
	}
	return &Program{config: c}, nil
}

// Name is "ndp".
func (n *Program) Name() string { return "ndp" }

// Trimmed and Returned are how many packets were trimmed, and of these sent back.
func (n *Program) Trimmed() uint64  { return n.trimmed }
func (n *Program) Returned() uint64 { return n.returned }

// mostHeader is the Size up to which a packet may be one without payload: headers of
// IPv6 and of a transport, and MostExtensions.
const mostHeader = 256

// header tells whether a packet is a trimmed one: data without payload. The wire has no
// other sign of it.
func header(p *packet.Packet) bool {
	return p.Kind == packet.Data && p.Size <= mostHeader && p.Payload == 0
}

// Ingress gives the packet the class of its queue: headers, acknowledgements and pulls go
// before data (NDP §3.1, §3.2).
func (n *Program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = Data
	if p.Kind != packet.Data || header(p) {
		p.Meta.Class = Headers
	}
	return dataplane.Accept
}

// Admit trims what finds the data queue full, or in its place the packet that came
// last (NDP §3.1), and sends headers back that find theirs full (§3.2.4). The port's own
// limits count like the queues'.
func (n *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	port := env.Port(m.Out)
	if m.Queue == Headers {
		if port.Queue(Headers).Bytes()+unit.Bytes(p.Size) <= n.config.Headers && port.Fits(Headers, p.Size) == tm.Fits {
			return dataplane.Accept
		}
		return n.overflow(env, p)
	}
	q := port.Queue(Data)
	if q.Packets() < n.config.Data && port.Fits(Data, p.Size) == tm.Fits {
		return dataplane.Accept
	}
	if tail := q.Tail(); tail != nil && trimmable(tail) && env.Random().Float64() < n.config.TrimTail {
		n.trimmed++
		env.TrimTail(m.Out, Data)
		if port.Fits(Data, p.Size) == tm.Fits { // else the tail was shorter
			return dataplane.Accept
		}
	}
	if !trimmable(p) {
		return dataplane.Drop(dataplane.QueuePacketLimit)
	}
	n.trimmed++
	return dataplane.Trim
}

// trimmable tells whether a packet is of a transport that knows trimming.
func trimmable(p *packet.Packet) bool {
	return p.TCP.Flags&packet.Trimmable != 0 && p.Proto == packet.ProtoRDMA
}

// overflow is what happens to a packet that the header queue has no room for.
func (n *Program) overflow(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	switch {
	case p.Kind != packet.Data:
		return dataplane.Drop(dataplane.QueueByteLimit)
	case !n.config.ReturnToSender || !trimmable(p): // one that was sent back is not trimmable
		return dataplane.Drop(dataplane.TrimFailed)
	}
	n.returned++
	back := env.Clone(p, true)
	back.TurnRound()
	back.TCP.Flags = back.TCP.Flags&^packet.Trimmable | packet.Returned
	env.Inject(back)
	return dataplane.Drop(dataplane.Returned)
}

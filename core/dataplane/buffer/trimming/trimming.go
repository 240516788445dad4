package trimming

import (
	"fmt"
	"math"

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

// Config holds the parameters of the program.
type Config struct {
	RTT       unit.Time // of the network
	Rate      unit.Rate // of the ports with unscaled Queue, Kmin and Kmax; 0: of the network's fastest links
	Queue     float64   // of data, in products of Rate and RTT
	Headers   float64   // of headers and control packets, in data queues
	Kmin      float64   // shares of the data queue
	Kmax      float64
	TrimTail  float64
	Trim      bool
	MarkHosts bool
}

// Traits returns that the program trims if Trim is set, marks unless kmin is beyond the queue, always drops where
// queues grow, and has queues with limits of their own. It cannot run standalone, because hosts must support trimmed
// packets. Traits also has the max queueing delay and the max backlog of a port.
func (c *Config) Traits() dataplane.Traits {
	t := dataplane.Traits{WhyNotStandalone: dataplane.NotifiesHosts, DropsEarly: true, LimitsQueues: true, Trims: c.Trim,
		MaxQueueDelay: unit.Time(c.Queue * float64(c.RTT)), MaxBacklog: c.maxBacklog}
	if c.Kmin <= c.Queue {
		t.MarksFrom = func(rate unit.Rate) unit.Bytes { return unit.Bytes(c.Kmin * float64(rate.BytesIn(c.RTT))) }
	}
	return t
}

// maxBacklog returns, as a time, twice the content of both queues of a port: data waits while headers are sent, and
// headers wait while data is. With turns it is twice the longer of both waits. frame is a full packet in bytes, and
// turns are the scheduler's (TurnsFactors).
func (c *Config) maxBacklog(frame unit.Bytes, turns []int64) dataplane.Backlog {
	factor := 1 + c.Headers
	if len(turns) == 2 {
		ofHeaders, ofData := dataplane.TurnsFactors(frame, turns)
		factor = max(ofHeaders*c.Headers, ofData)
	}
	return dataplane.Backlog{Wait: 2 * unit.Time(factor*c.Queue*float64(c.RTT))}
}

// simulator is the prefix of the sources of the defaults.
const simulator = "UEC htsim compositequeue.cpp: "

// Params binds the options of trimming to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Time(&c.RTT, "rtt", "12us", "longest round-trip time of a full frame in the network without queues",
		"UEC htsim uec.cpp: the reference network's").Min("10ns").Max("1s")
	p.Rate(&c.Rate, "rate", "0bps", "rate of a port to which the queue's size applies; the size scales in proportion "+
		"at other rates; 0bps: the rate of the network's fastest links", "Weir")
	p.Float(&c.Queue, "queue", "1", "size of the data queue, including the packet on the wire, in products of rate "+
		"and rtt, rounded up to whole packets", "UEC htsim main_uec.cpp: 1 with trimming, 5 without").Above("0").Max("10000")
	p.Float(&c.Headers, "headers", "2", "size of the queue of headers and control packets, in multiples of the data "+
		"queue",
		simulator+"2").Above("0").Max("1000")
	p.Share(&c.Kmin, "kmin", "20%", "share of a queue of one product up to which no packet is marked",
		"UEC htsim main_uec.cpp: 0.2").Min("0%").Max("10000%")
	p.Share(&c.Kmax, "kmax", "80%", "share of a queue of one product above which every packet is marked",
		"UEC htsim main_uec.cpp: 0.8").Min("0%").
		Max("10000%")
	p.Share(&c.TrimTail, "trim_tail", "50%",
		"probability that the last packet in the queue is trimmed and the arriving packet takes its place",
		simulator+"a fair coin").Min("0%").Max("100%")
	p.Bool(&c.Trim, "trim", "true", "trim data packets that find the data queue full; false: drop them", simulator+"on")
	p.Bool(&c.MarkHosts, "mark_hosts", "true", "mark data packets also at ports to hosts; false: as with control by "+
		"the receiver alone", "UEC htsim main_uec.cpp: with control by senders")
	p.AddRule("kmin", func() error {
		if c.Kmin > c.Kmax {
			return fmt.Errorf("%g of the queue is above kmax (%g); allowed: at most kmax", c.Kmin, c.Kmax)
		}
		return nil
	})
}

// Scheme returns the scheme of the program trimming, which needs a program before it that chooses the port, and two
// queues: switch: [ecmp, trimming], with queues: 2.
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "trimming",
		Doc:    "trims packets for uet: headers and control in queue 0, data in queue 1; marks departing data packets",
		Source: "UEC htsim compositequeue.cpp; NDP (SIGCOMM 2017) §3.1"}, New)
}

// Program is the switch.
type Program struct {
	config  Config
	frame   float64 // bytes of a full packet
	rate    float64 // for which Config's queue is meant
	ports   []port
	random  unit.Random
	trimmed uint64
	marked  uint64
}

// port is the state of one port, in one cache line.
type port struct {
	rate          unit.Rate // for which the limits are computed; unknown: not yet
	perByte       unit.Time // time of a byte at that rate; 0: it is no whole number
	data          unit.Bytes
	headers       unit.Bytes
	kmin, kmax    unit.Bytes
	wireBusyUntil unit.Time // when the wire is free of the data packet that departed last
	wireSize      int32
	toHost        bool
}

// unknown is the rate of a port that has had no packet yet.
const unknown unit.Rate = -1

// New returns the program. It fails unless ports have two queues and a rate is known. An unknown full frame counts as
// 1514 bytes. If Rate is 0, the rate is the fastest link's.
func New(site *dataplane.Site, c Config) (*Program, error) {
	if site.Queues != 2 {
		return nil, fmt.Errorf("trimming needs two queues a port (queues: 2), for headers and data; there are %d",
			max(site.Queues, 1))
	}
	x := &Program{config: c, frame: float64(site.MaxFrame), rate: float64(c.Rate), ports: make([]port, site.Ports),
		random: site.Random("trimming")}
	if x.frame == 0 {
		x.frame = 1514
	}
	for _, rate := range site.Rates {
		if c.Rate == 0 {
			x.rate = max(x.rate, float64(rate))
		}
	}
	for i := range x.ports {
		x.ports[i].rate = unknown
	}
	for i := range site.Lines {
		x.ports[i].toHost = !site.Lines[i].Switch
		if x.rate == 0 {
			x.rate = float64(site.Lines[i].Rate.Bits)
		}
	}
	if x.rate == 0 {
		return nil, fmt.Errorf("trimming needs links with rates in bit/s, or a rate of its own")
	}
	return x, nil
}

// Name returns "trimming".
func (x *Program) Name() string { return "trimming" }

// setLimits computes p's limits of both queues and of marking, and its time per byte, for a rate of its link. Rate 0, a
// port in packets/s, counts as the program's own rate.
func (x *Program) setLimits(p *port, rate unit.Rate) {
	p.rate = rate
	rate = x.effectiveRate(rate)
	whole := func(packets float64) float64 { return math.Ceil(packets-1e-9) * x.frame }
	product := math.Ceil(x.config.RTT.Seconds() * x.rate / 8 / x.frame)
	share := float64(rate) / x.rate
	line := unit.NewSerialiser(unit.LinkRate{Bits: rate})
	p.perByte = line.TimePerByte()
	p.data = max(unit.Bytes(whole(x.config.Queue*product)*share), 1)
	p.headers = unit.Bytes(float64(p.data) * x.config.Headers)
	p.kmin, p.kmax = unit.Bytes(whole(x.config.Kmin*product)*share), unit.Bytes(whole(x.config.Kmax*product)*share)
}

// effectiveRate returns the rate of a port, or the program's rate if the port's is not in bit/s.
func (x *Program) effectiveRate(rate unit.Rate) unit.Rate {
	if rate == 0 {
		rate = unit.Rate(x.rate)
	}
	return rate
}

// maxHeaderSize is the max Size of a packet without payload: headers of IPv6 and of a transport, and
// packet.MaxExtensionBytes.
const maxHeaderSize = 256

// isHeader reports whether a packet has no payload: a trimmed one, or a control packet. A packet's length is in a
// cache line that is loaded anyway; its payload is not.
func isHeader(p *packet.Packet) bool {
	return p.Kind != packet.Data || p.Size <= maxHeaderSize && p.Payload == 0
}

// Ingress sets the packet's class to its queue: Headers for packets without payload, and Data for others. It accepts
// every packet.
func (x *Program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = Data
	if isHeader(p) {
		p.Meta.Class = Headers
	}
	return dataplane.Accept
}

// bytesOnWire returns the bytes of a data packet that has left its queue and is still being sent. They count as
// waiting.
func (p *port) bytesOnWire(now unit.Time) unit.Bytes {
	if now < p.wireBusyUntil {
		return unit.Bytes(p.wireSize)
	}
	return 0
}

// HasRoom reports whether packet p, of queue m.Queue, fits at now into port t, which is m.Out, within the program's
// limits and t's own. If the port's rate has changed, it computes the program's limits first.
func (x *Program) HasRoom(now unit.Time, t *tm.Port, p *packet.Packet) bool {
	m := &p.Meta
	at := &x.ports[m.Out]
	if rate := t.Rate().Bits; rate != at.rate {
		x.setLimits(at, rate)
	}
	waits, most := unit.Bytes(p.Size), at.headers
	if m.Queue != Headers {
		waits, most = waits+at.bytesOnWire(now), at.data
	}
	return t.Queue(m.Queue).Bytes()+waits <= most && (!t.IsBounded() || t.Fits(m.Queue, p.Size) == tm.Fits)
}

// Admit trims data without room, or at random the last packet of the queue in its place, and counts it. A trimmed
// packet without room is dropped as TrimFailed. Control packets, and data that must not be trimmed, are dropped as
// QueueByteLimit.
func (x *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if x.HasRoom(env.Now(), env.Port(m.Out), p) {
		return dataplane.Accept
	}
	switch {
	case m.Queue == Headers && p.Kind == packet.Data:
		return dataplane.Drop(dataplane.TrimFailed)
	case m.Queue == Headers, !x.config.Trim:
		return dataplane.Drop(dataplane.QueueByteLimit)
	}
	t, at := env.Port(m.Out), &x.ports[m.Out]
	if tail := t.Queue(Data).Tail(); tail != nil && tail.MayTrim() && x.random.Float64() < x.config.TrimTail {
		x.recordTrim(at, tail)
		env.TrimTail(m.Out, Data)
		if t.Fits(Data, p.Size) == tm.Fits {
			return dataplane.Accept
		}
	}
	if !p.MayTrim() {
		return dataplane.Drop(dataplane.QueueByteLimit)
	}
	x.recordTrim(at, p)
	return dataplane.Trim
}

// recordTrim counts a packet that will be trimmed at a port. If the port leads to a host, it sets LastHop in a packet
// of Weir's own protocols.
func (x *Program) recordTrim(egress *port, p *packet.Packet) {
	x.trimmed++
	if egress.toHost && p.Proto == packet.ProtoOwn {
		p.TCP.Flags |= packet.LastHop
	}
}

// Egress marks data by the queue behind it at the time when it has left the wire, and records that time
// (MarkDeparting). It accepts every packet.
func (x *Program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if m := &p.Meta; m.Queue == Data {
		x.MarkDeparting(env.Now(), env.Port(m.Out), p)
	}
	return dataplane.Accept
}

// MarkDeparting sets CE in data packet p, which departs at now from port t (p.Meta.Out), with a probability by the
// queue behind it and its own size. It records when p will have left the wire. If the port's rate has changed, it
// computes the limits first.
func (x *Program) MarkDeparting(now unit.Time, t *tm.Port, p *packet.Packet) {
	at := &x.ports[p.Meta.Out]
	if rate := t.Rate().Bits; rate != at.rate {
		x.setLimits(at, rate)
	}
	size := unit.Bytes(p.Size)
	if at.wireSize = p.Size; at.perByte > 0 {
		now += unit.Time(size) * at.perByte
	} else {
		now += unit.TransmitTime(size, x.effectiveRate(at.rate))
	}
	at.wireBusyUntil = now
	// The queue at the time when the packet has left the wire is not known yet. On average it grows by the packet's
	// length.
	left := t.Queue(Data).Bytes() + size
	if left <= at.kmin || p.TOS&packet.ECN == packet.NotECT || at.toHost && !x.config.MarkHosts {
		return
	}
	if left > at.kmax || x.random.Float64()*float64(at.kmax-at.kmin) < float64(left-at.kmin) {
		p.TOS |= packet.CE
		x.marked++
	}
}

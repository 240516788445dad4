package udp

import (
	"fmt"
	"math"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// Patterns of sending.
const (
	CBR     = "cbr"     // one datagram a gap, each gap jittered
	Burst   = "burst"   // every interval all datagrams that the rate has earned, as iperf3 does
	Poisson = "poisson" // exponential gaps
	OnOff   = "onoff"   // cbr while on; on and off times exponential
)

// gapsPerOn limits the number of on times in a gap: each is drawn.
const gapsPerOn = 10_000

// Config is the configuration of a sender without congestion control.
type Config struct {
	Rate      unit.Rate // of payload
	Pattern   string
	GapJitter float64   // cbr, onoff: each gap × (1 + U(−j, j)), j in [0, 1]
	Interval  unit.Time // burst: time between bursts
	On, Off   unit.Time // onoff: mean lengths
	Weir      bool      // in the lab the hosts are Weir's own
}

// Params binds the options of udp to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Rate(&c.Rate, "rate", "", "rate of payload", "Weir").Required().Min("1bps")
	p.Text(&c.Pattern, "pattern", CBR, "times of datagrams; cbr: constant rate; burst: in bursts every interval; "+
		"poisson: exponential gaps; onoff: constant rate in exponential on periods",
		"P4-ABC §6.2.1: CBR").Words(CBR, Burst, Poisson, OnOff)
	p.Share(&c.GapJitter, "gap_jitter", "10%", "maximum random deviation of each gap, uniformly distributed; 0%: "+
		"senders can synchronise (phase lock)", "Weir: prevents phase lock").Min("0%").Max("100%").
		When("pattern: cbr or onoff", func() bool { return c.Pattern == CBR || c.Pattern == OnOff })
	p.Time(&c.Interval, "interval", "1ms", "with pattern: burst: time between bursts",
		"iperf3: pacing timer").Min("1ns").
		When("pattern: burst", func() bool { return c.Pattern == Burst })
	p.Time(&c.On, "on", "100ms", "with pattern: onoff: mean on time, exponentially distributed", "Weir").Min("1us").
		When("pattern: onoff", func() bool { return c.Pattern == OnOff })
	p.Time(&c.Off, "off", "100ms", "with pattern: onoff: mean off time, exponentially distributed", "Weir").Min("1us").
		When("pattern: onoff", func() bool { return c.Pattern == OnOff })
	transport.BindStack(p, &c.Weir)
}

// Traits returns the rate of datagrams, and which hosts run it in the lab.
func (c *Config) Traits() transport.Traits {
	return transport.Traits{AppRate: c.Rate, OwnStack: c.Weir}
}

var warnPhase = scheme.WarningKind{ID: "udp-phase",
	Condition: "gap_jitter is 0 with pattern: cbr or onoff, so that senders of the same rate keep their phase"}

// Warns returns a remark if gaps have no jitter, so that senders of the same rate keep their phase.
func (c *Config) Warns() []scheme.Remark {
	if c.GapJitter == 0 && (c.Pattern == CBR || c.Pattern == OnOff) {
		return []scheme.Remark{warnPhase.NewRemark("gap_jitter", "senders of the same rate keep their phase, and at a full "+
			"queue the "+
			"same one may lose every time (phase lock)")}
	}
	return nil
}

// Scheme returns the transport udp.
func Scheme() transport.Scheme {
	return transport.Define(transport.Scheme{
		Scheme: scheme.Scheme{Name: "udp", Doc: "datagrams at a given rate without congestion control",
			Source: "P4-ABC §6.2.1", Warnings: []scheme.WarningKind{warnPhase}},
		Headers: packet.UDPHeader, Kernel: packet.ProtoUDP, Proto: packet.ProtoUDP, Captured: capturedScheme(),
	}, New)
}

// New makes the endpoints of a flow. It returns an error for a payload outside 1 … 65,507 bytes, or on times that are
// too short compared with a gap. A stop of 0 means no stop.
func New(f transport.Flow, c Config) (*Sender, *Receiver, error) {
	if f.Payload < 1 || f.Payload > 65507 {
		return nil, nil, fmt.Errorf("transport udp: payload %d; allowed: 1 … 65507 bytes", f.Payload)
	}
	if c.Pattern == OnOff && unit.TransmitTime(unit.Bytes(f.Payload), c.Rate)/gapsPerOn > c.On {
		return nil, nil, fmt.Errorf("transport udp: on %v is less than 1/%d of the gap between datagrams at rate %v", c.On,
			gapsPerOn, c.Rate)
	}
	s := &Sender{flow: f, config: c, dueAt: f.Start, headers: ownHeaders(f.Version),
		hash: packet.FlowHash(f.Src, f.Dst, f.SrcPort, f.DstPort, packet.ProtoUDP),
		gap:  unit.NewSerialiser(unit.LinkRate{Bits: c.Rate})}
	if f.Stop == 0 {
		s.flow.Stop = unit.Never
	}
	s.counters.Finished = unit.Never
	switch c.Pattern {
	case Burst:
		s.earnedFrom = f.Start
	case OnOff:
		s.onUntil = addTime(f.Start, s.drawExponential(c.On))
	}
	if s.dueAt >= s.flow.Stop {
		s.dueAt = unit.Never
	}
	r := &Receiver{size: f.Size, highest: -1}
	r.counters.Finished, r.counters.DelayMin = unit.Never, unit.Never
	return s, r, nil
}

// Sender sends datagrams on a schedule. The schedule does not wait for the NIC: a delayed datagram is sent as soon as
// the NIC is free, and the next gap counts from the time in the schedule. So the rate is exact in the long run unless
// the NIC itself is slower.
type Sender struct {
	flow     transport.Flow
	config   Config
	dueAt    unit.Time // when the next datagram is due
	gap      unit.Serialiser
	headers  int32
	hash     uint32
	sent     int64 // datagrams
	left     int64 // burst: datagrams left of this burst
	onUntil  unit.Time
	counters transport.Counters

	earnedFrom unit.Time // burst: start of the schedule
}

// Config returns the configuration.
func (s *Sender) Config() Config { return s.config }

// drawExponential draws an exponential time of at least a picosecond; unit.Never where it is beyond the range of Time.
func (s *Sender) drawExponential(mean unit.Time) unit.Time {
	x := math.Round(s.flow.Random.ExpFloat64() * float64(mean))
	if x >= float64(unit.Never) {
		return unit.Never
	}
	return max(1, unit.Time(x))
}

// addTime returns t + d; unit.Never where that is beyond the range of Time.
func addTime(t, d unit.Time) unit.Time {
	if d > unit.Never-t {
		return unit.Never
	}
	return t + d
}

// nextPayload returns the payload of the next datagram, 0 when the flow is complete.
func (s *Sender) nextPayload() int32 {
	if s.flow.Size == 0 {
		return s.flow.Payload
	}
	return int32(min(unit.Bytes(s.flow.Payload), s.flow.Size-s.counters.SentBytes))
}

// NextSend returns when the next datagram is due.
func (s *Sender) NextSend() unit.Time { return s.dueAt }

// Emit fills p with the next datagram, counts it, and advances the schedule.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	payload := s.nextPayload()
	p.Kind = packet.Data
	p.Seq = s.sent
	p.Payload = payload
	p.Size = s.flow.Framing.FrameBytes(s.headers, payload, true)
	p.Hash = s.hash
	p.SrcPort, p.DstPort = s.flow.SrcPort, s.flow.DstPort
	p.Proto, p.Version, p.TOS, p.HopLimit = packet.ProtoUDP, s.flow.Version, s.flow.TOS, 64
	s.sent++
	s.counters.SentPackets++
	s.counters.SentBytes += unit.Bytes(payload)
	s.scheduleNext(payload)
	if s.nextPayload() == 0 {
		s.counters.Finished = now
		s.dueAt = unit.Never
	}
	if s.dueAt >= s.flow.Stop {
		s.dueAt = unit.Never
	}
}

// scheduleNext moves dueAt to the next datagram, after one with this payload; unit.Never beyond the range of Time.
func (s *Sender) scheduleNext(payload int32) {
	switch s.config.Pattern {
	case CBR, OnOff:
		gap := s.gap.NextTime(payload, true)
		if j := s.config.GapJitter; j > 0 {
			gap += unit.Time(float64(gap) * j * (float64(2*s.flow.Random.Float64()) - 1))
		}
		s.dueAt = addTime(s.dueAt, gap)
		if s.config.Pattern == OnOff {
			for s.dueAt > s.onUntil { // the rest of the gap passes in the next on time
				off := s.drawExponential(s.config.Off)
				s.dueAt = addTime(s.dueAt, off)
				s.onUntil = addTime(addTime(s.onUntil, off), s.drawExponential(s.config.On))
			}
		}
	case Poisson:
		s.dueAt = addTime(s.dueAt, s.drawExponential(s.gap.NextTime(payload, true)))
	case Burst:
		if s.left > 0 {
			s.left--
			return
		}
		// Wait until a whole datagram is earned. The first one is sent at the start, so the next one is earned after the time
		// of sent datagrams.
		if s.wakeWhenEarned(s.sent); s.dueAt == unit.Never {
			return
		}
		earned := int64(s.config.Rate.BytesIn(s.dueAt-s.earnedFrom)) / int64(s.flow.Payload)
		s.left = earned - s.sent
	}
}

// wakeWhenEarned moves dueAt to the next multiple of the interval by which n datagrams are earned; unit.Never beyond
// the range of Time.
func (s *Sender) wakeWhenEarned(n int64) {
	earned := unit.TransmitTime(unit.Bytes(n)*unit.Bytes(s.flow.Payload), s.config.Rate)
	late := max(0, earned-(s.dueAt-s.earnedFrom)-s.config.Interval) // after the next wake-up
	intervals := 1 + late/s.config.Interval
	if late%s.config.Interval > 0 {
		intervals++
	}
	if intervals > (unit.Never-s.dueAt)/s.config.Interval {
		s.dueAt = unit.Never
		return
	}
	s.dueAt += intervals * s.config.Interval
}

// Receive is never called: the receiver does not answer.
func (s *Sender) Receive(unit.Time, *packet.Packet) bool { return false }

// NextTimer returns unit.Never: NextSend has the schedule.
func (s *Sender) NextTimer() unit.Time { return unit.Never }

// Advance is never called.
func (s *Sender) Advance(unit.Time) {}

// Counters returns the sender's counters. Finished of a flow with a size is when the last datagram was sent.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// Receiver counts datagrams.
type Receiver struct {
	transport.Passive
	size     unit.Bytes
	highest  int64      // highest number received
	bitmap   [16]uint64 // bit n%1024: number n, of the last 1024, was received
	counters transport.Counters
}

// Receive counts a datagram. A datagram that arrives twice within 1,024 numbers counts as a duplicate, and so does one
// that arrives more than 1,024 numbers late, because the two cannot be distinguished. A trimmed one counts as a
// received packet only.
func (r *Receiver) Receive(now unit.Time, p *packet.Packet) bool {
	c := &r.counters
	c.ReceivedPackets++
	if p.Meta.Flags&packet.Trimmed != 0 {
		return false
	}
	const window = int64(len(r.bitmap) * 64)
	for n := max(r.highest+1, p.Seq-window+1); n <= p.Seq; n++ {
		r.bitmap[n%window/64] &^= 1 << (n % 64)
	}
	word, bit := &r.bitmap[p.Seq%window/64], uint64(1)<<(p.Seq%64)
	if p.Seq <= r.highest-window || *word&bit != 0 {
		c.CountDuplicate(p)
		return false
	}
	*word |= bit
	r.highest = max(r.highest, p.Seq)
	c.Last = now
	c.ReceivedBytes += unit.Bytes(p.Payload)
	c.AddDelay(now - p.Sent)
	if r.size > 0 && c.ReceivedBytes >= r.size {
		c.Finished = now
	}
	return false
}

// Counters returns the receiver's counters.
func (r *Receiver) Counters() *transport.Counters { return &r.counters }

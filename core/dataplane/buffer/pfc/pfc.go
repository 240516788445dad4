// Package pfc is priority flow control (IEEE 802.1Qbb). A switch counts the waiting packets by ingress
// port and class. When they pass a threshold, it stops the neighbour's class with a Pause frame, takes
// packets that are already on their way into headroom, and resumes the neighbour when enough have left. A
// protected class loses packets only when the headroom is too small. The thresholds are those of HPCC §5.1
// and of its simulator.
package pfc

import (
	"fmt"
	"math"
	"math/bits"

	"weir/core/dataplane"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// control is the length of a PFC frame in bytes; ethernet is the length of the largest frame of IEEE
// 802.3, with 1500 bytes, preamble and gap, for sites that do not know theirs.
const (
	control  = 64
	ethernet = 1538
)

// Program is PFC in a switch with a shared_buffer program.
type Program struct {
	buffer   *sharedbuffer.Buffer
	paused   []uint8 // by port: classes that the neighbour was asked to stop
	offset   unit.Bytes
	quanta   int64       // of a pause; 0: it lasts until Resume
	renewal  []unit.Time // by port: time between two Pause frames, with quanta
	next     []unit.Time // by port: when the next one is due, unit.Never
	awaiting unit.Time   // earliest of next
	ticker   dataplane.Ticker
}

// standalone is PFC in a switch without a shared_buffer program: it counts the bytes itself.
type standalone struct{ *Program }

// Values of config.Trigger: what an ingress queue may use of the shared buffer.
const (
	triggerShare  = "share"  // a share of what is free
	triggerShift  = "shift"  // a power of two of it that depends on the port's rate
	triggerStatic = "static" // so many bytes
)

// Values of config.Headroom: what every protected ingress queue can take.
const (
	headroomRoundTrip = "round_trip"
	headroomSimulator = "simulator"
	headroomSize      = "size"
)

// config are the parameters of PFC.
type config struct {
	Trigger      string
	Share        float64    // triggerShare
	Shift        int        // triggerShift: 1/2^Shift at ports of NICRate
	NICRate      unit.Rate  // triggerShift
	XOff         unit.Bytes // triggerStatic
	XOnOffset    unit.Bytes // how far below the trigger the neighbour may resume
	Headroom     string
	HeadroomSize unit.Bytes               // headroomSize
	Frame        unit.Bytes               // largest frame; 0: the site's
	Classes      []scheme.Pair[int, bool] // whether a class is protected
	Quanta       int                      // of a pause, if it is for so many
	ForQuanta    bool                     // a pause lasts for Quanta, not until Resume
}

// Traits returns that it pauses neighbours, which have to know PFC.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: "it stops neighbours, who have to know that", Pauses: true}
}

// Params binds the configuration.
func (c *config) Params(p *scheme.Params) {
	p.Text(&c.Trigger, "trigger", triggerShare,
		"what an ingress queue may use of the shared buffer before its neighbour is stopped: a share of what is "+
			"free, a power of two of it that depends on the port's rate, or so many bytes",
		"HPCC §5.1").Words(triggerShare, triggerShift, triggerStatic)
	p.Share(&c.Share, "share", "11%", "with trigger: share",
		"HPCC §5.1: 11 % of the free buffer").Min("0.01%").Max("10000%")
	p.Int(&c.Shift, "shift", "3", "with trigger: shift: 1/2^shift of what is free, at ports of nic_rate; one less for "+
		"each doubling of the rate", "HPCC simulator: 3").Min("0").Max("16")
	p.Rate(&c.NICRate, "nic_rate", "100Gbps", "with trigger: shift", "HPCC §5.1: hosts' links").Min("1bps")
	p.Size(&c.XOff, "xoff", "0 B", "with trigger: static", "ours: none")
	p.Size(&c.XOnOffset, "xon_offset", "3KiB",
		"how far below the trigger a queue must be for its neighbour to go on", "HPCC simulator: 3 KB")
	p.Text(&c.Headroom, "headroom", headroomRoundTrip,
		"what every protected ingress queue can take when its neighbour has been stopped: rate × 2 delay + 3 "+
			"frames + 8 PFC frames, rate × 3 delay, or headroom_size",
		"ours: after the annex on buffer requirements of IEEE 802.1Qbb; simulator: HPCC simulator").
		Words(headroomRoundTrip, headroomSimulator, headroomSize)
	p.Size(&c.HeadroomSize, "headroom_size", "0 B", "with headroom: size", "ours: none")
	p.Size(&c.Frame, "frame", "0 B", "largest frame, for headroom: round_trip; 0 B: that of the run's traffic with all "+
		"the extensions that it can have", "ours").Max("1MB")
	scheme.MapOf(p, &c.Classes, class, scheme.Bools, "classes", "whether a class is protected, by its number; of those "+
		"not named, all that have a queue are, unless one is named true", "ours")
	p.Either(&c.ForQuanta, [2]string{"until_resumed", "quanta"}, "pauses", "until_resumed",
		"a pause lasts until a Resume frame, or for so many quanta and is renewed after half of them",
		"HPCC simulator; quanta: IEEE 802.1Qbb")
	p.Int(&c.Quanta, "quanta", "65534", "with pauses: quanta: time of a pause, in 512 bit times",
		"IEEE 802.1Qbb: 65535 at most").Min("16").Max("65534")

	p.Rule("xoff", func() error {
		if c.Trigger == triggerStatic && c.XOff <= 0 {
			return fmt.Errorf("trigger: static needs xoff, above 0 B")
		}
		return nil
	})
}

func class(s string) (int, error) {
	if len(s) != 1 || s[0] < '0' || s[0] >= '0'+tm.Classes {
		return 0, fmt.Errorf("%q is not a class; 0 … %d are possible", s, tm.Classes-1)
	}
	return int(s[0] - '0'), nil
}

// Scheme is what an experiment names: switch: [ecmp, shared_buffer, pfc].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "pfc", Doc: "priority flow control: pauses the neighbour before a class " +
		"loses packets", Source: "IEEE 802.1Qbb; HPCC §5.1; HPCC simulator"}, newProgram)
}

// newProgram returns the program of a switch: a Program, or standalone if there is no shared_buffer program.
func newProgram(site *dataplane.Site, c config) (dataplane.Program, error) {
	p := &Program{buffer: sharedbuffer.Of(site), paused: make([]uint8, site.Ports), offset: c.XOnOffset,
		awaiting: unit.Never}
	own := !p.buffer.Settled()
	if own && c.Trigger != triggerStatic {
		return nil, fmt.Errorf("pfc: its threshold is a part of the free buffer: put shared_buffer before it in the list, " +
			"or say trigger: static and xoff")
	}
	classes, err := c.protected(max(site.Queues, 1))
	if err != nil {
		return nil, err
	}
	if c.Frame == 0 {
		if c.Frame = unit.Bytes(site.MaxFrame); c.Frame == 0 {
			c.Frame = ethernet
		}
	}
	if c.ForQuanta {
		p.quanta = int64(c.Quanta)
	}
	for i := range site.Ports {
		var line dataplane.Line
		if i < len(site.Lines) {
			line = site.Lines[i]
		}
		for set := classes; set != 0; set &= set - 1 {
			err := p.buffer.Guard(packet.PortID(i), uint8(bits.TrailingZeros8(set)), c.room(line), c.trigger(line))
			if err != nil {
				return nil, fmt.Errorf("pfc: %w", err)
			}
		}
		p.next = append(p.next, unit.Never)
		p.renewal = append(p.renewal, p.half(line.Rate))
	}
	if p.ticker = p; own {
		a := &standalone{p}
		p.ticker = a
		return a, nil
	}
	return p, nil
}

// room is the headroom of a queue at a port.
func (c *config) room(line dataplane.Line) unit.Bytes {
	switch c.Headroom {
	case headroomRoundTrip:
		return RoundTrip(line, c.Frame)
	case headroomSimulator:
		return inFlight(line, 3, c.Frame)
	}
	return c.HeadroomSize
}

// trigger is that of a queue at a port.
func (c *config) trigger(line dataplane.Line) sharedbuffer.Trigger {
	t := sharedbuffer.Trigger{Share: c.Share}
	switch c.Trigger {
	case triggerShift:
		t.Share = math.Ldexp(1, -shift(c.Shift, line.Rate.Bits, c.NICRate))
	case triggerStatic:
		t.Static = c.XOff
	}
	return t
}

// protected are the classes that PFC protects, as a bit set.
func (c *config) protected(queues int) (uint8, error) {
	queues = min(queues, tm.Classes)
	all := uint8(1<<queues - 1)
	var yes, no uint8
	for _, x := range c.Classes {
		if x.Key >= queues {
			return 0, fmt.Errorf("pfc: \"%d\" is not a class; a port has queues for 0 … %d", x.Key, queues-1)
		}
		if bit := uint8(1) << x.Key; x.Value {
			yes |= bit
		} else {
			no |= bit
		}
	}
	if yes != 0 {
		return yes &^ no, nil
	}
	return all &^ no, nil
}

// RoundTrip is the headroom with which no frame is lost, whatever the neighbour sends: the frame that
// passed the threshold; what arrives until the Pause frame is on the wire, which waits for a frame in
// transmission and seven other PFC frames, and for its own length; one delay there; the frame that the
// neighbour has just begun; and one delay back. All are in bytes at the link's rate.
func RoundTrip(l dataplane.Line, frame unit.Bytes) unit.Bytes {
	if l.Rate.Packets > 0 { // where a PFC frame takes as long as any other
		return inFlight(l, 2, frame) + (3+tm.Classes)*frame
	}
	return inFlight(l, 2, frame) + 3*frame + tm.Classes*control
}

// inFlight is what a link carries in this many delays, rounded up to a byte, or to a frame if its rate is
// in packets.
func inFlight(l dataplane.Line, delays int64, frame unit.Bytes) unit.Bytes {
	seconds := float64(delays*int64(l.Delay)) / float64(unit.Second)
	if l.Rate.Packets > 0 {
		return unit.Bytes(math.Ceil(seconds*float64(l.Rate.Packets))) * frame
	}
	return unit.Bytes(math.Ceil(seconds * float64(l.Rate.Bits) / 8))
}

// shift is the exponent of a port: one less than base for each doubling of its rate over
// the NICs', and not below 0.
func shift(base int, rate, nic unit.Rate) int {
	for ; base > 0 && rate >= 2*nic; rate /= 2 {
		base--
	}
	return base
}

// half is half the time of a pause at a port.
func (p *Program) half(r unit.LinkRate) unit.Time {
	rate := float64(r.Bits)
	if r.Packets > 0 {
		rate = float64(r.Packets) * 12_000 // as tm.Port.Pause has it
	}
	if p.quanta == 0 || rate == 0 {
		return unit.Never
	}
	return max(1, unit.Time(min(float64(p.quanta)*512/rate/2, 1e6)*float64(unit.Second)))
}

// Of returns the Program that p is, and whether it counts packets by itself; nil: p is another's.
func Of(p dataplane.Program) (x *Program, counts bool) {
	switch p := p.(type) {
	case *Program:
		return p, false
	case *standalone:
		return p.Program, true
	}
	return nil, false
}

// Name is "pfc".
func (p *Program) Name() string { return "pfc" }

// Buffer returns the memory that it watches.
func (p *Program) Buffer() *sharedbuffer.Buffer { return p.buffer }

// Book stops the neighbour whose packet reached a threshold.
func (p *Program) Book(env *dataplane.Env, x *packet.Packet) {
	m := &x.Meta
	if int(m.In) < len(p.paused) {
		p.Booked(env, m, p.buffer.Queue(m.In, m.Class))
	}
}

// Booked is Book of a packet that came in at a port, of whose ingress queue who calls knows already.
func (p *Program) Booked(env *dataplane.Env, m *packet.Metadata, q *sharedbuffer.Queue) {
	if q.Reserved() || !q.Guarded() || p.paused[m.In]&(1<<(m.Class%tm.Classes)) != 0 {
		return
	}
	if shared := q.Shared(); q.Headroom() > 0 || shared > 0 && shared >= p.buffer.Threshold(q) {
		p.stop(env, m.In, m.Class%tm.Classes)
	}
}

// stop stops a class of the neighbour at a port.
func (p *Program) stop(env *dataplane.Env, in packet.PortID, class uint8) {
	p.paused[in] |= 1 << class
	if p.quanta == 0 {
		env.Control(in, packet.Pause, class)
		return
	}
	env.Pause(in, class, p.quanta)
	if p.next[in] == unit.Never {
		p.next[in] = env.Now() + p.renewal[in]
		p.awaiting = min(p.awaiting, p.next[in])
		env.TickAt(p.ticker, p.awaiting)
	}
}

// Unbook resumes the neighbour when enough of its packets have left.
func (p *Program) Unbook(env *dataplane.Env, x *packet.Packet) {
	m := &x.Meta
	if int(m.In) < len(p.paused) && p.Stopped(m) {
		p.left(env, m.In, m.Class%tm.Classes)
	}
}

// Stopped reports whether the neighbour that sent a packet, which came in at a port, was asked to stop its class.
func (p *Program) Stopped(m *packet.Metadata) bool {
	return p.paused[m.In]>>(m.Class%tm.Classes)&1 != 0
}

// left resumes a stopped class of the neighbour at a port when enough of its packets have left.
func (p *Program) left(env *dataplane.Env, in packet.PortID, class uint8) {
	q := p.buffer.Queue(in, class)
	if shared := q.Shared(); q.Headroom() == 0 && (shared == 0 || shared+p.offset <= p.buffer.Threshold(q)) {
		p.paused[in] &^= 1 << class
		env.Control(in, packet.Resume, class)
	}
}

// Tick renews pauses.
func (p *Program) Tick(env *dataplane.Env) unit.Time {
	p.awaiting = unit.Never
	for i := range p.next {
		if p.next[i] <= env.Now() {
			p.next[i] = unit.Never
			for set := p.paused[i]; set != 0; set &= set - 1 {
				env.Pause(packet.PortID(i), uint8(bits.TrailingZeros8(set)), p.quanta)
				p.next[i] = env.Now() + p.renewal[i]
			}
		}
		p.awaiting = min(p.awaiting, p.next[i])
	}
	return p.awaiting
}

// Idle is always true: ticks renew pauses that are known.
func (p *Program) Idle() bool { return true }

// Admit drops packets that do not fit into the headroom.
func (a *standalone) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	return a.buffer.Admit(env, p)
}

// Book counts the packet in and may stop its neighbour.
func (a *standalone) Book(env *dataplane.Env, p *packet.Packet) {
	a.buffer.Book(p)
	a.Program.Book(env, p)
}

// Unbook counts the packet out and may resume its neighbour.
func (a *standalone) Unbook(env *dataplane.Env, p *packet.Packet) {
	a.buffer.Unbook(p)
	a.Program.Unbook(env, p)
}

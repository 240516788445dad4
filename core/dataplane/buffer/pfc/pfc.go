// Package pfc is priority flow control (IEEE 802.1Qbb). A switch counts the waiting packets by ingress port and
// class. When they pass a threshold, it stops the neighbour's class with a Pause frame, puts packets that are already
// on their way into headroom, and resumes the neighbour when enough packets have departed. A protected class loses
// packets only if the headroom is too small. The thresholds are from HPCC §5.1 and its simulator.
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

// pfcFrameBytes is the length of a PFC frame in bytes. ethernetFrameBytes is the length of the largest frame of IEEE
// 802.3, with 1500 bytes, preamble and gap, for sites with an unknown frame size.
const (
	pfcFrameBytes      = 64
	ethernetFrameBytes = 1538
)

// Program is PFC in a switch with a shared_buffer program.
type Program struct {
	buffer          *sharedbuffer.Buffer
	paused          []uint8 // by port: classes that the neighbour was asked to stop
	offset          unit.Bytes
	quanta          int64       // of a pause; 0: it lasts until Resume
	renewal         []unit.Time // by port: time between two Pause frames, with quanta
	nextRenewal     []unit.Time // by port: time of the next one; unit.Never: not due
	earliestRenewal unit.Time   // earliest of nextRenewal
	ticker          dataplane.Ticker
}

// standalone is PFC in a switch without a shared_buffer program: it counts packets itself.
type standalone struct{ *Program }

// Values of config.Trigger: the part of the shared buffer that an ingress queue may use.
const (
	triggerShare  = "share"  // a share of the free part
	triggerShift  = "shift"  // a power of two of it that depends on the port's rate
	triggerStatic = "static" // a number of bytes
)

// Values of config.Headroom: the size of the headroom of every protected ingress queue.
const (
	headroomRoundTrip = "round_trip"
	headroomSimulator = "simulator"
	headroomSize      = "size"
)

// config holds the parameters of PFC.
type config struct {
	Trigger      string
	Share        float64    // triggerShare
	Shift        int        // triggerShift: 1/2^Shift at ports of NICRate
	NICRate      unit.Rate  // triggerShift
	XOff         unit.Bytes // triggerStatic
	XOnOffset    unit.Bytes // distance below the trigger at which the neighbour may resume
	Headroom     string
	HeadroomSize unit.Bytes               // headroomSize
	Frame        unit.Bytes               // largest frame; 0: the site's
	Classes      []scheme.Pair[int, bool] // whether a class is protected
	Quanta       int                      // of a pause, with ForQuanta
	ForQuanta    bool                     // a pause lasts for Quanta, not until Resume
}

// Traits returns that the program pauses neighbours. It cannot run standalone, because neighbours must support PFC.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: "it pauses neighbours, which must support PFC", Pauses: true}
}

// Params binds the options of pfc to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Text(&c.Trigger, "trigger", triggerShare,
		"limit above which an ingress queue pauses its neighbour; share: a share of the free shared buffer; shift: the "+
			"free buffer divided by a power of two that depends on the port's rate; static: a fixed size (xoff)",
		"HPCC §5.1").Words(triggerShare, triggerShift, triggerStatic)
	p.Share(&c.Share, "share", "11%", "with trigger: share: limit as a share of the free shared buffer",
		"HPCC §5.1: 11 % of the free buffer").Min("0.01%").Max("10000%")
	p.Int(&c.Shift, "shift", "3", "with trigger: shift: limit is 1/2^shift of the free buffer at ports with nic_rate; "+
		"shift falls by one with each doubling of the rate", "HPCC simulator: 3").Min("0").Max("16")
	p.Rate(&c.NICRate, "nic_rate", "100Gbps", "with trigger: shift: rate of the ports to which shift applies unchanged",
		"HPCC §5.1: hosts' links").Min("1bps")
	p.Size(&c.XOff, "xoff", "0 B", "with trigger: static: limit of an ingress queue in bytes", "Weir: none")
	p.Size(&c.XOnOffset, "xon_offset", "3KiB",
		"distance below the limit at which a paused neighbour resumes", "HPCC simulator: 3 KB")
	p.Text(&c.Headroom, "headroom", headroomRoundTrip,
		"buffer of a protected ingress queue for packets that arrive after its neighbour was paused; round_trip: rate × "+
			"2 delay + 3 frames + 8 PFC frames; simulator: rate × 3 delay; size: headroom_size",
		"Weir: after the annex on buffer requirements of IEEE 802.1Qbb; simulator: HPCC simulator").
		Words(headroomRoundTrip, headroomSimulator, headroomSize)
	p.Size(&c.HeadroomSize, "headroom_size", "0 B", "with headroom: size: headroom of each protected ingress queue",
		"Weir: none")
	p.Size(&c.Frame, "frame", "0 B", "maximum frame, for headroom: round_trip; 0 B: the largest frame of the run's "+
		"traffic with all its possible extensions", "Weir").Max("1MB")
	scheme.MapOf(p, &c.Classes, parseClass, scheme.Bools, "classes", "whether PFC protects a class, by its number: "+
		"{3: true}; a class that is not given is protected if it has a queue, unless another class is true", "Weir")
	p.BoolWords(&c.ForQuanta, [2]string{"until_resumed", "quanta"}, "pauses", "until_resumed",
		"how a pause ends; until_resumed: with a Resume frame; quanta: after the given quanta, and it is renewed after "+
			"half of them", "HPCC simulator; quanta: IEEE 802.1Qbb")
	p.Int(&c.Quanta, "quanta", "65534", "with pauses: quanta: duration of a pause in units of 512 bit times",
		"IEEE 802.1Qbb: at most 65535").Min("16").Max("65534")

	p.AddRule("xoff", func() error {
		if c.Trigger == triggerStatic && c.XOff <= 0 {
			return fmt.Errorf("trigger: static needs xoff, above 0 B")
		}
		return nil
	})
}

// parseClass parses the number of a class, 0 to tm.Classes−1.
func parseClass(s string) (int, error) {
	if len(s) != 1 || s[0] < '0' || s[0] >= '0'+tm.Classes {
		return 0, fmt.Errorf("%q is not a class; allowed: 0 … %d", s, tm.Classes-1)
	}
	return int(s[0] - '0'), nil
}

// Scheme returns the scheme of the program pfc. A program before it chooses the port:
// switch: [ecmp, shared_buffer, pfc].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "pfc", Doc: "priority flow control: pauses the neighbour before a class " +
		"loses packets", Source: "IEEE 802.1Qbb; HPCC §5.1; HPCC simulator"}, newProgram)
}

// newProgram returns the program of a switch: a Program, or a standalone one without a shared_buffer program. It fails
// if the buffer does not hold the headroom, which it takes from there, if a class has no queue, or if a standalone one
// has a trigger other than static.
func newProgram(site *dataplane.Site, c config) (dataplane.Program, error) {
	p := &Program{buffer: sharedbuffer.BufferOf(site), paused: make([]uint8, site.Ports), offset: c.XOnOffset,
		earliestRenewal: unit.Never}
	own := !p.buffer.HasSize()
	if own && c.Trigger != triggerStatic {
		return nil, fmt.Errorf("pfc: its threshold is a part of the free buffer: put shared_buffer before it in the list, " +
			"or set trigger: static and xoff")
	}
	classes, err := c.protectedClasses(max(site.Queues, 1))
	if err != nil {
		return nil, err
	}
	if c.Frame == 0 {
		if c.Frame = unit.Bytes(site.MaxFrame); c.Frame == 0 {
			c.Frame = ethernetFrameBytes
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
			err := p.buffer.GuardQueue(packet.PortID(i), uint8(bits.TrailingZeros8(set)), c.headroomBytes(line),
				c.newTrigger(line))
			if err != nil {
				return nil, fmt.Errorf("pfc: %w", err)
			}
		}
		p.nextRenewal = append(p.nextRenewal, unit.Never)
		p.renewal = append(p.renewal, p.halfPause(line.Rate))
	}
	if p.ticker = p; own {
		a := &standalone{p}
		p.ticker = a
		return a, nil
	}
	return p, nil
}

// headroomBytes returns the headroom in bytes of a queue at a port with this line, by the configured kind of headroom.
func (c *config) headroomBytes(line dataplane.Line) unit.Bytes {
	switch c.Headroom {
	case headroomRoundTrip:
		return RoundTrip(line, c.Frame)
	case headroomSimulator:
		return bytesInFlight(line, 3, c.Frame)
	}
	return c.HeadroomSize
}

// newTrigger returns the trigger of a queue at a port with this line: xoff, or a share of the free part, by the
// configured kind of trigger.
func (c *config) newTrigger(line dataplane.Line) sharedbuffer.Trigger {
	t := sharedbuffer.Trigger{Share: c.Share}
	switch c.Trigger {
	case triggerShift:
		t.Share = math.Ldexp(1, -portShift(c.Shift, line.Rate.Bits, c.NICRate))
	case triggerStatic:
		t.Static = c.XOff
	}
	return t
}

// protectedClasses returns the classes that PFC protects, as a bit set. queues is the number of a port's queues. It
// fails on a class without a queue. If the configuration sets a class to true, these classes are protected; otherwise
// all classes with queues that are not false.
func (c *config) protectedClasses(queues int) (uint8, error) {
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

// RoundTrip returns the headroom in bytes with which a port with line l loses no frame for any traffic of the
// neighbour. It holds the frame that passed the threshold, and the data that arrives until the Pause frame is on the
// wire. The Pause frame waits for a frame in transmission, seven other PFC frames and its own length. It also holds the
// data of one delay there, of the frame that the neighbour has just begun, and of one delay back. frame is the largest
// frame in bytes.
func RoundTrip(l dataplane.Line, frame unit.Bytes) unit.Bytes {
	if l.Rate.Packets > 0 { // a PFC frame takes as long as any other
		return bytesInFlight(l, 2, frame) + (3+tm.Classes)*frame
	}
	return bytesInFlight(l, 2, frame) + 3*frame + tm.Classes*pfcFrameBytes
}

// bytesInFlight returns the data that a link carries in this many delays, rounded up to a byte, or to a frame if its
// rate is in packets.
func bytesInFlight(l dataplane.Line, delays int64, frame unit.Bytes) unit.Bytes {
	seconds := float64(delays*int64(l.Delay)) / float64(unit.Second)
	if l.Rate.Packets > 0 {
		return unit.Bytes(math.Ceil(seconds*float64(l.Rate.Packets))) * frame
	}
	return unit.Bytes(math.Ceil(seconds * float64(l.Rate.Bits) / 8))
}

// portShift returns the exponent of a port: one less than base for each doubling of its rate over nicRate, at least 0.
func portShift(base int, rate, nicRate unit.Rate) int {
	for ; base > 0 && rate >= 2*nicRate; rate /= 2 {
		base--
	}
	return base
}

// halfPause returns half the time of a pause at a port; unit.Never without quanta. At a rate in packets/s a packet
// counts as in tm.Port.ApplyPause.
func (p *Program) halfPause(r unit.LinkRate) unit.Time {
	rate := float64(r.Bits)
	if r.Packets > 0 {
		rate = float64(r.Packets) * 12_000 // as in tm.Port.ApplyPause
	}
	if p.quanta == 0 || rate == 0 {
		return unit.Never
	}
	return max(1, unit.Time(min(float64(p.quanta)*512/rate/2, 1e6)*float64(unit.Second)))
}

// ProgramOf returns the Program in p, and whether it counts packets itself; x is nil if p is another program.
func ProgramOf(p dataplane.Program) (x *Program, counts bool) {
	switch p := p.(type) {
	case *Program:
		return p, false
	case *standalone:
		return p.Program, true
	}
	return nil, false
}

// Name returns "pfc".
func (p *Program) Name() string { return "pfc" }

// Buffer returns the memory that the program watches.
func (p *Program) Buffer() *sharedbuffer.Buffer { return p.buffer }

// Book stops x's class at the neighbour that sent it if x's ingress queue has reached its threshold (CheckBooked).
func (p *Program) Book(env *dataplane.Env, x *packet.Packet) {
	m := &x.Meta
	if int(m.In) < len(p.paused) {
		p.CheckBooked(env, m, p.buffer.IngressQueue(m.In, m.Class))
	}
}

// CheckBooked stops a packet's class at the neighbour that sent it, if its ingress queue q uses headroom or has reached
// its threshold. It has no effect if PFC does not protect q, or the class is stopped already. m is the packet's, and q
// must already count the packet.
func (p *Program) CheckBooked(env *dataplane.Env, m *packet.Metadata, q *sharedbuffer.Queue) {
	if q.FitsReserve() || !q.IsGuarded() || p.paused[m.In]&(1<<(m.Class%tm.Classes)) != 0 {
		return
	}
	if shared := q.SharedBytes(); q.HeadroomBytes() > 0 || shared > 0 && shared >= p.buffer.Threshold(q) {
		p.pauseClass(env, m.In, m.Class%tm.Classes)
	}
}

// pauseClass stores that a class at a port is stopped, and sends the neighbour a Pause frame. With quanta it also
// schedules the renewal.
func (p *Program) pauseClass(env *dataplane.Env, port packet.PortID, class uint8) {
	p.paused[port] |= 1 << class
	if p.quanta == 0 {
		env.SendPFC(port, packet.Pause, class)
		return
	}
	env.SendPause(port, class, p.quanta)
	if p.nextRenewal[port] == unit.Never {
		p.nextRenewal[port] = env.Now() + p.renewal[port]
		p.earliestRenewal = min(p.earliestRenewal, p.nextRenewal[port])
		env.TickAt(p.ticker, p.earliestRenewal)
	}
}

// Unbook resumes x's class at the neighbour, if it is stopped, when the headroom of the packet's ingress queue is
// empty, and its shared bytes are 0 or below the threshold by at least offset.
func (p *Program) Unbook(env *dataplane.Env, x *packet.Packet) {
	m := &x.Meta
	if int(m.In) < len(p.paused) && p.HasStopped(m) {
		p.resumeClass(env, m.In, m.Class%tm.Classes)
	}
}

// HasStopped reports whether the neighbour that sent a packet, which arrived at a port, was asked to stop its class.
// The port must be one of the switch's.
func (p *Program) HasStopped(m *packet.Metadata) bool {
	return p.paused[m.In]>>(m.Class%tm.Classes)&1 != 0
}

// resumeClass sends a Resume frame for a stopped class, and stores that, if enough packets of its ingress queue have
// departed (Unbook). It does not check that the class is stopped.
func (p *Program) resumeClass(env *dataplane.Env, port packet.PortID, class uint8) {
	q := p.buffer.IngressQueue(port, class)
	if shared := q.SharedBytes(); q.HeadroomBytes() == 0 && (shared == 0 || shared+p.offset <= p.buffer.Threshold(q)) {
		p.paused[port] &^= 1 << class
		env.SendPFC(port, packet.Resume, class)
	}
}

// Tick sends Pause frames for the stopped classes of each port with a due renewal. It returns the time of the next
// renewal, or unit.Never.
func (p *Program) Tick(env *dataplane.Env) unit.Time {
	p.earliestRenewal = unit.Never
	for i := range p.nextRenewal {
		if p.nextRenewal[i] <= env.Now() {
			p.nextRenewal[i] = unit.Never
			for set := p.paused[i]; set != 0; set &= set - 1 {
				env.SendPause(packet.PortID(i), uint8(bits.TrailingZeros8(set)), p.quanta)
				p.nextRenewal[i] = env.Now() + p.renewal[i]
			}
		}
		p.earliestRenewal = min(p.earliestRenewal, p.nextRenewal[i])
	}
	return p.earliestRenewal
}

// Idle returns true: ticks only renew pauses.
func (p *Program) Idle() bool { return true }

// Admit drops packets that do not fit into the headroom. Classes without protection have no limit here.
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

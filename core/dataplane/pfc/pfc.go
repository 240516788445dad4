// Package pfc is priority flow control (IEEE 802.1Qbb): a switch counts what came in at
// each port in each class and still waits, stops the neighbour's class by a Pause frame
// when that passes a threshold, takes what is on its way by then into headroom, and lets
// the neighbour go on when enough has left. A class that it protects loses packets only
// when the headroom is too small. The thresholds are those of HPCC §5.1 and of its
// simulator.
package pfc

import (
	"fmt"
	"math"
	"math/bits"

	"weir/core/dataplane"
	"weir/core/dataplane/sharedbuffer"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// control is the length of a PFC frame in bytes; ethernet that of the largest frame of IEEE
// 802.3 with 1500 bytes, preamble and gap, for sites that do not know theirs.
const (
	control  = 64
	ethernet = 1538
)

// Program is PFC in a switch with a shared_buffer program.
type Program struct {
	buffer   *sharedbuffer.Buffer
	paused   []uint8 // by port: classes that the neighbour was told to stop
	offset   unit.Bytes
	quanta   int64       // of a pause; 0: it lasts until Resume
	renewal  []unit.Time // by port: time between two Pause frames, with quanta
	next     []unit.Time // by port: when the next one is due, unit.Never
	awaiting unit.Time   // earliest of next
	ticker   dataplane.Ticker
}

// alone is PFC in a switch without one: it counts for itself.
type alone struct{ *Program }

// Scheme is what an experiment names: switch: [ecmp, shared_buffer, pfc].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "pfc", Doc: "priority flow control: pauses the neighbour before a class loses packets",
			Source: "IEEE 802.1Qbb; HPCC §5.1 and simulator", Params: []scheme.Param{
				{Name: "trigger", Kind: scheme.Text, Words: []string{"share", "shift", "static"}, Default: "share",
					Doc: "what an ingress queue may use of the shared buffer before its neighbour is stopped: a share of what is " +
						"free, a power of two of it that depends on the port's rate, or so many bytes", Source: "HPCC §5.1"},
				{Name: "share", Kind: scheme.Share, Default: "11%", Min: "0.01%", Max: "10000%", Doc: "with trigger: share",
					Source: "HPCC §5.1: 11 % of the free buffer"},
				{Name: "shift", Kind: scheme.Int, Default: "3", Min: "0", Max: "16",
					Doc: "with trigger: shift: 1/2^shift of what is free, at ports of nic_rate; one less for each doubling " +
						"of the rate", Source: "HPCC simulator: 3"},
				{Name: "nic_rate", Kind: scheme.Rate, Default: "100Gbps", Min: "1bps", Doc: "with trigger: shift",
					Source: "HPCC §5.1: hosts' links"},
				{Name: "xoff", Kind: scheme.Size, Default: "0 B", Doc: "with trigger: static", Source: "ours: none"},
				{Name: "xon_offset", Kind: scheme.Size, Default: "3KiB",
					Doc: "how far below the trigger a queue must be for its neighbour to go on", Source: "HPCC simulator: 3 KB"},
				{Name: "headroom", Kind: scheme.Text, Words: []string{"round_trip", "simulator", "size"}, Default: "round_trip",
					Doc: "what every protected ingress queue can take when its neighbour has been stopped: rate × 2 delay + 3 " +
						"frames + 8 PFC frames, rate × 3 delay, or headroom_size",
					Source: "ours, after the annex on buffer requirements of IEEE 802.1Qbb; simulator: HPCC simulator"},
				{Name: "headroom_size", Kind: scheme.Size, Default: "0 B", Doc: "with headroom: size", Source: "ours: none"},
				{Name: "frame", Kind: scheme.Size, Default: "0 B", Max: "1MB",
					Doc: "largest frame, for headroom: round_trip; 0 B: that of the run's traffic with all the extensions that " +
						"it can have", Source: "ours"},
				{Name: "classes", Kind: scheme.Map, Of: scheme.Bool,
					Doc: "whether a class is protected, by its number; of those not named, all that have a queue are, unless one " +
						"is named true", Source: "ours"},
				{Name: "pauses", Kind: scheme.Text, Words: []string{"until_resumed", "quanta"}, Default: "until_resumed",
					Doc:    "a pause lasts until a Resume frame, or for so many quanta and is renewed after half of them",
					Source: "HPCC simulator; quanta: IEEE 802.1Qbb"},
				{Name: "quanta", Kind: scheme.Int, Default: "65534", Min: "16", Max: "65534",
					Doc: "with pauses: quanta: time of a pause, in 512 bit times", Source: "IEEE 802.1Qbb: 65535 at most"},
			}},
		NeedsNetwork: dataplane.Always("it stops neighbours, who have to know that"),
		Build:        func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) { return build(site, v) },
	}
}

func build(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
	p := &Program{buffer: sharedbuffer.Of(site), paused: make([]uint8, site.Ports), offset: v.Bytes("xon_offset"),
		awaiting: unit.Never}
	own := !p.buffer.Settled()
	static := v.Text("trigger") == "static"
	switch {
	case static && v.Bytes("xoff") <= 0:
		return nil, fmt.Errorf("pfc: trigger: static needs xoff, above 0 B")
	case own && !static:
		return nil, fmt.Errorf("pfc: its threshold is a part of the free buffer: put shared_buffer before it in the list, " +
			"or say trigger: static and xoff")
	}
	classes, err := protected(v.Map("classes"), max(site.Queues, 1))
	if err != nil {
		return nil, err
	}
	frame := v.Bytes("frame")
	if frame == 0 {
		if frame = unit.Bytes(site.MaxFrame); frame == 0 {
			frame = ethernet
		}
	}
	if v.Text("pauses") == "quanta" {
		p.quanta = int64(v.Int("quanta"))
	}
	for i := range site.Ports {
		var line dataplane.Line
		if i < len(site.Lines) {
			line = site.Lines[i]
		}
		var room unit.Bytes
		switch v.Text("headroom") {
		case "round_trip":
			room = RoundTrip(line, frame)
		case "simulator":
			room = inFlight(line, 3, frame)
		default:
			room = v.Bytes("headroom_size")
		}
		t := sharedbuffer.Trigger{Share: v.Float("share")}
		switch v.Text("trigger") {
		case "shift":
			t.Share = math.Ldexp(1, -shift(v.Int("shift"), line.Rate.Bits, v.Rate("nic_rate")))
		case "static":
			t.Static = v.Bytes("xoff")
		}
		for set := classes; set != 0; set &= set - 1 {
			if err := p.buffer.Guard(dataplane.PortID(i), uint8(bits.TrailingZeros8(set)), room, t); err != nil {
				return nil, fmt.Errorf("pfc: %w", err)
			}
		}
		p.next = append(p.next, unit.Never)
		p.renewal = append(p.renewal, p.half(line.Rate))
	}
	if p.ticker = p; own {
		a := &alone{p}
		p.ticker = a
		return a, nil
	}
	return p, nil
}

// protected reads the classes that PFC looks after, as a bit set.
func protected(entries []scheme.Entry, queues int) (uint8, error) {
	all := uint8(1<<min(queues, tm.Classes) - 1)
	var yes, no uint8
	for _, e := range entries {
		if len(e.Key) != 1 || e.Key[0] < '0' || int(e.Key[0]-'0') >= min(queues, tm.Classes) {
			return 0, fmt.Errorf("pfc: %q is not a class; a port has queues for 0 … %d", e.Key, min(queues, tm.Classes)-1)
		}
		if bit := uint8(1) << (e.Key[0] - '0'); e.Value.(bool) {
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

// RoundTrip is the headroom with which no frame is lost, whatever the neighbour sends: the
// frame that passed the threshold; until the Pause frame is on the wire a frame that is
// being sent and seven other PFC frames, and the Pause frame itself; a delay there; the frame that
// the neighbour has just begun; and a delay back. All in bytes at the link's rate.
func RoundTrip(l dataplane.Line, frame unit.Bytes) unit.Bytes {
	if l.Rate.Packets > 0 { // where a PFC frame takes as long as any other
		return inFlight(l, 2, frame) + (3+tm.Classes)*frame
	}
	return inFlight(l, 2, frame) + 3*frame + tm.Classes*control
}

// inFlight is what a link carries in so many delays, rounded up to a byte, or to a
// frame if its rate is in packets.
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

// Name is "pfc".
func (p *Program) Name() string { return "pfc" }

// Buffer returns the memory that it watches.
func (p *Program) Buffer() *sharedbuffer.Buffer { return p.buffer }

// Book stops the neighbour by whose packet a threshold was reached.
func (p *Program) Book(env *dataplane.Env, x *packet.Packet) {
	m := &x.Meta
	if int(m.In) >= len(p.paused) {
		return
	}
	class := m.Class % tm.Classes
	q := p.buffer.Queue(m.In, class)
	if q.Reserved() || !q.Guarded() || p.paused[m.In]&(1<<class) != 0 {
		return
	}
	if shared := q.Shared(); q.Headroom() > 0 || shared > 0 && shared >= p.buffer.Threshold(q) {
		p.paused[m.In] |= 1 << class
		if p.quanta == 0 {
			env.Control(m.In, packet.Pause, class)
			return
		}
		env.Pause(m.In, class, p.quanta)
		if p.next[m.In] == unit.Never {
			p.next[m.In] = env.Now() + p.renewal[m.In]
			p.awaiting = min(p.awaiting, p.next[m.In])
			env.TickAt(p.ticker, p.awaiting)
		}
	}
}

// Unbook lets the neighbour go on when its packets have left.
func (p *Program) Unbook(env *dataplane.Env, x *packet.Packet) {
	m := &x.Meta
	if int(m.In) >= len(p.paused) {
		return
	}
	class := m.Class % tm.Classes
	if p.paused[m.In]&(1<<class) == 0 {
		return
	}
	q := p.buffer.Queue(m.In, class)
	if shared := q.Shared(); q.Headroom() == 0 && (shared == 0 || shared+p.offset <= p.buffer.Threshold(q)) {
		p.paused[m.In] &^= 1 << class
		env.Control(m.In, packet.Resume, class)
	}
}

// Tick renews pauses.
func (p *Program) Tick(env *dataplane.Env) unit.Time {
	p.awaiting = unit.Never
	for i := range p.next {
		if p.next[i] <= env.Now() {
			p.next[i] = unit.Never
			for set := p.paused[i]; set != 0; set &= set - 1 {
				env.Pause(dataplane.PortID(i), uint8(bits.TrailingZeros8(set)), p.quanta)
				p.next[i] = env.Now() + p.renewal[i]
			}
		}
		p.awaiting = min(p.awaiting, p.next[i])
	}
	return p.awaiting
}

// Admit drops what the headroom has no room for.
func (a *alone) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	return a.buffer.Admit(env, p)
}

// Book counts a packet in and stops its neighbour.
func (a *alone) Book(env *dataplane.Env, p *packet.Packet) {
	a.buffer.Book(p)
	a.Program.Book(env, p)
}

// Unbook counts it out and lets its neighbour go on.
func (a *alone) Unbook(env *dataplane.Env, p *packet.Packet) {
	a.buffer.Unbook(p)
	a.Program.Unbook(env, p)
}

package dataplane

import (
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Kinds of warnings that several programs issue.
var (
	warnBelowFrame = scheme.WarningKind{ID: "aqm-below-frame",
		Condition: "a target delay is below the time of one frame at a port at which data can queue"}
	warnBeyondBuffer = scheme.WarningKind{ID: "aqm-beyond-buffer",
		Condition: "a target delay is not below the delay of a full buffer at a port at which data can queue"}
	warnMarks = scheme.WarningKind{ID: "marks-beyond-buffer",
		Condition: "a program or scheduler marks above a queue length that no queue of a port exceeds, by the port's " +
			"buffer, queue_limit or shared_buffer"}
	warnPace = scheme.WarningKind{ID: "aqm-pace",
		Condition: "update differs from the interval for which the default gain is chosen"}
)

// WarnDivided is the kind of a warning that one customer is two users by a program, a scheduler or the users of the
// file.
var WarnDivided = scheme.WarningKind{ID: "user-divided",
	Condition: "a program, a scheduler or `users` counts one customer as two users: the IPv4 and IPv6 addresses of a " +
		"host, or the addresses of a user that the file declares"}

// WarningKinds returns the kinds of warnings that several programs and schedulers issue.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnBelowFrame, warnBeyondBuffer, warnMarks, WarnDivided, warnPace}
}

// SwitchContext is the switch in which a program will run, as far as its file describes it: a switch of an
// experiment, or a standalone one. Configurations are checked against it (Checker). Programs are built from Site.
type SwitchContext struct {
	Switch   string // its name; "": standalone
	Ports    []Peer
	Framing  packet.Framing
	MaxFrame int32 // Size of the largest frame that hosts send; 0: not known
	// MinRTT and MaxRTT are round trips of the experiment's flows with a congestion control, without queues; 0: not
	// known, or no such flow.
	MinRTT, MaxRTT unit.Time
	// MaxNarrowRate is the maximum rate of the narrowest links of all flows' paths; 0: not known.
	MaxNarrowRate unit.Rate
	Queues        int // per port, as in the file; 0: one
	// QueueLimit is the maximum length of a queue if the port's buffer is longer: queue_limit, or a part of a shared
	// buffer; 0: only the port's buffer limits it.
	QueueLimit unit.Length
	// Nodes are the names of all hosts and switches; nil: only Ports are known.
	Nodes []string
	Dual  []bool // by node: flows of both IP versions begin or end there
	// Book has the addresses of Nodes, of node i under the number i+1; nil: they are not known.
	Book *packet.Book
	// MaxRigidPacket is the max IP packet of senders without a SYN, which cannot learn a smaller limit; 0: there is no
	// such sender.
	MaxRigidPacket int32
}

// Peer describes a port and the node at the other end of its link.
type Peer struct {
	To     string // name of the node or, for a standalone switch, of the port
	Host   bool   // the node is no switch
	Rate   unit.LinkRate
	Buffer unit.Length // of the port; zero: unlimited
	// Senders is the number of flows that a file lists individually to the node beyond the port, if it is a host.
	Senders int
	Name    string // of the port: "s->server"; "": To
	// Drift is the excess rate of this switch's clock over the clock at the other end, in millionths (ppm).
	Drift float64
	// Idle: no data of the experiment can queue at the port. It carries only acknowledgements, or traffic that a slower
	// link before or behind it limits.
	Idle bool
	// MaxRTT is SwitchContext.MaxRTT of the flows through the port; 0: SwitchContext.MaxRTT.
	MaxRTT       unit.Time
	EndlessFlows float64 // number of flows without an end, sent by a controller at full speed, that the port limits
	// Datagrams is the number of flows without a controller, and DatagramRate their total rate to the port.
	Datagrams    float64
	DatagramRate unit.Rate
}

// PortName returns the port's name: Name or, without one, To.
func (p *Peer) PortName() string {
	if p.Name != "" {
		return p.Name
	}
	return p.To
}

// QueueingPorts returns the ports at which data of the experiment can queue; for a standalone switch all ports.
func (s *SwitchContext) QueueingPorts() (ports []*Peer) {
	for i := range s.Ports {
		if !s.Ports[i].Idle {
			ports = append(ports, &s.Ports[i])
		}
	}
	return ports
}

// MaxTrip returns the longest round trip of flows through a port, without queues; 0: not known.
func (s *SwitchContext) MaxTrip(p *Peer) unit.Time {
	if p.MaxRTT > 0 {
		return p.MaxRTT
	}
	return s.MaxRTT
}

// FrameSize returns the size of a full frame: the largest frame of hosts or, if that is not known, Ethernet's.
func (s *SwitchContext) FrameSize() unit.Bytes {
	if s.MaxFrame > 0 {
		return unit.Bytes(s.MaxFrame)
	}
	return unit.Bytes(s.Framing.FrameBytes(1514, 0, true))
}

// Checker is a configuration of a program or scheduler that has to fit its switch.
type Checker interface {
	// Check returns remarks about the configuration in a switch. It is called when the file is read, once for each switch.
	Check(s *SwitchContext) []scheme.Remark
}

// Check returns the remarks about the configuration of a program, or of a port's scheduler, in a switch.
func Check(c scheme.Config, s *SwitchContext) []scheme.Remark {
	return append(append(s.MarksBeyondBuffer(c), s.checkListedUsers(c)...), configRemarks(c, s)...)
}

// checkListedUsers returns the remarks about users in a configuration: names that the file does not declare, prefixes
// of declared users, and addresses of one customer that are two users. The first two are refusals. Without a Book, or
// for a configuration that is no users.Lister, there are no remarks.
func (s *SwitchContext) checkListedUsers(c scheme.Config) []scheme.Remark {
	x, ok := c.(users.Lister)
	if !ok || s.Book == nil {
		return nil
	}
	param, sets, completes := x.Sets()
	err := users.CheckKnown(s.Book, sets)
	if err == nil {
		err = users.CheckConflicts(s.Book, sets)
	}
	if err != nil {
		return []scheme.Remark{scheme.NewRefusal(param, "%v", err)}
	}
	if len(sets) == 0 { // the warning of `users` has what these divide on their own
		return nil
	}
	if text := s.DividedUsers(sets, completes); text != "" {
		return []scheme.Remark{WarnDivided.NewRemark(param, "%s", text)}
	}
	return nil
}

// DividedUsers returns a description of a customer that is two users, by the users that the file declares and the
// sets of a program or scheduler; "" if there is no such customer. completes is as in users.Lister.
func (s *SwitchContext) DividedUsers(sets []users.Set, completes bool) string {
	text := users.DescribeDivided(s.Book, sets, completes, users.Nodes{Names: s.Nodes, Dual: s.Dual})
	if text == "" {
		return ""
	}
	return text + ": a customer that is two users has two plans, meters or shares; a name of `users` stands for all " +
		"addresses of one"
}

// configRemarks returns the remarks of a configuration's own Check, or else the remarks about its target. Without a
// target there are no remarks.
func configRemarks(c scheme.Config, s *SwitchContext) []scheme.Remark {
	if x, ok := c.(Checker); ok {
		return x.Check(s)
	}
	t := TraitsOf(c)
	if t.TargetParam == "" {
		return nil
	}
	all := s.BeyondBuffer(t.TargetParam, ConstantDelay(t.Target))
	if t.RaisesTarget {
		return all
	}
	return append(s.BelowFrame(t.TargetParam, t.Target), all...)
}

// BelowFrame warns of a target delay that is shorter than the time of a frame at some port; the text has the slowest
// port. param is the parameter of the remark. Without a port with a rate in bit/s there is no remark.
func (s *SwitchContext) BelowFrame(param string, delay unit.Time) []scheme.Remark {
	p := s.SlowestPort()
	if p == nil {
		return nil
	}
	t := unit.TransmitTime(s.FrameSize(), p.Rate.Bits)
	if delay >= t {
		return nil
	}
	return []scheme.Remark{warnBelowFrame.NewRemark(param, "at the port to %s with %v, a frame of %d bytes takes %v, so "+
		"every queued frame exceeds %v", p.To, p.Rate, int64(s.FrameSize()), t, delay).WithPort(p.PortName(), timeRatio(t,
		delay))}
}

// BeyondBuffer warns of a target delay that a full buffer does not reach. The delay may depend on the port's rate.
// param is the parameter of the remark, which describes the port of FindShortBuffer. Without such a port there is no
// remark.
func (s *SwitchContext) BeyondBuffer(param string, delay func(unit.Rate) unit.Time) []scheme.Remark {
	p, holds := s.FindShortBuffer(delay)
	if p == nil {
		return nil
	}
	limit := delay(p.Rate.Bits)
	return []scheme.Remark{warnBeyondBuffer.NewRemark(param, "the buffer of the port to %s is full after %v, not above "+
		"%v, so it drops first, regardless of the "+
		"sender", p.To, holds, limit).WithPort(p.PortName(), timeRatio(limit, holds))}
}

// MarksBeyondBuffer warns of a configuration that marks only queues longer than a queue can be at a port where data can
// queue; for a standalone switch only at the ports with the lowest rate. An arriving packet finds at most a full queue
// less one frame, and a departing one leaves one frame less. Of several ports the remark has the worst.
func (s *SwitchContext) MarksBeyondBuffer(c scheme.Config) (all []scheme.Remark) {
	t := TraitsOf(c)
	if t.MarksFrom == nil {
		return nil
	}
	for _, port := range s.QueueingPorts() {
		if s.Switch == "" && port.Rate.Bits != s.MinPortRate() {
			continue
		}
		from, frame := t.MarksFrom(port.Rate.Bits), s.FrameSize()
		limit := port.Buffer.LowerOf(s.QueueLimit)
		// A limit in packets counts full frames, since smaller ones make a shorter queue.
		holds := limit.LowerOf(unit.Length{Bytes: unit.Bytes(limit.Packets) * frame}).Bytes
		if t.MarksFromPackets > 0 && limit.Packets > 0 {
			from = unit.Bytes(t.MarksFromPackets) * frame
		}
		if holds > 0 && from > 0 && from >= holds-frame {
			all = append(all, warnMarks.NewRemark("",
				"at %s with %v, it marks queues above %v, but a queue has at most %v, so packets are lost first",
				port.PortName(), port.Rate, from, holds).WithPort(port.PortName(), float64(from)/float64(holds)))
		}
	}
	return scheme.KeepWorst(all)
}

// ConstantDelay returns a delay that does not depend on the port's rate.
func ConstantDelay(delay unit.Time) func(unit.Rate) unit.Time {
	return func(unit.Rate) unit.Time { return delay }
}

// timeRatio returns a/b, at least 1; a b of 0 counts as 1 ps.
func timeRatio(a, b unit.Time) float64 { return max(1, float64(a)/float64(max(b, 1))) }

// CheckUpdateInterval warns of an update interval other than usualUpdate, the one for which usualGain is meant. gain
// multiplies the delay's distance from the target once an update, so the probability moves faster with shorter updates.
// The sum of the delay's changes does not depend on the update. DualPI2's gain follows from its update (RFC 9332
// Appendix A). A gain other than usualGain causes no warning.
func CheckUpdateInterval(update, usualUpdate unit.Time, gain, usualGain float64) []scheme.Remark {
	if update == usualUpdate || gain != usualGain {
		return nil
	}
	speed := usualUpdate.Seconds() / update.Seconds()
	return []scheme.Remark{warnPace.NewRemark("update", "the gain alpha acts once in an update, and %v is chosen for "+
		"one of %v: a constant delay changes the probability %.3g times as fast; alpha: %.3g "+
		"compensates", usualGain, usualUpdate, speed,
		usualGain/speed)}
}

// FindShortBuffer returns the port with a buffer that holds no more than a delay, among the ports at which data can
// queue; for a standalone switch among those with the lowest rate. Of several it is the port with the smallest share of
// its delay. holds is the delay of its full buffer. short is nil if there is no such port. A port without a rate in
// bit/s or without a limited buffer does not count.
func (s *SwitchContext) FindShortBuffer(delay func(unit.Rate) unit.Time) (short *Peer, holds unit.Time) {
	slowest, worst := s.MinPortRate(), 0.0
	for _, p := range s.QueueingPorts() {
		buffer := unit.Depth{Packets: p.Buffer.Packets, Bytes: p.Buffer.Bytes}.BytesAt(p.Rate.Bits, s.FrameSize())
		if p.Rate.Bits == 0 || buffer == 0 || s.Switch == "" && p.Rate.Bits != slowest {
			continue
		}
		t, limit := unit.Time(buffer*8e12/float64(p.Rate.Bits)), delay(p.Rate.Bits)
		if t <= limit && timeRatio(limit, t) > worst {
			short, holds, worst = p, t, timeRatio(limit, t)
		}
	}
	return short, holds
}

// MinPortRate returns the lowest rate in bit/s of ports at which data can queue; 0: no port has a rate.
func (s *SwitchContext) MinPortRate() unit.Rate {
	if p := s.SlowestPort(); p != nil {
		return p.Rate.Bits
	}
	return 0
}

// SlowestPort returns the first port with the lowest rate in bit/s, among the ports at which data can queue; nil: no
// port has a rate.
func (s *SwitchContext) SlowestPort() (slowest *Peer) {
	for _, p := range s.QueueingPorts() {
		if rate := p.Rate.Bits; rate > 0 && (slowest == nil || rate < slowest.Rate.Bits) {
			slowest = p
		}
	}
	return slowest
}

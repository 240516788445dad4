package cc

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Controller decides how fast one flow may send: told what happened, it answers
// with a Decision. It is a pure state machine; calls come in the order of time.
type Controller interface {
	// OnSend is called for every packet right before it is sent.
	OnSend(now unit.Time, s Sent)
	// OnAck is called for every acknowledgement that the transport accepted, after the
	// transport has seen what it delivers and what is lost. a is the caller's.
	OnAck(now unit.Time, a *Ack)
	// OnNotice is called for a message of the network that the transport has checked.
	OnNotice(now unit.Time, n Notice)
	// OnLoss is called when the transport's state of recovery changes.
	OnLoss(now unit.Time, l Loss)
	// OnTimer is called when Decision's NextTimer has come.
	OnTimer(now unit.Time)
	// Decision is the whole output; the transport reads it after every call.
	Decision() Decision
}

// Decision is what a controller says.
type Decision struct {
	// Window bounds what is in flight, in bytes of payload: at least one packet's.
	Window unit.Bytes
	// Rate is the pacing rate of payload; 0: not paced. A new rate also moves the
	// pending send.
	Rate unit.Rate
	// NextTimer is when OnTimer wants to be called; unit.Never for none.
	NextTimer unit.Time
	// SlowStart says that the window still doubles: then it counts as used when half
	// of it is (Linux' tcp_is_cwnd_limited).
	SlowStart bool
	// AppLimited asks that delivery-rate samples of what is in flight now count as
	// limited by the application: the controller holds the flow back (BBR's PROBE_RTT).
	AppLimited bool
	// Request is what the packet of the last OnSend asks of switches, flags of packet.Bolt; of schemes with Requests.
	Request uint8
}

// IsLimited reports whether the window limits a sender. inFlight is the payload in flight in bytes before an
// acknowledgement, packet the payload of a full packet. The window limits the sender if the next packet does not fit,
// or if IsHalfUsed. Senders report the result in Ack.Limited; a controller grows no other window.
func (d *Decision) IsLimited(inFlight, packet int64) bool {
	return inFlight+packet > int64(d.Window) || d.IsHalfUsed(inFlight, int64(d.Window))
}

// IsHalfUsed reports whether the window is in slow start and more than half of it is in flight. Such a window counts
// as fully used, because an acknowledgement arrives before the sender fills a window that doubles (Linux
// include/net/tcp.h, tcp_is_cwnd_limited). inFlight and window have the same unit, bytes or packets.
func (d *Decision) IsHalfUsed(inFlight, window int64) bool { return d.SlowStart && 2*inFlight > window }

// Sent is one packet that is being sent.
type Sent struct {
	Bytes         unit.Bytes // payload
	InFlight      int        // packets before it
	Retransmitted bool
	// Idle is how long nothing was in flight and nothing sent before this packet; 0
	// when something was in flight.
	Idle       unit.Time
	AppLimited bool // the application had nothing more to send at some time since the last sample
	// Left is the payload from this packet's first byte to the end of the flow, for schemes with Requests.
	Left unit.Bytes
}

// RecoveryState is the transport's state of recovery, as Linux has it.
type RecoveryState uint8

// States of recovery.
const (
	Open     RecoveryState = iota
	Disorder               // something is out of order or retransmitted, nothing known to be lost
	Reduced                // after an ECN echo (CWR): the window is being reduced
	Recovery               // fast recovery: lost packets are sent again
	Timeout                // after a retransmission timeout
)

// String returns the state in lower case, such as "recovery". It panics for a value that is not one of the states.
func (s RecoveryState) String() string {
	return [...]string{"open", "disorder", "reduced", "recovery", "timeout"}[s]
}

// Delivery is a delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation):
// Packets were delivered in Interval.
type Delivery struct {
	Packets        int       // 0: there is no sample
	Interval       unit.Time // the longer of the times in which they were sent and acknowledged
	PriorDelivered int64     // Ack.Delivered when the packet that gives the sample was sent
	AppLimited     bool      // the sender had nothing to send at some time in it
	Retransmitted  bool      // the packet that gives the sample had been sent before
}

// Ack is what one acknowledgement says: what it delivers, and in groups what else the
// transport knows of the flow. Counts of packets are those of the transport's segments.
type Ack struct {
	Packets   int        // newly delivered: acknowledged, or selectively so
	Bytes     unit.Bytes // their payload
	Advanced  bool       // the cumulative acknowledgement moved, or, on a path known to reorder, SACK delivered
	Limited   bool       // the window is what limits the sender
	Una       int64      // first byte not acknowledged
	Next      int64      // first byte never sent
	Seq       int64      // byte behind the last one of the packet that Telemetry is of; 0: Una
	Delivered int64      // packets delivered since the start

	RTT      RTT
	Delivery Delivery
	Flight   Flight
	Losses   Losses
	ECN      ECN

	// Telemetry is that of the packet that this answers. The acknowledgement may be a response
	// of its own that delivers nothing.
	Telemetry Telemetry
	// Feedback is what a receiver that controls (Rx-HPCC) says; its Window is 0 if it says nothing.
	Feedback Feedback
}

// RTT is the round-trip time as an acknowledgement finds it.
type RTT struct {
	Sample   unit.Time // of the packet that was sent last of those delivered; 0: no sample
	Smoothed unit.Time // SRTT (RFC 6298); 0: no sample yet
	Min      unit.Time // over the transport's window of 5 minutes; 0: no sample yet
	Delayed  bool      // the receiver may have delayed the ACK: Sample is no good for a minimum
}

// Flight is what an acknowledgement changes of the packets in flight.
type Flight struct {
	Before   int       // packets in flight before it
	After    int       // and after it
	NextSend unit.Time // when pacing lets the next packet go; not later than now if it does
}

// Losses is what the transport knows of losses after an acknowledgement.
type Losses struct {
	New   int           // packets found lost by this acknowledgement
	Total int64         // packets found lost since the start
	State RecoveryState // of recovery
}

// ECN is what an acknowledgement says of congestion marks.
type ECN struct {
	Echo      bool  // it carries an ECN echo (RFC 3168 §6.1.3)
	Delivered int64 // packets since the start that were acknowledged with an echo
}

// Telemetry is what the network wrote into a packet on its way to the receiver.
type Telemetry struct {
	Hops []telemetry.Hop // of its path, oldest first; the caller's, good during the call; nil: no telemetry
	// Load is the largest of the path, or a bound of it, of telemetry without records (PINT; upon
	// congestion only); 0: none.
	Load   float64
	Path   uint16 // identity of the path (telemetry.Records)
	Missed uint8  // hops that found no room for their records

	// Of schemes with Requests: flags of packet.Bolt, as switches have left them, and the time in ns that the queue
	// takes which the packet found, if none of them has told the sender; 0: there was none, or one has.
	Answer uint8
	Drain  uint32
}

// NoticeKind is what a Notice is.
type NoticeKind uint8

// Kinds of notices.
const (
	NackNotice  NoticeKind = iota // a switch has trimmed or dropped a packet of the flow
	CNPNotice                     // congestion notification packet of a receiver or switch
	QueueNotice                   // a packet of the flow has found a queue (Bolt's SRC)
)

// Notice is a message made by the network, already checked by the transport:
// the flow is known, the sequence is in flight, and it is no replay.
type Notice struct {
	Kind NoticeKind
	Seq  int64 // first byte of the packet that it is about

	// Of a NackNotice: the payload of packets that are gone and will be sent again (0: of an
	// elephant from which nothing is lost), and in bit/s of frames what the switch has for the
	// flow and what that has sent through it lately (0: not said).
	Lost           unit.Bytes
	Supply, Demand unit.Rate

	// Of a QueueNotice: what the packet found before it at a port of Link, and when it was sent.
	Queue unit.Bytes
	Link  unit.Rate
	Sent  unit.Time
}

// LossKind is what happened.
type LossKind uint8

// Kinds of losses, and their ends.
const (
	// FastRecovery: packets are lost. The window to be reached is wanted; unless the
	// scheme has OwnRecovery, the transport reduces what is in flight by PRR (RFC 9937).
	FastRecovery LossKind = iota
	// LossInReduction: packets are lost while an ECN reduction goes on, which is the only
	// reduction of this window of data; Linux' dctcp_state halves nevertheless.
	LossInReduction
	// ECNEcho: the receiver has echoed a congestion mark, once per window of data.
	ECNEcho
	// Warned: a switch has told the flow that it is among the heaviest while memory lacks, and nothing of it is lost
	// (NCF, BS'19 §4.4). The reduction is milder than a loss's, as RFC 8511 has it for congestion marks, so that who
	// heeds notices does not lose against who waits for losses.
	Warned
	// RetransmissionTimeout: everything in flight but Loss.InFlight is lost.
	RetransmissionTimeout
	// Spurious: the last reduction was wrong (Eifel, DSACK, F-RTO) and shall be undone.
	Spurious
	// Recovered: the state is Open again.
	Recovered
	// Idled: the window has not been used for a while (RFC 2861, RFC 7661): it goes
	// down to Loss.Window.
	Idled
)

// String returns the kind in lower case with hyphens, such as "fast-recovery". It panics for a value that is not one of
// the kinds.
func (k LossKind) String() string {
	return [...]string{"fast-recovery", "loss-in-reduction", "ecn-echo", "warned", "timeout", "spurious", "recovered",
		"idled"}[k]
}

// Loss is a change of the transport's state of recovery.
type Loss struct {
	Kind     LossKind
	InFlight int   // packets that are neither lost nor delivered
	Lost     int   // packets that are known to be lost
	Window   int   // Idled: packets; Warned: a reduction goes no lower, for so much is offered
	Again    bool  // RetransmissionTimeout: within the same recovery; no further reduction is due
	Next     int64 // first byte never sent

	LostTotal int64 // packets found lost since the start
}

// ECNMode is how a flow uses ECN.
type ECNMode uint8

// Modes of ECN.
const (
	AsConfigured ECNMode = iota // the transport's own parameter decides; RFC 3168
	DCTCPMode                   // always on; every segment is ECT; the receiver echoes each change (RFC 8257 §3.2)
	CNPMode                     // always on; the receiver answers marks with CNPs (DCQCN, SIGCOMM 2015 §3.1)
)

// Flow is what a scheme needs to know to make the controller of a flow.
type Flow struct {
	MSS           int32       // payload of a full packet
	MTU           int32       // IP bytes of a full packet
	Frame         int32       // bytes of its frame on a link, with the telemetry that it asks for; 0: not known
	Paced         bool        // the transport paces also without a Rate
	Bursts        bool        // the host sends several packets in one piece, as Linux does for segmentation offload
	Loads         bool        // telemetry has no records, only Telemetry.Load: format relative
	InitialWindow int         // packets (RFC 6928: 10)
	Start         unit.Time   // time 0 of the flow
	Random        unit.Random // the flow's own stream
	// Paths is how many paths the sender chooses among, each with a controller that is told of its own packets
	// only and begins with its share of the flow; 0 or 1: it does not choose.
	Paths int

	Path // what is known of it
}

// Path is what is known of a flow's path before its first packet.
type Path struct {
	// LineRate is what the sender's link carries of payload in full packets: its bit rate
	// times payload over frame. 0: not known.
	LineRate unit.Rate
	// NICRate is that bit rate itself. 0: not known, or not in bit/s.
	NICRate unit.Rate
	// ReceiverRate is the bit rate of the receiver's link. 0: not known, or not in bit/s.
	ReceiverRate unit.Rate
	// BaseRTT is the round-trip time of a full packet and its acknowledgement on the empty
	// path, with basic headers only. 0: not known.
	BaseRTT unit.Time
	// Hops is the number of switches on the way to the receiver. 0: one link joins the hosts or, where BaseRTT is not
	// known either, not known.
	Hops int
	// Queueing is how long a packet and its acknowledgement wait together at most, in full buffers and pauses on both
	// ways. unit.Never: some queue has no limit. 0: not known.
	Queueing unit.Time
	// Reorders: packets may overtake each other, or packets without payload overtake those with it.
	Reorders bool
	// Uneven: switches send packets or flowlets of one flow over several paths, and links that are alternatives of each
	// other have different rates, so that packets may wait in a slow one for long.
	Uneven bool
}

// MaxRTT returns the longest round trip of the path, with full buffers; unit.Never if it has no known
// bound.
func (p *Path) MaxRTT() unit.Time {
	if p.Queueing <= 0 || p.Queueing >= unit.Never-p.BaseRTT {
		return unit.Never
	}
	return p.BaseRTT + p.Queueing
}

// Scheme is a controller that an experiment can name.
type Scheme struct {
	scheme.Scheme
	ECN ECNMode
	// Kernel is the congestion control of a kernel that does the same: a word for TCP_CONGESTION. "": there
	// is none, and the lab cannot have the scheme. The names alone say nothing: somebody's own vegas is not
	// Linux's.
	Kernel string
	// OwnRecovery: the Window is exact also in recovery; the transport applies no PRR
	// and does not touch an idle window (Linux: cong_control).
	OwnRecovery bool
	// KeepsOnSend: OnSend leaves the Decision as it is, so that transports need not read it again after each packet,
	// which is 1 % of a run's instructions.
	KeepsOnSend bool
	// PerPath: a flow may have several controllers of this scheme, one for each path that its sender chooses
	// (Flow.Paths).
	PerPath bool
	// BufferedWindows is how many windows a send buffer holds at least (Linux:
	// sndbuf_expand); 0 means 2.
	BufferedWindows int
	// Telemetry is what the controller, or its Receiver, wants to know of the path.
	Telemetry telemetry.Want
	// Requests: its packets carry requests to switches (packet.Bolt), of which it hears again by acknowledgements
	// and QueueNotices.
	Requests bool
	// Tick is in which its controllers take time, counted from the run's start (Linux: jiffies); 0: they look at
	// differences of exact times only.
	Tick unit.Time
	// Signals of congestion, of which one is enough for the law; 0: it reacts to nothing, or does not say.
	Signals Signals
	// Build makes the controller of a flow with a configuration of the scheme: nil for the
	// defaults. Define writes it.
	Build func(f Flow, c scheme.Config) (Controller, error)
	// Rebuild is Build, which may take the memory of a controller of a flow that is over, with the same configuration,
	// which nobody has any more. It makes none if that is no controller of its own, but one of who has put something
	// around Build: who asks builds then. nil: there is Build only. DefineReusing writes it.
	Rebuild func(f Flow, c scheme.Config, old Controller) (Controller, error)
	// Receiver makes the scheme's part at the receiver, for which the telemetry is then: it
	// is not sent back. f is the sender's; host is shared by the flows that its host
	// receives. nil: the scheme has none.
	Receiver func(f Flow, c scheme.Config, host *Host) (Receiver, error)
}

// Define completes a scheme by what makes the controller of a flow, for configurations of
// type C, in which all values are in their ranges and go together.
func Define[C any, P scheme.Bound[C], K Controller](s Scheme, build func(f Flow, c C) (K, error)) Scheme {
	s.Config = scheme.For[C, P]
	s.Build = func(f Flow, c scheme.Config) (Controller, error) {
		own, err := scheme.As[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("cc %s: %w", s.Name, err)
		}
		k, err := build(f, own)
		if err != nil {
			return nil, err
		}
		return k, nil
	}
	return s
}

// DefineReusing is Define for a scheme that may make a controller of an old one, if there is any.
func DefineReusing[C any, P scheme.Bound[C], K Controller](s Scheme,
	rebuild func(f Flow, c C, old Controller) (K, error)) Scheme {
	s = Define[C, P](s, func(f Flow, c C) (K, error) { return rebuild(f, c, nil) })
	s.Rebuild = func(f Flow, c scheme.Config, old Controller) (Controller, error) {
		if _, own := old.(K); !own {
			return nil, nil
		}
		own, err := scheme.As[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("cc %s: %w", s.Name, err)
		}
		k, err := rebuild(f, own, old)
		if err != nil {
			return nil, err
		}
		return k, nil
	}
	return s
}

// DefineReceiver is Define with a part at the receiver.
func DefineReceiver[C any, P scheme.Bound[C], K Controller, R Receiver](s Scheme, build func(f Flow, c C) (K, error),
	receiver func(f Flow, c C, host *Host) (R, error)) Scheme {
	s = Define[C, P](s, build)
	s.Receiver = func(f Flow, c scheme.Config, host *Host) (Receiver, error) {
		own, err := scheme.As[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("cc %s: %w", s.Name, err)
		}
		r, err := receiver(f, own, host)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	return s
}

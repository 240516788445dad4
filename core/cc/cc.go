package cc

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Controller decides how fast one flow may send. The transport reports events to it and reads its Decision. A
// Controller is a pure state machine; calls arrive in the order of time.
type Controller interface {
	// OnSend is called for every packet right before it is sent.
	OnSend(now unit.Time, s Sent)
	// OnAck is called for every acknowledgement that the transport accepted, after the transport has updated what is
	// delivered and lost. a belongs to the caller.
	OnAck(now unit.Time, a *Ack)
	// OnNotice is called for a message from the network that the transport has checked.
	OnNotice(now unit.Time, n Notice)
	// OnLoss is called when the transport's recovery state changes.
	OnLoss(now unit.Time, l Loss)
	// OnTimer is called when the time Decision.NextTimer is reached.
	OnTimer(now unit.Time)
	// Decision returns the controller's whole output. The transport reads it after every call.
	Decision() Decision
}

// Decision is the output of a controller.
type Decision struct {
	// Window limits the payload in flight, in bytes; at least one packet.
	Window unit.Bytes
	// Rate is the pacing rate of payload; 0: not paced. A new rate also reschedules the pending send.
	Rate unit.Rate
	// NextTimer is the time of the next call of OnTimer; unit.Never: no timer.
	NextTimer unit.Time
	// SlowStart reports that the window still doubles. Then half of it in flight counts as fully used (Linux'
	// tcp_is_cwnd_limited).
	SlowStart bool
	// AppLimited marks delivery-rate samples of the packets in flight as limited by the application, because the
	// controller holds the flow back (BBR's PROBE_RTT).
	AppLimited bool
	// Request is the request to switches in the packet of the last OnSend, flags of packet.Bolt. Only schemes with
	// Requests set it.
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

// Sent describes one packet that is about to be sent.
type Sent struct {
	Bytes         unit.Bytes // payload
	InFlight      int        // packets in flight before it
	Retransmitted bool
	// Idle is the time before this packet in which no packet was in flight or sent; 0 if packets were in flight.
	Idle       unit.Time
	AppLimited bool // the application ran out of data at some time since the last sample
	// Left is the payload from this packet's first byte to the end of the flow, for schemes with Requests.
	Left unit.Bytes
}

// RecoveryState is the transport's recovery state, as in Linux.
type RecoveryState uint8

// States of recovery.
const (
	Open     RecoveryState = iota
	Disorder               // packets are reordered or retransmitted, and no loss is known
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
	Packets        int       // 0: no sample
	Interval       unit.Time // the longer of the times in which they were sent and acknowledged
	PriorDelivered int64     // Ack.Delivered when the packet that gives the sample was sent
	AppLimited     bool      // the sender ran out of data at some time in Interval
	Retransmitted  bool      // the packet that gives the sample is a retransmission
}

// Ack is one acknowledgement as the transport evaluated it: the packets that it delivers, and groups of values that
// the transport knows about the flow. Packets are counted in the transport's segments.
type Ack struct {
	Packets      int        // newly delivered: acknowledged cumulatively or selectively
	Bytes        unit.Bytes // payload of the packets newly delivered
	Advanced     bool       // the cumulative acknowledgement moved, or, on a path known to reorder, SACK delivered
	Limited      bool       // the window limits the sender (Decision.IsLimited)
	FirstUnacked int64      // first byte not acknowledged
	Next         int64      // first byte never sent
	Seq          int64      // byte after the packet that Telemetry describes; 0: FirstUnacked
	Delivered    int64      // packets delivered since the start

	RTT      RTT
	Delivery Delivery
	Flight   Flight
	Losses   Losses
	ECN      ECN

	// Telemetry comes from the acknowledged packet. The acknowledgement may be a separate response that delivers no
	// packet.
	Telemetry Telemetry
	// Feedback comes from a receiver that controls the sender (Rx-HPCC); its Window is 0 if there is no feedback.
	Feedback Feedback
}

// RTT holds the round-trip times known at an acknowledgement.
type RTT struct {
	Sample   unit.Time // of the delivered packet that was sent last; 0: no sample
	Smoothed unit.Time // SRTT (RFC 6298); 0: no sample yet
	Min      unit.Time // over the transport's window of 5 minutes; 0: no sample yet
	Delayed  bool      // the receiver may have delayed the ACK, so that Sample is no minimum
}

// Flight describes the packets in flight around an acknowledgement.
type Flight struct {
	Before   int       // packets in flight before the acknowledgement
	After    int       // packets in flight after it
	NextSend unit.Time // when pacing permits the next packet; now or earlier: at once
}

// Losses holds the losses known after an acknowledgement.
type Losses struct {
	New   int           // packets found lost by this acknowledgement
	Total int64         // packets found lost since the start
	State RecoveryState // recovery state
}

// ECN holds the congestion marks that an acknowledgement reports.
type ECN struct {
	Echo      bool  // it carries an ECN echo (RFC 3168 §6.1.3)
	Delivered int64 // packets acknowledged with an echo since the start
}

// Telemetry is what the network wrote into a packet on its way to the receiver.
type Telemetry struct {
	Hops []telemetry.Hop // records of the path, oldest first; the caller's, valid during the call; nil: no telemetry
	// Load is the largest load on the path, or an upper bound, from telemetry without records (PINT; on congestion
	// only); 0: no value.
	Load       float64
	Path       uint16 // identity of the path (telemetry.Records)
	MissedHops uint8  // hops without room for their records

	// Answer and Drain belong to schemes with Requests. Answer holds the flags of packet.Bolt as the switches left them.
	// Drain is the time in ns that the queue found by the packet takes to drain; 0: there was no queue, or a switch has
	// notified the sender.
	Answer uint8
	Drain  uint32
}

// NoticeKind is the kind of a Notice.
type NoticeKind uint8

// Kinds of notices.
const (
	NackNotice  NoticeKind = iota // a switch trimmed or dropped a packet of the flow
	CNPNotice                     // congestion notification packet of a receiver or switch
	QueueNotice                   // a packet of the flow found a queue (Bolt's SRC)
)

// Notice is a message from the network that the transport has checked: the flow is known, the sequence number is in
// flight, and the message is no replay.
type Notice struct {
	Kind NoticeKind
	Seq  int64 // first byte of the packet that the notice is about

	// Fields of a NackNotice. Lost is the payload of the packets that are lost and will be sent again; 0 for an elephant
	// that lost no packet. Supply is the rate, in bit/s of frames, that the switch offers the flow, Demand the rate at
	// which the flow recently sent through the switch; 0: not reported.
	Lost           unit.Bytes
	Supply, Demand unit.Rate

	// Fields of a QueueNotice: the queue that the packet found at a port of rate Link, and when the packet was sent.
	Queue unit.Bytes
	Link  unit.Rate
	Sent  unit.Time
}

// LossKind is the kind of a Loss.
type LossKind uint8

// Kinds of losses, and of the events that end them.
const (
	// FastRecovery: packets are lost. The controller sets the window to be reached. Unless the scheme has OwnRecovery,
	// the transport reduces the packets in flight to it by PRR (RFC 9937).
	FastRecovery LossKind = iota
	// LossInReduction: packets are lost during an ECN reduction, which is the only reduction of this window of data.
	// Linux' dctcp_state halves nevertheless.
	LossInReduction
	// ECNEcho: the receiver echoed a congestion mark. It is reported once per window of data.
	ECNEcho
	// Warned: a switch reports that the flow is among the heaviest while memory is short, and no packet of the flow is
	// lost (NCF, BS'19 §4.4). The reduction is milder than after a loss, as in RFC 8511 for congestion marks. So flows
	// that respond to notices keep their share next to flows that wait for losses.
	Warned
	// RetransmissionTimeout: all packets in flight except Loss.InFlight are lost.
	RetransmissionTimeout
	// Spurious: the last reduction was unnecessary (Eifel, DSACK, F-RTO), and the controller undoes it.
	Spurious
	// Recovered: the state is Open again.
	Recovered
	// Idled: the window was not used for a while (RFC 2861, RFC 7661) and falls to Loss.Window.
	Idled
)

// String returns the kind in lower case with hyphens, such as "fast-recovery". It panics for a value that is not one of
// the kinds.
func (k LossKind) String() string {
	return [...]string{"fast-recovery", "loss-in-reduction", "ecn-echo", "warned", "timeout", "spurious", "recovered",
		"idled"}[k]
}

// Loss is a change of the transport's recovery state.
type Loss struct {
	Kind     LossKind
	InFlight int   // packets that are neither lost nor delivered
	Lost     int   // packets that are known to be lost
	Window   int   // in packets; Idled: the new window; Warned: the offer, below which no reduction goes
	Again    bool  // RetransmissionTimeout: within the same recovery; no further reduction is due
	Next     int64 // first byte never sent

	LostTotal int64 // packets found lost since the start
}

// ECNMode selects how a flow uses ECN.
type ECNMode uint8

// Modes of ECN.
const (
	AsConfigured ECNMode = iota // the transport's own parameter decides; RFC 3168
	DCTCPMode                   // always on; every segment is ECT; the receiver echoes each change (RFC 8257 §3.2)
	CNPMode                     // always on; the receiver answers marks with CNPs (DCQCN, SIGCOMM 2015 §3.1)
)

// Flow holds what a scheme needs to create the controller of a flow.
type Flow struct {
	MSS           int32       // payload of a full packet
	MTU           int32       // IP bytes of a full packet
	Frame         int32       // bytes of its frame on a link, with the telemetry that it requests; 0: not known
	Paced         bool        // the transport paces even without a Rate
	Bursts        bool        // the host sends several packets as one burst, as Linux does for segmentation offload
	Loads         bool        // telemetry has no records, only Telemetry.Load: format relative
	InitialWindow int         // packets (RFC 6928: 10)
	Start         unit.Time   // start of the flow
	Random        unit.Random // the flow's own stream
	// Paths is the number of paths among which the sender chooses; 0 or 1: it does not choose. Each path has a
	// controller, which receives the events of its own packets only and begins with its share of the flow.
	Paths int

	Path // as far as it is known
}

// Path is what is known of a flow's path before its first packet.
type Path struct {
	// LineRate is the rate of payload that the sender's link carries in full packets: its bit rate times payload over
	// frame. 0: not known.
	LineRate unit.Rate
	// NICRate is the bit rate of the sender's link. 0: not known, or not in bit/s.
	NICRate unit.Rate
	// ReceiverRate is the bit rate of the receiver's link. 0: not known, or not in bit/s.
	ReceiverRate unit.Rate
	// BaseRTT is the round-trip time of a full packet and its acknowledgement on the empty
	// path, with basic headers only. 0: not known.
	BaseRTT unit.Time
	// Hops is the number of switches on the way to the receiver. 0: one link joins the hosts, or the number is not known
	// if BaseRTT is not known either.
	Hops int
	// MaxQueueing is the maximum time that a packet and its acknowledgement wait together, in full buffers and pauses in
	// both directions. unit.Never: some queue has no limit. 0: not known.
	MaxQueueing unit.Time
	// Reorders: packets may overtake each other, or packets without payload overtake packets with payload.
	Reorders bool
	// Uneven: switches spread packets or flowlets of one flow over alternative links of different rates, so that packets
	// may wait long in a slow link.
	Uneven bool
}

// MaxRTT returns the longest round trip of the path, with full buffers; unit.Never if it has no known
// bound.
func (p *Path) MaxRTT() unit.Time {
	if p.MaxQueueing <= 0 || p.MaxQueueing >= unit.Never-p.BaseRTT {
		return unit.Never
	}
	return p.BaseRTT + p.MaxQueueing
}

// Scheme is a controller that an experiment can name.
type Scheme struct {
	scheme.Scheme
	ECN ECNMode
	// Kernel is the name of the same congestion control in Linux, for TCP_CONGESTION. "": the kernel has no equivalent,
	// and the lab cannot run the scheme. An equal name does not suffice: a user's own vegas is not Linux's.
	Kernel string
	// OwnRecovery: Window also applies exactly in recovery. The transport applies no PRR and does not change an idle
	// window (Linux: cong_control).
	OwnRecovery bool
	// KeepsOnSend: OnSend does not change the Decision, so that transports need not read it again after each packet.
	KeepsOnSend bool
	// PerPath: a flow may have several controllers of this scheme, one for each path that its sender chooses
	// (Flow.Paths).
	PerPath bool
	// BufferedWindows is the minimum number of windows that a send buffer holds (Linux: sndbuf_expand); 0 means 2.
	BufferedWindows int
	// Telemetry is the telemetry that the controller, or its Receiver, requests.
	Telemetry telemetry.Request
	// Requests: packets carry requests to switches (packet.Bolt). Answers arrive in acknowledgements and as QueueNotice.
	Requests bool
	// Tick is the unit in which controllers count time from the run's start (Linux: jiffies). 0: they use only
	// differences of exact times.
	Tick unit.Time
	// Signals are the congestion signals that the law reacts to; one of them suffices. 0: no signal, or not declared.
	Signals Signals
	// Build creates the controller of a flow with a configuration of the scheme; nil: the defaults. Define sets Build.
	Build func(f Flow, c scheme.Config) (Controller, error)
	// Rebuild is Build with the memory of old, the controller of a finished flow with the same configuration that has no
	// other user. It returns no controller if old is not of the scheme's own type, because a caller has wrapped Build;
	// then the caller uses Build. nil: the scheme has only Build. DefineReusing sets Rebuild.
	Rebuild func(f Flow, c scheme.Config, old Controller) (Controller, error)
	// Receiver creates the scheme's part at the receiver, which then reads the telemetry; it is not sent back. f is the
	// sender's flow. host is shared by the flows that its host receives. nil: the scheme has no such part.
	Receiver func(f Flow, c scheme.Config, host *Host) (Receiver, error)
}

// Define returns s with Config and Build for configurations of type C. build creates the controller of a flow; it
// gets only configurations with values in their ranges that fit together.
func Define[C any, P scheme.Bound[C], K Controller](s Scheme, build func(f Flow, c C) (K, error)) Scheme {
	s.Config = scheme.NewDefault[C, P]
	s.Build = func(f Flow, c scheme.Config) (Controller, error) {
		own, err := scheme.ConfigAs[C, P](c)
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

// DefineReusing is Define for a scheme that can reuse the memory of an old controller; old is nil for a
// controller with memory of its own.
func DefineReusing[C any, P scheme.Bound[C], K Controller](s Scheme,
	rebuild func(f Flow, c C, old Controller) (K, error)) Scheme {
	s = Define[C, P](s, func(f Flow, c C) (K, error) { return rebuild(f, c, nil) })
	s.Rebuild = func(f Flow, c scheme.Config, old Controller) (Controller, error) {
		if _, own := old.(K); !own {
			return nil, nil
		}
		own, err := scheme.ConfigAs[C, P](c)
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

// DefineReceiver is Define for a scheme with a part at the receiver, which receiver creates.
func DefineReceiver[C any, P scheme.Bound[C], K Controller, R Receiver](s Scheme, build func(f Flow, c C) (K, error),
	receiver func(f Flow, c C, host *Host) (R, error)) Scheme {
	s = Define[C, P](s, build)
	s.Receiver = func(f Flow, c scheme.Config, host *Host) (Receiver, error) {
		own, err := scheme.ConfigAs[C, P](c)
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

package cc

import "weir/core/unit"

// Receiver is a scheme's part at the receiver of one flow. The transport reports arriving data to it and sends its
// feedback to the sender. Like a Controller it is a pure state machine.
type Receiver interface {
	// OnData is called for each packet of the flow that arrives, with its telemetry. atOnce requests that feedback f is
	// sent at once.
	OnData(now unit.Time, d *Data) (f Feedback, atOnce bool)
	// OnTimer is called when the time NextTimer is reached.
	OnTimer(now unit.Time) (f Feedback, atOnce bool)
	// NextTimer returns the time of the next call of OnTimer; unit.Never: no timer.
	NextTimer() unit.Time
	// Feedback returns the last feedback, which every acknowledgement carries.
	Feedback() Feedback
	// Coalesce returns the number of packets that an acknowledgement may wait for, at most limit.
	Coalesce(limit int) int
}

// Multipath is a Receiver for one of several paths among which its sender chooses (Scheme.PerPath).
type Multipath interface {
	// JoinFirst makes it share the flow's state with the Receiver of the flow's first path, so that the flow counts once
	// (Census).
	JoinFirst(first Receiver)
}

// AgentParams holds the parameters of a law for an agent at a host.
type AgentParams struct {
	Eta      float64   // target utilisation
	MaxStage int       // additive increases before a multiplicative one
	Flows    int       // N, flows expected on a link, which determine W_ai
	T        unit.Time // base round-trip time; 0: the path's
}

// Data is a packet of the flow that has arrived at its Receiver.
type Data struct {
	Telemetry
	Adopted uint8 // Number of the latest feedback that the sender had adopted when it sent the packet
	// Overtaken: a packet that was sent later has arrived earlier, and this one is no retransmission.
	Overtaken bool
}

// Feedback is what a Receiver sends to the sender.
type Feedback struct {
	Window unit.Bytes // window for the sender; may be below a packet, at least a byte
	// Flows is the second number of feedback, 13 bits on the wire. It is the count of flows of the receiving host
	// (Census), 8,191 if there are more, or a code of a scheme that counts no flows (T, with preset: agent). 0: not
	// known.
	Flows int32
	// Number cycles through 1 to FeedbackNumbers. It is 0 before a receiver has decided a window, or if the receiver
	// does not number its feedback. Data carries the number of the feedback that its sender had adopted (Data.Adopted).
	Number uint8
}

// FeedbackNumbers is the count of feedback numbers. A receiver does not use the next number before data with the
// latest one has arrived, so that two numbers in flight differ by at most one.
const FeedbackNumbers = 7

// NextNumber returns the number that follows n, the first one after 0.
func NextNumber(n uint8) uint8 { return n%FeedbackNumbers + 1 }

// IsOutdated reports whether feedback with this number is older than the adopted one, because packets of the path
// overtook each other.
func IsOutdated(number, adopted uint8) bool {
	return adopted > 0 && (number == 0 || (number+FeedbackNumbers-adopted)%FeedbackNumbers > FeedbackNumbers/2)
}

// Host holds what the Receivers of one host share.
type Host struct {
	Census Census
	shared map[string]any
}

// GetShared returns the object that the receivers of this host share under a name; the first call creates it with
// build. It is called when flows are created, not per packet.
func (h *Host) GetShared(name string, build func() any) any {
	if h.shared == nil {
		h.shared = map[string]any{}
	}
	x, there := h.shared[name]
	if !there {
		x = build()
		h.shared[name] = x
	}
	return x
}

// Census counts the flows that send packets to a host. A flow counts for a time T after each of its packets: as one
// flow, or as the number of Ts that it was silent before that packet, up to maxSilence. So the count is right on
// average even if windows are below a packet and most flows send no packet within T. The zero value is a host without
// flows.
type Census struct {
	oldest, newest *Member
	flows          int64 // sum of Member.weight
}

// Member is a flow's place in a Census; the zero value is not in one.
type Member struct {
	previous, next   *Member
	lastPacket       unit.Time
	weight           int64 // flows that it stands for, in 1/weightScale
	counted, hasSent bool  // hasSent: it has sent before, last at lastPacket
}

const (
	weightScale = 256
	// maxSilence limits the weight of a flow that was silent for a reason other than its window. Without it, a flow that
	// returns from a long pause would make the others' increase vanish.
	maxSilence = 64
)

// CountFlow counts flow m for a time t from now on, and removes the flows that have sent no packet for t. It is called
// for each packet of the flow that arrives. now must not go back.
func (c *Census) CountFlow(now, t unit.Time, m *Member) {
	c.RemoveFlow(m)
	m.weight = weightScale
	if silent := now - m.lastPacket; m.hasSent && silent > t {
		m.weight = maxSilence * weightScale
		if silent < maxSilence*t {
			m.weight = int64(float64(silent) / float64(t) * weightScale)
		}
	}
	m.lastPacket, m.counted, m.hasSent, m.previous, m.next = now, true, true, c.newest, nil
	if c.newest != nil {
		c.newest.next = m
	} else {
		c.oldest = m
	}
	c.newest = m
	c.flows += m.weight
	for c.oldest.lastPacket < now-t {
		c.RemoveFlow(c.oldest)
	}
}

// CountFor returns the number of flows, rounded, as flow m sees it: m itself counts as one, the others with their
// weights. The packet of m proves its presence, and if silence raised its own count, the slowest flow would get the
// smallest share.
func (c *Census) CountFor(m *Member) int {
	others := c.flows
	if m.counted {
		others -= m.weight
	}
	return 1 + int((others+weightScale/2)/weightScale)
}

// RemoveFlow removes a flow from the count, if it is counted. m keeps the time of its last packet.
func (c *Census) RemoveFlow(m *Member) {
	if !m.counted {
		return
	}
	if m.previous != nil {
		m.previous.next = m.next
	} else {
		c.oldest = m.next
	}
	if m.next != nil {
		m.next.previous = m.previous
	} else {
		c.newest = m.previous
	}
	m.counted = false
	c.flows -= m.weight
}

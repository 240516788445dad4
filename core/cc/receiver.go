package cc

import "weir/core/unit"

// Receiver is a scheme's part at the receiver of one flow: it is told of the data that
// comes and says what the sender is to be told. It is a pure state machine as a
// Controller is.
type Receiver interface {
	// OnData is called for each packet of the flow that has come, with what the network has
	// written into it. now is true if the feedback is to be sent at once.
	OnData(now unit.Time, d *Data) (f Feedback, atOnce bool)
	// OnTimer is called when NextTimer has come.
	OnTimer(now unit.Time) (f Feedback, atOnce bool)
	// NextTimer is when OnTimer wants to be called; unit.Never for none.
	NextTimer() unit.Time
	// Feedback is what every acknowledgement carries: the last feedback.
	Feedback() Feedback
	// Coalesce is how many packets an acknowledgement may wait for, of at most most.
	Coalesce(most int) int
}

// Multipath is a Receiver of one path of several among which its sender chooses (Scheme.PerPath).
type Multipath interface {
	// Join makes it share with the Receiver of the flow's first path what is the flow's: it counts once (Census).
	Join(first Receiver)
}

// Agent is what an agent of a host is told of a law.
type Agent struct {
	Eta      float64   // target utilisation
	MaxStage int       // additive increases before a multiplicative one
	Flows    int       // N, expected on a link, which gives W_ai
	T        unit.Time // base round-trip time; 0: that of the path
}

// Data is a packet of the flow that has come to its Receiver.
type Data struct {
	Telemetry
	Adopted uint8 // Number of the latest feedback that the sender had adopted when it sent the packet
	// Overtaken: a packet that was sent later has arrived before, and this one was not sent again.
	Overtaken bool
}

// Feedback is what a Receiver tells the sender.
type Feedback struct {
	Window unit.Bytes // that it wants, also below a packet, but at least a byte
	// Flows is the second number of feedback, 13 bits on the wire: the count of flows of the receiving host (Census), of
	// more than 8,191 that, or a code of a scheme that counts no flows (T, with preset: agent). 0: not known.
	Flows int32
	// Number is 1 to FeedbackNumbers in turn, and 0 before a receiver has decided a window, or if it does not number its
	// feedback. Data carries the number of the feedback that its sender had adopted (Data.Adopted).
	Number uint8
}

// FeedbackNumbers is how many numbers of feedback there are. A receiver does not use the next one before data with the
// latest one has arrived, so that two numbers in flight differ by at most one.
const FeedbackNumbers = 7

// NextNumber returns the number that follows n, the first one after 0.
func NextNumber(n uint8) uint8 { return n%FeedbackNumbers + 1 }

// Outdated reports whether feedback with this number is older than one that was adopted before: packets of the path
// overtake each other.
func Outdated(number, adopted uint8) bool {
	return adopted > 0 && (number == 0 || (number+FeedbackNumbers-adopted)%FeedbackNumbers > FeedbackNumbers/2)
}

// Host is what the Receivers of one host share.
type Host struct {
	Census Census
	shared map[string]any
}

// Shared returns what the receivers of this host have in common under a name, which the
// first one that asks makes. It is for making flows, not for packets.
func (h *Host) Shared(name string, build func() any) any {
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

// Census counts the flows of which a host gets packets. A flow counts for T after each of its packets: for one,
// or for as many Ts as it was silent before that packet, up to mostSilent. So N is right on average also where
// windows are below a packet and most flows send none within T. The zero value is a host without flows.
type Census struct {
	oldest, newest *Member
	flows          int64 // in the unit of Member.weight
}

// Member is a flow's place in a Census; the zero value is not in one.
type Member struct {
	previous, next *Member
	at             unit.Time
	weight         int64 // flows that it stands for, in 1/one
	in, known      bool  // known: it has sent before, at at
}

const (
	one = 256
	// mostSilent bounds what a flow stands for that was silent for another reason than its window: nobody
	// who comes back from a long pause makes the others' increase vanish.
	mostSilent = 64
)

// Count is called when a packet of the flow has come, and forgets the flows that have sent
// none for t. now does not go back.
func (c *Census) Count(now, t unit.Time, m *Member) {
	c.Leave(m)
	m.weight = one
	if silent := now - m.at; m.known && silent > t {
		m.weight = mostSilent * one
		if silent < mostSilent*t {
			m.weight = int64(float64(silent) / float64(t) * one)
		}
	}
	m.at, m.in, m.known, m.previous, m.next = now, true, true, c.newest, nil
	if c.newest != nil {
		c.newest.next = m
	} else {
		c.oldest = m
	}
	c.newest = m
	c.flows += m.weight
	for c.oldest.at < now-t {
		c.Leave(c.oldest)
	}
}

// Flows returns the number of flows, rounded, as the flow of m gets it. The flow itself counts as one there, and in the
// numbers of others as what it stands for. Its packet proves that it is there, and if silence made its own N larger,
// the slowest flow would have the smallest share.
func (c *Census) Flows(m *Member) int {
	others := c.flows
	if m.in {
		others -= m.weight
	}
	return 1 + int((others+one/2)/one)
}

// Leave takes a flow out of the count.
func (c *Census) Leave(m *Member) {
	if !m.in {
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
	m.in = false
	c.flows -= m.weight
}

package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// ReplayHosts recreates Weir's own hosts (c.Make) and gives them the captured input in order and at its times. It
// compares the frames that they send: bytes, order and times in ps. Timers expire exactly when they are due.
// Differences are in the result. The error is about a capture that is damaged or belongs to another network.
func ReplayHosts(c *HostsConfig, capture io.Reader) (*ReplayResult, error) {
	r := &hostReplay{names: map[string]int{}, hosts: make([]replayedHost, len(c.Network.Nodes)),
		format: frameFormat{book: c.Hosts}}
	for node, n := range c.Network.Nodes {
		if !n.Switch {
			for i, name := range interfaceNames(c.Network, node) {
				if r.names[name] = node*interfacesPerPort + i; i == outputInterface {
					r.hosts[node].port = name
				}
			}
		}
	}
	if err := r.readCapture(capture); err != nil {
		return nil, fmt.Errorf("lab: replay of hosts: %w", err)
	}
	edge, _, err := c.Make(r.comparePacket)
	if err != nil {
		return nil, fmt.Errorf("lab: replay of hosts: %w", err)
	}
	r.edge = edge
	for _, a := range r.arrivals {
		if a.at > r.result.Until {
			break
		}
		edge.DeliverFrame(a.at, a.node, a.frame)
		r.result.In++
	}
	edge.Advance(r.result.Until)
	if err := edge.Err(); err != nil {
		return nil, fmt.Errorf("lab: replay of hosts: %w", err)
	}
	r.findDifference()
	return &r.result, nil
}

// findDifference stores the earliest difference and the number of equal frames in r.result. Hosts are compared
// separately, because they do not wait for each other.
func (r *hostReplay) findDifference() {
	first := unit.Never
	for i := range r.hosts {
		h := &r.hosts[i]
		if h.first == nil && h.matched < len(h.sent) {
			h.first = &Difference{Number: uint64(h.matched) + 1, Captured: &h.sent[h.matched]}
		}
		r.result.Out += uint64(h.matched)
		if h.first == nil {
			continue
		}
		for _, s := range [2]*SentFrame{h.first.Captured, h.first.Replayed} {
			if s != nil && s.At < first {
				r.result.First, first = h.first, s.At
			}
		}
	}
}

// hostReplay is the state of ReplayHosts.
type hostReplay struct {
	edge     Edge
	format   frameFormat
	names    map[string]int // number of an interface: node · interfacesPerPort + purpose
	hosts    []replayedHost // by node
	arrivals []hostArrival
	result   ReplayResult
	scratch  []byte
}

// replayedHost is one of the hosts.
type replayedHost struct {
	port    string
	sent    []SentFrame // captured output
	matched int         // number of frames sent so far, all equal to the capture
	first   *Difference
}

// hostArrival is a frame that a host receives.
type hostArrival struct {
	at    unit.Time
	node  int
	frame []byte
}

// readCapture reads the hosts' input and output from a capture, and the time at which it ends. Input out of order,
// unknown interfaces or comments and a missing end are errors.
func (r *hostReplay) readCapture(capture io.Reader) error {
	f, err := trace.NewFrameReader(capture)
	if err != nil {
		return err
	}
	ended := false
	var lastArrival unit.Time
	for number := 1; ; number++ {
		x, err := f.NextFrame()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		fail := func(format string, args ...any) error {
			return fmt.Errorf("frame %d of the capture, at %d ps, %s: %s", number, int64(x.At), x.On,
				fmt.Sprintf(format, args...))
		}
		on, known := r.names[x.On]
		switch {
		case !known:
			return fail("the network has no host with this interface")
		case ended:
			return fail("the frame is after the end of the capture")
		case x.Inbound != (on%interfacesPerPort == inputInterface):
			return fail("the frame has the wrong direction")
		}
		switch on % interfacesPerPort {
		case inputInterface:
			if x.At < minArrivalTime || x.At < lastArrival {
				return fail("the previous frame arrived at %d ps, which is later", int64(lastArrival))
			}
			if lastArrival = x.At; !isTakenComment(x.Comment) {
				return fail("the comment %q is unknown", x.Comment)
			}
			r.arrivals = append(r.arrivals, hostArrival{x.At, on / interfacesPerPort, bytes.Clone(x.Data)})
		case outputInterface:
			if x.Comment != "" && x.Comment != unwritableWord {
				return fail("the comment %q is unknown", x.Comment)
			}
			h := &r.hosts[on/interfacesPerPort]
			h.sent = append(h.sent, SentFrame{x.At, x.On, int32(len(x.Data)), bytes.Clone(x.Data)})
		default:
			if x.Comment != endWord && x.Comment != cutWord {
				return fail("the comment %q is unknown", x.Comment)
			}
			if ended, r.result.Until = true, x.At; x.Comment == cutWord {
				r.result.Until, r.result.Cut = max(x.At-minArrivalTime, 0), true // input at that time is missing
			}
		}
	}
	if !ended {
		return errors.New("the capture has no end; it was cut off")
	}
	for i := range r.hosts { // output at the end itself is incomplete
		h := &r.hosts[i]
		if k := slices.IndexFunc(h.sent, func(s SentFrame) bool { return s.At >= r.result.Until }); k >= 0 {
			h.sent = h.sent[:k]
		}
	}
	return nil
}

// minArrivalTime is the earliest arrival time. The link from a host's gate to the host takes it.
const minArrivalTime unit.Time = 1

// isTakenComment reports whether a comment is valid for a received frame.
func isTakenComment(comment string) bool {
	delay, hasDelay := strings.CutPrefix(comment, lateWord)
	n, err := strconv.ParseInt(delay, 10, 64)
	return comment == "" || hasDelay && err == nil && n > 0
}

// comparePacket compares a packet that a host sends at now with the capture, until the host's first difference, which
// it stores. It returns the packet to the hosts.
func (r *hostReplay) comparePacket(node int, now unit.Time, p *packet.Packet) {
	defer func() {
		if r.edge != nil {
			r.edge.ReturnPacket(p)
		}
	}()
	h := &r.hosts[node]
	if h.first != nil || now >= r.result.Until {
		return
	}
	r.scratch, _ = r.format.emitFrame(p, r.scratch[:0])
	var captured *SentFrame
	if h.matched < len(h.sent) {
		captured = &h.sent[h.matched]
	}
	if captured != nil && captured.At == now && bytes.Equal(captured.Frame, r.scratch) {
		h.matched++
		return
	}
	h.first = &Difference{uint64(h.matched) + 1, captured,
		&SentFrame{now, h.port, int32(len(r.scratch)), bytes.Clone(r.scratch)}}
}

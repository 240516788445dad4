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

// ReplayHosts makes the hosts of Weir's own anew, gives them the frames that a capture says they took, in its order and
// at its times, and compares what they send: bytes, order and times, to the picosecond. Their timers go at the times at
// which they are due. The error is about a capture that is damaged or of another network.
func ReplayHosts(c *HostsConfig, capture io.Reader) (*Replayed, error) {
	r := &hostReplay{names: map[string]int{}, hosts: make([]replayed, len(c.Network.Nodes)),
		format: frameFormat{book: c.Hosts}}
	for node, n := range c.Network.Nodes {
		if !n.Switch {
			for i, name := range interfaces(c.Network, node) {
				if r.names[name] = node*perPort + i; i == sending {
					r.hosts[node].port = name
				}
			}
		}
	}
	if err := r.read(capture); err != nil {
		return nil, fmt.Errorf("lab: replay of hosts: %w", err)
	}
	edge, _, err := c.Make(r.send)
	if err != nil {
		return nil, fmt.Errorf("lab: replay of hosts: %w", err)
	}
	r.edge = edge
	for _, a := range r.arrivals {
		if a.at > r.out.Until {
			break
		}
		edge.Enter(a.at, a.node, a.frame)
		r.out.In++
	}
	edge.Advance(r.out.Until)
	if err := edge.Err(); err != nil {
		return nil, fmt.Errorf("lab: replay of hosts: %w", err)
	}
	r.compare()
	return &r.out, nil
}

// compare finds the earliest difference: each host is compared by itself, for they do not wait for each other.
func (r *hostReplay) compare() {
	first := unit.Never
	for i := range r.hosts {
		h := &r.hosts[i]
		if h.first == nil && h.out < len(h.sent) {
			h.first = &Difference{Number: uint64(h.out) + 1, Captured: &h.sent[h.out]}
		}
		r.out.Out += uint64(h.out)
		if h.first == nil {
			continue
		}
		for _, s := range [2]*Sent{h.first.Captured, h.first.Replayed} {
			if s != nil && s.At < first {
				r.out.First, first = h.first, s.At
			}
		}
	}
}

// hostReplay is hosts that are given what others took.
type hostReplay struct {
	edge     Edge
	format   frameFormat
	names    map[string]int // number of an interface: node · perPort + purpose
	hosts    []replayed     // by node
	arrivals []hostArrival
	out      Replayed
	scratch  []byte
}

// replayed is one of the hosts.
type replayed struct {
	port  string
	sent  []Sent // by the capture
	out   int    // frames that it has sent alike
	first *Difference
}

// hostArrival is a frame that a host takes.
type hostArrival struct {
	at    unit.Time
	node  int
	frame []byte
}

// read takes a capture in.
func (r *hostReplay) read(capture io.Reader) error {
	f, err := trace.NewFrameReader(capture)
	if err != nil {
		return err
	}
	ended := false
	var took unit.Time
	for number := 1; ; number++ {
		x, err := f.Next()
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
		on, ours := r.names[x.On]
		switch {
		case !ours:
			return fail("the network has no host with such an interface")
		case ended:
			return fail("it is behind the end")
		case x.Inbound != (on%perPort == receiving):
			return fail("it goes in the other direction")
		}
		switch on % perPort {
		case receiving:
			if x.At < atOnce || x.At < took {
				return fail("the one before it came in at %d ps", int64(took))
			}
			if took = x.At; !late(x.Comment) {
				return fail("the comment %q is not known", x.Comment)
			}
			r.arrivals = append(r.arrivals, hostArrival{x.At, on / perPort, bytes.Clone(x.Data)})
		case sending:
			if x.Comment != "" && x.Comment != unwritableWord {
				return fail("the comment %q is not known", x.Comment)
			}
			h := &r.hosts[on/perPort]
			h.sent = append(h.sent, Sent{x.At, x.On, int32(len(x.Data)), bytes.Clone(x.Data)})
		default:
			if x.Comment != endWord && x.Comment != cutWord {
				return fail("the comment %q is not known", x.Comment)
			}
			if ended, r.out.Until = true, x.At; x.Comment == cutWord {
				r.out.Until, r.out.Cut = max(x.At-atOnce, 0), true // what came in then is not there
			}
		}
	}
	if !ended {
		return errors.New("the capture has no end: it was cut off")
	}
	for i := range r.hosts { // what is at the end itself is not all there
		h := &r.hosts[i]
		if k := slices.IndexFunc(h.sent, func(s Sent) bool { return s.At >= r.out.Until }); k >= 0 {
			h.sent = h.sent[:k]
		}
	}
	return nil
}

// atOnce is the earliest that a frame can come in: one takes so long from a host's door to the host.
const atOnce unit.Time = 1

// late reports whether a comment is that of a frame that was taken.
func late(comment string) bool {
	by, is := strings.CutPrefix(comment, lateWord)
	n, err := strconv.ParseInt(by, 10, 64)
	return comment == "" || is && err == nil && n > 0
}

// send compares what a host sends.
func (r *hostReplay) send(node int, now unit.Time, p *packet.Packet) {
	defer func() {
		if r.edge != nil {
			r.edge.Return(p)
		}
	}()
	h := &r.hosts[node]
	if h.first != nil || now >= r.out.Until {
		return
	}
	r.scratch, _ = r.format.write(p, r.scratch[:0])
	var captured *Sent
	if h.out < len(h.sent) {
		captured = &h.sent[h.out]
	}
	if captured != nil && captured.At == now && bytes.Equal(captured.Frame, r.scratch) {
		h.out++
		return
	}
	h.first = &Difference{uint64(h.out) + 1, captured,
		&Sent{now, h.port, int32(len(r.scratch)), bytes.Clone(r.scratch)}}
}

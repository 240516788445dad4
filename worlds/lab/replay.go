package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/core/dataplane"
	"weir/core/fabric"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// ReplayResult compares the output of a replayed switch with its capture.
type ReplayResult struct {
	In, Out uint64    // input frames, and output frames before the first difference
	Until   unit.Time // event time at which the capture ends
	Cut     bool      // the capture was cut off for lack of space (Captured.Cut)
	// First is the first difference; nil if the outputs are equal.
	First *Difference
}

// Difference is the first frame in which two outputs differ.
type Difference struct {
	Number             uint64     // of the output frame, from 1
	Captured, Replayed *SentFrame // nil: no further output
}

// SentFrame is an output frame.
type SentFrame struct {
	At    unit.Time // event time at which its first bit departs
	Port  string    // "s1->server"
	Size  int32     // size in bytes on the link
	Frame []byte
}

// String describes the frame with its bytes in hexadecimal digits; "nothing" for nil.
func (s *SentFrame) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("at %d ps from %s, %d bytes that count as %d: %x",
		int64(s.At), s.Port, len(s.Frame), s.Size, s.Frame)
}

// String describes the difference with both frames.
func (d *Difference) String() string {
	what := "frames"
	if a, b := d.Captured, d.Replayed; a != nil && b != nil {
		switch {
		case a.Port != b.Port:
			what = "ports"
		case a.At != b.At:
			what = "times"
		case a.Size != b.Size:
			what = "sizes"
		default:
			i := 0
			for i < len(a.Frame) && i < len(b.Frame) && a.Frame[i] == b.Frame[i] {
				i++
			}
			what = fmt.Sprintf("frames (byte %d)", i)
		}
	}
	return fmt.Sprintf("the %s of sent packet %d differ\ncaptured: %v\nreplayed: %v", what, d.Number, d.Captured,
		d.Replayed)
}

// Replay recreates the switch of a node, feeds it the captured input at its times, and compares the output: bytes,
// order and times in ps. Configuration and capture determine the output; link rates determine when ports are free.
// Differences are in the result. The error is about a capture that is damaged or belongs to another network.
func Replay(c *Config, name string, capture io.Reader) (*ReplayResult, error) {
	if err := c.checkConfig(); err != nil {
		return nil, err
	}
	node := -1
	for i, n := range c.Wiring.Network.Nodes {
		if n.Name == name && n.Switch {
			node = i
		}
	}
	if node < 0 {
		return nil, fmt.Errorf("lab: replay: there is no switch %q", name)
	}
	r, err := newReplay(c, node)
	if err != nil {
		return nil, fmt.Errorf("lab: replay: %w", err)
	}
	if err := r.readCapture(capture); err != nil {
		return nil, fmt.Errorf("lab: replay: %w", err)
	}
	return r.runFabric(), nil
}

// replay is a fabric of one switch with a neighbour at each port.
type replay struct {
	*dataplane.Switch // a node of the fabric, with its own Dequeue
	pool              packet.Pool
	format            frameFormat
	maxFrame          int // maximum frame length in bytes
	fabric            *fabric.Fabric
	names             map[string]int // number of an interface: port · interfacesPerPort + purpose
	ports             []string
	neighbours        []*neighbour
	changes           []portChange
	sent              []SentFrame // captured output
	result            ReplayResult
	scratch           []byte
}

// portChange is an event at a port.
type portChange struct {
	at   unit.Time
	port packet.PortID
	wiring.Event
}

// arrival is an input frame.
type arrival struct {
	at    unit.Time
	frame []byte
	size  int32
	made  bool // created by a switch; arrives without bytes
	flags uint8
}

// newReplay builds the fabric of a node, without input. It fails if a neighbour has several links, which captures
// cannot distinguish.
func newReplay(c *Config, node int) (*replay, error) {
	r := &replay{names: map[string]int{}, format: frameFormat{c.Wiring.Hosts, c.Wiring.Framing},
		maxFrame: c.maxFrameBytes()}
	w := c.buildWiring()
	sw, err := w.NewSwitch(node, fabric.Part{Pool: &r.pool, Observer: c.Observer}, nil, nil)
	if err != nil {
		return nil, err
	}
	r.Switch = sw
	for i, name := range interfaceNames(c.Wiring.Network, node) {
		if _, exists := r.names[name]; exists {
			return nil, fmt.Errorf("switch %s has several links to a neighbour, which captures cannot distinguish",
				c.Wiring.Network.Nodes[node].Name)
		}
		if r.names[name] = i; i%interfacesPerPort == outputInterface {
			r.ports = append(r.ports, name)
		}
	}
	nodes := []fabric.Node{r}
	var links []fabric.Link
	// Same order as in the capture's fabric, which decides the order of simultaneous events.
	for k, i := range w.LinksFrom(node) {
		port := packet.PortID(k)
		n := &neighbour{replay: r}
		r.neighbours = append(r.neighbours, n)
		nodes = append(nodes, n)
		links = append(links,
			fabric.Link{From: 0, FromPort: port, To: k + 1, Rate: w.Links[i].Rate},
			fabric.Link{From: k + 1, To: 0, ToPort: port, Rate: unit.LinkRate{Packets: instantRate}})
	}
	r.fabric, err = fabric.New(fabric.Config{Nodes: nodes, Links: links, Pool: &r.pool})
	return r, err
}

// instantRate is a rate at which every frame takes exactly instantTime, 1 ps, to arrive.
const (
	instantRate unit.PacketRate = 1e12
	instantTime unit.Time       = 1
)

// readCapture reads the switch's input, output and events from a capture into r, and the time at which it ends. It
// skips frames of other switches. Frames out of order, unknown comments and a missing end are errors.
func (r *replay) readCapture(capture io.Reader) error {
	f, err := trace.NewFrameReader(capture)
	if err != nil {
		return err
	}
	last, ended := unit.Time(0), false
	for number := 1; ; number++ {
		x, err := f.NextFrame()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		on, known := r.names[x.On]
		if !known {
			continue
		}
		fail := func(format string, args ...any) error {
			return fmt.Errorf("frame %d of the capture, at %d ps, %s: %s", number, int64(x.At), x.On,
				fmt.Sprintf(format, args...))
		}
		switch {
		case x.At < last:
			return fail("the previous frame was at %d ps, which is later", int64(last))
		case ended:
			return fail("the frame is after the end of the capture")
		case x.Inbound != (on%interfacesPerPort == inputInterface):
			return fail("the frame has the wrong direction")
		}
		last = x.At
		port, size, made, flags := packet.PortID(on/interfacesPerPort), int32(0), false, uint8(0)
		if on%interfacesPerPort != eventInterface {
			if size, made, flags, err = r.parseWords(x.Comment, len(x.Data)); err != nil {
				return fail("%v", err)
			}
		}
		switch on % interfacesPerPort {
		case inputInterface:
			n := r.neighbours[port]
			if k := len(n.script); x.At < instantTime || k > 0 && n.script[k-1].at >= x.At {
				return fail("two frames arrive at the same time")
			}
			n.script = append(n.script, arrival{x.At, append([]byte(nil), x.Data...), size, made, flags})
		case outputInterface:
			r.sent = append(r.sent, SentFrame{x.At, x.On, size, append([]byte(nil), x.Data...)})
		case eventInterface:
			if x.Comment == endWord || x.Comment == cutWord {
				ended, r.result.Until, r.result.Cut = true, x.At, x.Comment == cutWord
				break
			}
			e, err := readChange(x.Comment)
			if err != nil {
				return fail("%v", err)
			}
			r.changes = append(r.changes, portChange{x.At, port, e})
		}
	}
	if !ended {
		return errors.New("the capture has no end for the switch; it is of another switch, or was cut off")
	}
	return nil
}

// parseWords parses the comment of a frame of length bytes. Without a size in it, size follows from the framing. made
// means that a switch created the frame; flags are packet flags.
func (r *replay) parseWords(comment string, length int) (size int32, made bool, flags uint8, err error) {
	size = r.format.framing.FrameBytes(int32(length), 0, false)
	for comment != "" {
		var word string
		word, comment, _ = strings.Cut(comment, "; ")
		number, sized := strings.CutPrefix(word, "size ")
		switch {
		case sized:
			n, err := strconv.ParseInt(number, 10, 32)
			if err != nil || n < 0 {
				return 0, false, 0, fmt.Errorf("%q is not a size in bytes", number)
			}
			size = int32(n)
		case word == madeWord:
			made = true
		case word == trimmedWord:
			flags |= packet.Trimmed
		case word == internalWord:
			flags |= packet.Internal
		case word == unwritableWord:
		default:
			return 0, false, 0, fmt.Errorf("the comment %q is unknown", word)
		}
	}
	return size, made, flags, nil
}

// runFabric runs the replay up to the end of the capture, and returns the result with the first difference. It must be
// called once.
func (r *replay) runFabric() *ReplayResult {
	// Output at the end itself is incomplete.
	for k := range r.sent {
		if r.sent[k].At >= r.result.Until {
			r.sent = r.sent[:k]
			break
		}
	}
	for i := range r.neighbours {
		r.fabric.WakeNode(i+1, 0)
	}
	for _, c := range r.changes {
		at := min(c.at, r.result.Until)
		r.fabric.Run(at, nil)
		i := 2 * int(c.port)
		if c.Rate == (unit.LinkRate{}) {
			r.fabric.SetDown(i, c.Down)
			r.Switch.SetDown(at, c.port, c.Down)
			continue
		}
		r.fabric.SetRate(i, c.Rate, at)
		r.Port(c.port).SetRate(c.Rate)
	}
	r.fabric.Run(r.result.Until, nil)
	if r.result.First == nil && r.result.Out < uint64(len(r.sent)) {
		r.result.First = &Difference{Number: r.result.Out + 1, Captured: &r.sent[r.result.Out]}
	}
	return &r.result
}

// Dequeue returns the switch's next output frame and compares it with the capture, until the first difference.
func (r *replay) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	p, again := r.Switch.Dequeue(now, out)
	if p == nil || r.result.First != nil {
		return p, again
	}
	var data []byte
	data, _, r.scratch = r.format.encodeFrame(p, nil, r.scratch)
	k := r.result.Out
	if k < uint64(len(r.sent)) {
		if s := &r.sent[k]; s.At == now && s.Port == r.ports[out] && s.Size == p.Size && bytes.Equal(s.Frame, data) {
			r.result.Out++
			return p, again
		}
	}
	d := &Difference{Number: k + 1, Replayed: &SentFrame{now, r.ports[out], p.Size, append([]byte(nil), data...)}}
	if k < uint64(len(r.sent)) {
		d.Captured = &r.sent[k]
	}
	r.result.First = d
	return p, again
}

// neighbour sends the captured input of a port, timed so that the last bit arrives at the captured time, and
// consumes output. It implements fabric.Node.
type neighbour struct {
	replay *replay
	script []arrival
	ready  bool
	wants  packet.NodeRequests
}

// Receive frees a packet that the switch has sent.
func (n *neighbour) Receive(_ unit.Time, _ packet.PortID, p *packet.Packet) {
	n.replay.pool.Put(p)
}

// Dequeue returns the input frame that is due, nil without one, and counts it. A frame that a switch created has no
// bytes.
func (n *neighbour) Dequeue(unit.Time, packet.PortID) (*packet.Packet, unit.Time) {
	if !n.ready {
		return nil, unit.Never
	}
	r, a := n.replay, &n.script[0]
	n.script, n.ready = n.script[1:], false
	n.setTimer()
	p := r.pool.GetFrame(max(r.maxFrame, len(a.frame)))
	p.Data = append(p.Data, a.frame...)
	if a.made && p.Parse(r.format.book, p.Data) == nil {
		p.Data = nil
	}
	p.Size, p.Meta.Flags, p.Flow = a.size, a.flags, packet.NoFlow
	r.result.In++
	return p, unit.Never
}

// Wants returns the time of the next input frame and wakes (fabric.Node).
func (n *neighbour) Wants() *packet.NodeRequests {
	n.setTimer()
	return &n.wants
}

// setTimer sets the wake-up time for the next input frame.
func (n *neighbour) setTimer() {
	if n.wants.Timer = unit.Never; len(n.script) > 0 && !n.ready {
		n.wants.Timer = n.script[0].at - instantTime
	}
}

// Advance makes the next input frame ready if it is due at now.
func (n *neighbour) Advance(now unit.Time) {
	if len(n.script) > 0 && n.script[0].at-instantTime <= now {
		n.ready = true
		n.wants.WakePort(0)
	}
	n.setTimer()
}

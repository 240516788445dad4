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

// Replayed is how a switch that is given what a capture says came in compares with what the
// capture says went out.
type Replayed struct {
	In, Out uint64    // frames that came in, and that went out alike before the first difference
	Until   unit.Time // event time up to which the capture goes
	Cut     bool      // it went on, but had no more room (Captured.Cut)
	// First is the first difference; nil: there is none.
	First *Difference
}

// Difference is where two switches begin to differ.
type Difference struct {
	Number             uint64 // of the frame among those that go out, from 1
	Captured, Replayed *Sent  // nil: nothing more goes out
}

// Sent is a frame that goes out of a switch.
type Sent struct {
	At    unit.Time // event time at which its first bit leaves
	Port  string    // "s1->server"
	Size  int32     // bytes that the link counts
	Frame []byte
}

func (s *Sent) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("at %d ps from %s, %d bytes that count %d: %x", int64(s.At), s.Port, len(s.Frame), s.Size, s.Frame)
}

// String says where they differ, with both frames.
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
	return fmt.Sprintf("the %s of packet %d that goes out differ\ncaptured: %v\nreplayed: %v", what, d.Number, d.Captured,
		d.Replayed)
}

// Replay makes the switch of a node anew, gives it what a capture says came in, at the times
// at which it came, and compares what goes out: bytes, order and times, to the picosecond.
// All that decides those is in the configuration and the capture: when ports are free follows
// from their rates. The error is about a capture that is damaged or of another network.
func Replay(c *Config, name string, capture io.Reader) (*Replayed, error) {
	if err := c.check(); err != nil {
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
	if err := r.read(capture); err != nil {
		return nil, fmt.Errorf("lab: replay: %w", err)
	}
	return r.run(), nil
}

// replay is a fabric of one switch and, at each of its ports, a neighbour.
type replay struct {
	*dataplane.Switch // as a node of the fabric, but for Dequeue
	pool              packet.Pool
	format            frameFormat
	room              int // of a frame, in bytes
	fabric            *fabric.Fabric
	names             map[string]int // number of an interface: port · perPort + purpose
	ports             []string
	neighbours        []*neighbour
	changes           []change
	sent              []Sent // by the capture
	out               Replayed
	scratch           []byte
}

// change is what happens to a port.
type change struct {
	at   unit.Time
	port packet.PortID
	wiring.Event
}

// arrival is a frame that comes in.
type arrival struct {
	at    unit.Time
	frame []byte
	size  int32
	made  bool // by a switch: it comes without bytes
	flags uint8
}

func newReplay(c *Config, node int) (*replay, error) {
	r := &replay{names: map[string]int{}, format: frameFormat{c.Wiring.Hosts, c.Wiring.Framing}, room: c.room()}
	w := c.wire()
	sw, err := w.NewSwitch(node, fabric.Part{Pool: &r.pool, Observer: c.Observer}, nil, nil)
	if err != nil {
		return nil, err
	}
	r.Switch = sw
	for i, name := range interfaces(c.Wiring.Network, node) {
		if _, twice := r.names[name]; twice {
			return nil, fmt.Errorf("switch %s has several links to a neighbour, which captures cannot distinguish",
				c.Wiring.Network.Nodes[node].Name)
		}
		if r.names[name] = i; i%perPort == sending {
			r.ports = append(r.ports, name)
		}
	}
	nodes := []fabric.Node{r}
	var links []fabric.Link
	// in the same order as in the capture's fabric, by which events at one time are ordered
	for k, i := range w.Leaving(node) {
		port := packet.PortID(k)
		n := &neighbour{replay: r}
		r.neighbours = append(r.neighbours, n)
		nodes = append(nodes, n)
		links = append(links,
			fabric.Link{From: 0, FromPort: port, To: k + 1, Rate: w.Links[i].Rate},
			fabric.Link{From: k + 1, To: 0, ToPort: port, Rate: unit.LinkRate{Packets: instantly}})
	}
	r.fabric, err = fabric.New(fabric.Config{Nodes: nodes, Links: links, Pool: &r.pool})
	return r, err
}

// instantly is a rate at which every frame takes exactly 1 ps, so that it comes in then.
const (
	instantly unit.PacketRate = 1e12
	instant   unit.Time       = 1
)

// read takes a capture in.
func (r *replay) read(capture io.Reader) error {
	f, err := trace.NewFrameReader(capture)
	if err != nil {
		return err
	}
	last, ended := unit.Time(0), false
	for number := 1; ; number++ {
		x, err := f.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		on, ours := r.names[x.On]
		if !ours {
			continue
		}
		fail := func(format string, args ...any) error {
			return fmt.Errorf("frame %d of the capture, at %d ps, %s: %s", number, int64(x.At), x.On,
				fmt.Sprintf(format, args...))
		}
		switch {
		case x.At < last:
			return fail("the one before it was at %d ps", int64(last))
		case ended:
			return fail("it is behind the end")
		case x.Inbound != (on%perPort == receiving):
			return fail("it goes in the other direction")
		}
		last = x.At
		port, size, made, flags := packet.PortID(on/perPort), int32(0), false, uint8(0)
		if on%perPort != happening {
			if size, made, flags, err = r.words(x.Comment, len(x.Data)); err != nil {
				return fail("%v", err)
			}
		}
		switch on % perPort {
		case receiving:
			n := r.neighbours[port]
			if k := len(n.script); x.At < instant || k > 0 && n.script[k-1].at >= x.At {
				return fail("two frames come in at once")
			}
			n.script = append(n.script, arrival{x.At, append([]byte(nil), x.Data...), size, made, flags})
		case sending:
			r.sent = append(r.sent, Sent{x.At, x.On, size, append([]byte(nil), x.Data...)})
		case happening:
			if x.Comment == endWord || x.Comment == cutWord {
				ended, r.out.Until, r.out.Cut = true, x.At, x.Comment == cutWord
				break
			}
			e, err := readChange(x.Comment)
			if err != nil {
				return fail("%v", err)
			}
			r.changes = append(r.changes, change{x.At, port, e})
		}
	}
	if !ended {
		return errors.New("the capture has no end for the switch: it is of another one, or was cut off")
	}
	return nil
}

// words reads the comment of a frame.
func (r *replay) words(comment string, length int) (size int32, made bool, flags uint8, err error) {
	size = r.format.framing.Frame(int32(length), 0, false)
	for comment != "" {
		var word string
		word, comment, _ = strings.Cut(comment, "; ")
		number, sized := strings.CutPrefix(word, "size ")
		switch {
		case sized:
			n, err := strconv.ParseInt(number, 10, 32)
			if err != nil || n < 0 {
				return 0, false, 0, fmt.Errorf("a size of %q bytes", number)
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
			return 0, false, 0, fmt.Errorf("the comment %q is not known", word)
		}
	}
	return size, made, flags, nil
}

// run carries everything out.
func (r *replay) run() *Replayed {
	// What is at the end itself is not all there.
	for k := range r.sent {
		if r.sent[k].At >= r.out.Until {
			r.sent = r.sent[:k]
			break
		}
	}
	for i := range r.neighbours {
		r.fabric.Wake(i+1, 0)
	}
	for _, c := range r.changes {
		at := min(c.at, r.out.Until)
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
	r.fabric.Run(r.out.Until, nil)
	if r.out.First == nil && r.out.Out < uint64(len(r.sent)) {
		r.out.First = &Difference{Number: r.out.Out + 1, Captured: &r.sent[r.out.Out]}
	}
	return &r.out
}

// Dequeue compares what goes out.
func (r *replay) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	p, again := r.Switch.Dequeue(now, out)
	if p == nil || r.out.First != nil {
		return p, again
	}
	var data []byte
	data, _, r.scratch = r.format.describe(p, nil, r.scratch)
	k := r.out.Out
	if k < uint64(len(r.sent)) {
		if s := &r.sent[k]; s.At == now && s.Port == r.ports[out] && s.Size == p.Size && bytes.Equal(s.Frame, data) {
			r.out.Out++
			return p, again
		}
	}
	d := &Difference{Number: k + 1, Replayed: &Sent{now, r.ports[out], p.Size, append([]byte(nil), data...)}}
	if k < uint64(len(r.sent)) {
		d.Captured = &r.sent[k]
	}
	r.out.First = d
	return p, again
}

// neighbour sends what comes in at a port, so that its last bit does when the capture says,
// and takes what goes out. It implements fabric.Node.
type neighbour struct {
	replay *replay
	script []arrival
	ready  bool
	wants  packet.Wants
}

func (n *neighbour) Receive(_ unit.Time, _ packet.PortID, p *packet.Packet) {
	n.replay.pool.Put(p)
}

func (n *neighbour) Dequeue(unit.Time, packet.PortID) (*packet.Packet, unit.Time) {
	if !n.ready {
		return nil, unit.Never
	}
	r, a := n.replay, &n.script[0]
	n.script, n.ready = n.script[1:], false
	n.setTimer()
	p := r.pool.GetFrame(max(r.room, len(a.frame)))
	p.Data = append(p.Data, a.frame...)
	if a.made && p.Parse(r.format.book, p.Data) == nil {
		p.Data = nil
	}
	p.Size, p.Meta.Flags, p.Flow = a.size, a.flags, packet.NoFlow
	r.out.In++
	return p, unit.Never
}

func (n *neighbour) Wants() *packet.Wants {
	n.setTimer()
	return &n.wants
}

// setTimer finds when the next frame comes in.
func (n *neighbour) setTimer() {
	if n.wants.Timer = unit.Never; len(n.script) > 0 && !n.ready {
		n.wants.Timer = n.script[0].at - instant
	}
}

func (n *neighbour) Advance(now unit.Time) {
	if len(n.script) > 0 && n.script[0].at-instant <= now {
		n.ready = true
		n.wants.Wake(0)
	}
	n.setTimer()
}

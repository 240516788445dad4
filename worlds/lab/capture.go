package lab

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/core/dataplane"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/unit"
)

// Interfaces of a capture: of each port of a switch s one with its name, "s->neighbour", for
// what goes out, and two for what comes in there and for what happens to it.
const (
	sending = iota
	receiving
	happening
	perPort
)

const (
	inputs  = " in"     // behind the name of the neighbour's port
	changes = " events" // behind the name of the port
)

// application is what the section header says has written the file.
const application = "weir lab"

// interfaces are the names of a switch's, by port and purpose.
func interfaces(n *topology.Network, node int) (names []string) {
	for i := range n.Links {
		for e, at := range n.Links[i].Ends {
			if at == node {
				port := n.PortName(i, e)
				names = append(names, port, n.PortName(i, 1-e)+inputs, port+changes)
			}
		}
	}
	return names
}

// tap is a switch all of whose input and output is written down, in the order in which it
// happens, with the time that was passed.
type tap struct {
	*dataplane.Switch
	tape
	format frameFormat
	node   int
}

// tape is what is written down until a run is over.
type tape struct {
	slabs   [][]byte // blocks of pcapng, whose interfaces count from the first one of a switch, or of the hosts
	frames  [2]uint64
	cut     unit.Time // from then on nothing is kept
	left    *int64    // bytes that there is room for
	comment []byte
	scratch []byte
}

func newTape(left *int64) tape {
	return tape{left: left, cut: unit.Never, comment: make([]byte, 0, 64)}
}

// room is how many bytes a capture may have.
func (x *Capture) room() int64 {
	if x.Limit == 0 {
		return int64(defaultCapture)
	}
	return int64(x.Limit)
}

func (d *plane) newTap(node int, sw *dataplane.Switch) *tap {
	if d.captureLeft == 0 {
		d.captureLeft = d.config.Capture.room()
	}
	return &tap{Switch: sw, tape: newTape(&d.captureLeft), node: node,
		format: frameFormat{d.config.Wiring.Hosts, d.config.Wiring.Framing}}
}

// Receive writes down what comes in.
func (t *tap) Receive(now unit.Time, in packet.PortID, p *packet.Packet) {
	t.note(now, int(in)*perPort+receiving, p)
	t.Switch.Receive(now, in, p)
}

// Dequeue writes down what goes out.
func (t *tap) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	p, again := t.Switch.Dequeue(now, out)
	if p != nil {
		t.note(now, int(out)*perPort+sending, p)
	}
	return p, again
}

// Words in a frame's comment, beside "size 123", for what its length does not show.
const (
	madeWord       = "made" // by a switch: it comes without bytes
	trimmedWord    = "trimmed"
	internalWord   = "internal"
	unwritableWord = "unwritable" // no frame can say it
)

// frameFormat is how packets are written as frames.
type frameFormat struct {
	book    *packet.Book
	framing packet.Framing
}

// describe returns p as a frame, and the words for what the frame does not show.
func (d *frameFormat) describe(p *packet.Packet, comment, scratch []byte) (data, words, room []byte) {
	data = p.Data
	add := func(word string) {
		if len(comment) > 0 {
			comment = append(comment, "; "...)
		}
		comment = append(comment, word...)
	}
	if data == nil {
		var err error
		if data, err = p.Emit(d.book, scratch[:0]); err != nil {
			data = scratch[:0]
			add(unwritableWord)
		}
		scratch = data
		add(madeWord)
	}
	if p.Meta.Flags&packet.Trimmed != 0 {
		add(trimmedWord)
	}
	if p.Meta.Flags&packet.Internal != 0 {
		add(internalWord)
	}
	if p.Size != d.framing.Frame(int32(len(data)), 0, false) {
		add("size ")
		comment = strconv.AppendInt(comment, int64(p.Size), 10)
	}
	return data, comment, scratch
}

// slabBytes is by how much the room for frames grows.
const slabBytes = 1 << 20

func (t *tap) note(now unit.Time, on int, p *packet.Packet) {
	if t.cut != unit.Never {
		return
	}
	var data, words []byte
	data, words, t.scratch = t.format.describe(p, t.comment[:0], t.scratch)
	t.frame(now, on, data, words)
}

// frame writes one down that comes in or goes out.
func (t *tape) frame(now unit.Time, on int, data, words []byte) {
	inbound := on%perPort == receiving
	if t.append(now, on, inbound, data, words) && inbound {
		t.frames[0]++
	} else if t.cut == unit.Never {
		t.frames[1]++
	}
}

// append writes a block, if there is room.
func (t *tape) append(now unit.Time, on int, inbound bool, data, words []byte) bool {
	n := trace.FrameBlock(len(data), len(words))
	if *t.left -= int64(n); *t.left < 0 {
		*t.left = 0
		t.cut = now
		return false
	}
	t.put(n, on, now, inbound, data, words)
	return true
}

// put writes a block of n bytes.
func (t *tape) put(n, on int, now unit.Time, inbound bool, data, words []byte) {
	k := len(t.slabs) - 1
	if k < 0 || cap(t.slabs[k])-len(t.slabs[k]) < n {
		t.slabs = append(t.slabs, make([]byte, 0, max(slabBytes, n)))
		k++
	}
	t.slabs[k] = trace.AppendFrame(t.slabs[k], on, now, inbound, data, words)
}

// What the comment of a frame without bytes says that has happened to a port, or that
// a switch's record ends with all that was before.
const (
	rateBits    = "bit/s"
	ratePackets = "packets/s"
	downWord    = "down"
	upWord      = "up"
	endWord     = "end"
	cutWord     = "cut off"
)

// recordEvent records an event of a link that ends at captured switches.
func (d *plane) recordEvent(now unit.Time, e *wiring.Event) {
	words := upWord
	switch {
	case e.Rate.Bits > 0:
		words = strconv.FormatInt(int64(e.Rate.Bits), 10) + " " + rateBits
	case e.Rate.Packets > 0:
		words = strconv.FormatInt(int64(e.Rate.Packets), 10) + " " + ratePackets
	case e.Down:
		words = downWord
	}
	for _, t := range d.taps {
		for end := range 2 {
			if w := d.wiring.Directions[2*e.Link+end]; w.Node == t.node && t.cut == unit.Never {
				t.append(now, int(w.Port)*perPort+happening, false, nil, []byte(words))
			}
		}
	}
}

// Captured is what a capture has.
type Captured struct {
	In, Out uint64    // frames
	Bytes   uint64    // of the file
	Cut     unit.Time // event time from which on not all is there, for want of room; unit.Never: all is
	Error   string    // why the file is not whole; "" if it is
}

// writeCapture writes the file: of all captured switches what happened, in order of time, of
// each switch in the order in which it happened. All before end has happened.
func (d *plane) writeCapture(w io.Writer, end unit.Time) (*Captured, error) {
	x := &Captured{Cut: unit.Never}
	out := bufio.NewWriterSize(w, 1<<20)
	b := trace.AppendSection(nil, application, "times are event times, exact; of each switch all is in the order in "+
		"which it was processed")
	first := 0
	for _, t := range d.taps {
		names := interfaces(d.config.Wiring.Network, t.node)
		for _, name := range names {
			b = trace.AppendInterface(b, name)
		}
		t.end(end)
		x.Cut = min(x.Cut, t.cut)
		for _, blocks := range t.slabs {
			for at := 0; at < len(blocks); at += int(binary.LittleEndian.Uint32(blocks[at+4:])) {
				on := blocks[at+8:]
				binary.LittleEndian.PutUint32(on, binary.LittleEndian.Uint32(on)+uint32(first))
			}
		}
		first += len(names)
		x.In += t.frames[0]
		x.Out += t.frames[1]
	}
	x.Bytes = uint64(len(b))
	_, err := out.Write(b)
	for err == nil {
		next, at := -1, unit.Never
		for i, t := range d.taps {
			if len(t.slabs) > 0 {
				if t := blockTime(t.slabs[0]); t < at {
					next, at = i, t
				}
			}
		}
		if next < 0 {
			break
		}
		t := d.taps[next]
		n := binary.LittleEndian.Uint32(t.slabs[0][4:])
		x.Bytes += uint64(n)
		_, err = out.Write(t.slabs[0][:n])
		if t.slabs[0] = t.slabs[0][n:]; len(t.slabs[0]) == 0 {
			t.slabs = t.slabs[1:]
		}
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		x.Error = err.Error()
	}
	return x, err
}

// end writes down that all before a time has happened, or that there was no room for more.
func (t *tape) end(at unit.Time) {
	word := endWord
	if t.cut != unit.Never {
		word, at = cutWord, t.cut
	}
	t.put(trace.FrameBlock(0, len(word)), happening, at, false, nil, []byte(word))
}

// blockTime is the time of a frame's block.
func blockTime(b []byte) unit.Time {
	return unit.Time(binary.LittleEndian.Uint32(b[12:]))<<32 | unit.Time(binary.LittleEndian.Uint32(b[16:]))
}

// readChange reads the comment of what has happened to a port.
func readChange(words string) (e wiring.Event, err error) {
	switch words {
	case downWord:
		e.Down = true
		return e, nil
	case upWord:
		return e, nil
	}
	number, what, _ := strings.Cut(words, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || what != rateBits && what != ratePackets {
		return e, fmt.Errorf("%q is nothing that happens to a port", words)
	}
	if e.Rate.Bits = unit.Rate(n); what == ratePackets {
		e.Rate = unit.LinkRate{Packets: unit.PacketRate(n)}
	}
	return e, nil
}

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

// Interfaces of a capture. Each port of a switch s has one for output, named after the port as "s->neighbour", one
// for input, and one for events.
const (
	outputInterface = iota
	inputInterface
	eventInterface
	interfacesPerPort
)

const (
	inputSuffix = " in"     // suffix to the name of the neighbour's port
	eventSuffix = " events" // suffix to the name of the port
)

// application is Weir's name in the section header.
const application = "weir lab"

// interfaceNames returns the names of a node's interfaces, interfacesPerPort for each port, in the order of ports.
func interfaceNames(n *topology.Network, node int) (names []string) {
	for i := range n.Links {
		for e, at := range n.Links[i].Ends {
			if at == node {
				port := n.PortName(i, e)
				names = append(names, port, n.PortName(i, 1-e)+inputSuffix, port+eventSuffix)
			}
		}
	}
	return names
}

// capturedSwitch is a switch that records all its input and output in order of processing, with event times.
type capturedSwitch struct {
	*dataplane.Switch
	captureBuffer
	format frameFormat
	node   int
}

// captureBuffer holds a capture until the run is over.
type captureBuffer struct {
	slabs [][]byte // pcapng blocks; interfaces count from the first one of the switch or of the hosts
	// frames counts input and output frames.
	frames    [2]uint64
	cut       unit.Time // time from which no frame is kept; unit.Never: all are
	remaining *int64    // remaining bytes of the capture's limit, shared by all buffers
	comment   []byte
	scratch   []byte
}

// newCaptureBuffer returns an empty buffer that takes its bytes from *remaining.
func newCaptureBuffer(remaining *int64) captureBuffer {
	return captureBuffer{remaining: remaining, cut: unit.Never, comment: make([]byte, 0, 64)}
}

// byteLimit returns the limit of a capture in bytes, or its default.
func (x *Capture) byteLimit() int64 {
	if x.Limit == 0 {
		return int64(defaultCapture)
	}
	return int64(x.Limit)
}

// newCapturedSwitch wraps the switch of a node in a capture. All captures of a run share one limit, which the first
// call sets. Config.Capture must not be nil.
func (d *plane) newCapturedSwitch(node int, sw *dataplane.Switch) *capturedSwitch {
	if d.captureLeft == 0 {
		d.captureLeft = d.config.Capture.byteLimit()
	}
	return &capturedSwitch{Switch: sw, captureBuffer: newCaptureBuffer(&d.captureLeft), node: node,
		format: frameFormat{d.config.Wiring.Hosts, d.config.Wiring.Framing}}
}

// Receive records an input frame and passes it to the switch.
func (t *capturedSwitch) Receive(now unit.Time, in packet.PortID, p *packet.Packet) {
	t.recordFrame(now, int(in)*interfacesPerPort+inputInterface, p)
	t.Switch.Receive(now, in, p)
}

// Dequeue returns the switch's next output frame, and records it.
func (t *capturedSwitch) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	p, again := t.Switch.Dequeue(now, out)
	if p != nil {
		t.recordFrame(now, int(out)*interfacesPerPort+outputInterface, p)
	}
	return p, again
}

// Words in a frame's comment, in addition to "size 123", for what the bytes do not show.
const (
	madeWord       = "made" // created by a switch; arrived without bytes
	trimmedWord    = "trimmed"
	internalWord   = "internal"
	unwritableWord = "unwritable" // cannot be encoded as a frame
)

// frameFormat encodes packets as frames.
type frameFormat struct {
	book    *packet.Book
	framing packet.Framing
}

// encodeFrame returns the frame of p and its comment. comment and scratch are buffers to append to, and the results may
// use their memory; the third result is scratch, possibly grown. Without bytes in p it encodes p; a packet that it
// cannot encode has an empty frame.
func (d *frameFormat) encodeFrame(p *packet.Packet, comment, scratch []byte) (data, words, buffer []byte) {
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
	if p.Size != d.framing.FrameBytes(int32(len(data)), 0, false) {
		add("size ")
		comment = strconv.AppendInt(comment, int64(p.Size), 10)
	}
	return data, comment, scratch
}

// slabBytes is the allocation unit of a capture.
const slabBytes = 1 << 20

// recordFrame records packet p at the switch's interface index, unless the capture was cut off.
func (t *capturedSwitch) recordFrame(now unit.Time, index int, p *packet.Packet) {
	if t.cut != unit.Never {
		return
	}
	var data, words []byte
	data, words, t.scratch = t.format.encodeFrame(p, t.comment[:0], t.scratch)
	t.addFrame(now, index, data, words)
}

// addFrame appends a frame at interface index, with comment words, and counts it as input or output. A frame for which
// the limit has no room is not counted, and cuts the capture.
func (t *captureBuffer) addFrame(now unit.Time, index int, data, words []byte) {
	inbound := index%interfacesPerPort == inputInterface
	if t.appendBlock(now, index, inbound, data, words) && inbound {
		t.frames[0]++
	} else if t.cut == unit.Never {
		t.frames[1]++
	}
}

// appendBlock appends a block if the limit allows it. Otherwise it sets cut and returns false.
func (t *captureBuffer) appendBlock(now unit.Time, index int, inbound bool, data, words []byte) bool {
	n := trace.FrameBlockLength(len(data), len(words))
	if *t.remaining -= int64(n); *t.remaining < 0 {
		*t.remaining = 0
		t.cut = now
		return false
	}
	t.writeBlock(n, index, now, inbound, data, words)
	return true
}

// writeBlock appends a block of n bytes (trace.FrameBlockLength) to the last slab, or to a new one. It ignores the
// limit.
func (t *captureBuffer) writeBlock(n, index int, now unit.Time, inbound bool, data, words []byte) {
	k := len(t.slabs) - 1
	if k < 0 || cap(t.slabs[k])-len(t.slabs[k]) < n {
		t.slabs = append(t.slabs, make([]byte, 0, max(slabBytes, n)))
		k++
	}
	t.slabs[k] = trace.AppendFrame(t.slabs[k], index, now, inbound, data, words)
}

// Words in the comments of frames without bytes: changes of a port, and the end of a switch's record.
const (
	rateBits    = "bit/s"
	ratePackets = "packets/s"
	downWord    = "down"
	upWord      = "up"
	endWord     = "end"
	cutWord     = "cut off"
)

// recordEvent records a link's event at now at the captured switches where the link ends, unless their captures were
// cut off.
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
				t.appendBlock(now, int(w.Port)*interfacesPerPort+eventInterface, false, nil, []byte(words))
			}
		}
	}
}

// CaptureSummary summarizes a capture.
type CaptureSummary struct {
	In, Out uint64    // frames
	Bytes   uint64    // of the file
	Cut     unit.Time // event time from which frames are missing for lack of space; unit.Never: the capture is complete
	Error   string    // error that truncated the file; "" if there was no error
}

// writeCapture writes the records of all captured switches, merged in order of time; each switch keeps its order of
// processing. end is the event time before which everything has happened. An error is also in the summary. It
// consumes the records.
func (d *plane) writeCapture(w io.Writer, end unit.Time) (*CaptureSummary, error) {
	x := &CaptureSummary{Cut: unit.Never}
	out := bufio.NewWriterSize(w, 1<<20)
	b := trace.AppendSection(nil, application, "times are exact event times; the packets of each switch are in "+
		"processing order")
	first := 0
	for _, t := range d.taps {
		names := interfaceNames(d.config.Wiring.Network, t.node)
		for _, name := range names {
			b = trace.AppendInterface(b, name)
		}
		t.endRecord(end)
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

// endRecord appends the end of the record: the capture is complete up to event time end, or up to the time at which it
// was cut off.
func (t *captureBuffer) endRecord(end unit.Time) {
	word := endWord
	if t.cut != unit.Never {
		word, end = cutWord, t.cut
	}
	t.writeBlock(trace.FrameBlockLength(0, len(word)), eventInterface, end, false, nil, []byte(word))
}

// blockTime returns the time of a frame's block.
func blockTime(b []byte) unit.Time {
	return unit.Time(binary.LittleEndian.Uint32(b[12:]))<<32 | unit.Time(binary.LittleEndian.Uint32(b[16:]))
}

// readChange parses the comment of a port's event; its time and link are not set.
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
		return e, fmt.Errorf("%q is not an event of a port", words)
	}
	if e.Rate.Bits = unit.Rate(n); what == ratePackets {
		e.Rate = unit.LinkRate{Packets: unit.PacketRate(n)}
	}
	return e, nil
}

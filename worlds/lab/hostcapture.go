package lab

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/unit"
)

// CaptureHosts is the name under which the hosts of Weir's own are captured, all together: what one of them does may
// depend on another.
const CaptureHosts = "hosts"

// lateWord stands in a frame's comment before the time, in ps, by which its stamp is earlier than it was taken, which
// was behind what had happened already.
const lateWord = "late "

// hostTape is what hosts of Weir's own take and send, in the order in which they do, with the event times that they
// saw.
type hostTape struct {
	tape
	from  *hostIO
	first []int // by node, number of its first interface
	room  int64
}

// hostInterfaces are the names of interfaces of the hosts that are there, and by node the number of the first one.
func hostInterfaces(n *topology.Network, there func(node int) bool) (names []string, first []int) {
	first = make([]int, len(n.Nodes))
	for node := range n.Nodes {
		if there(node) {
			first[node] = len(names)
			names = append(names, interfaces(n, node)...)
		}
	}
	return names, first
}

func (s *hostIO) newTape(c *HostsConfig) {
	t := &hostTape{from: s, room: c.Capture.room()}
	t.tape = newTape(&t.room)
	_, t.first = hostInterfaces(c.Network, func(node int) bool { return s.queues[node] != nil })
	s.tape = t
}

// recordTaken writes down a frame that was taken, of which the kernel's stamp is late ps earlier.
func (t *hostTape) recordTaken(at unit.Time, node int, frame []byte, late unit.Time) {
	if t.cut != unit.Never {
		return
	}
	words := t.comment[:0]
	if late > 0 {
		words = strconv.AppendInt(append(words, lateWord...), int64(late), 10)
	}
	t.frame(at, t.first[node]+receiving, frame, words)
}

// recordSent writes down a packet that begins to leave.
func (t *hostTape) recordSent(now unit.Time, node int, p *packet.Packet) {
	if t.cut != unit.Never {
		return
	}
	data, words := t.from.format.write(p, t.scratch[:0])
	t.scratch = data
	t.frame(now, t.first[node]+sending, data, []byte(words))
}

// write returns a packet's frame, as it leaves.
func (d *frameFormat) write(p *packet.Packet, room []byte) (frame []byte, words string) {
	if p.Data != nil {
		return append(room, p.Data...), ""
	}
	b, err := p.Emit(d.book, room)
	if err != nil {
		return room, unwritableWord
	}
	return b, ""
}

// writeCapture writes the file of what the hosts took and sent.
func (s *hostIO) writeCapture(c *HostsConfig, w io.Writer) (*Captured, error) {
	t := s.tape
	var blocks [][]byte
	for _, b := range t.slabs {
		for n := 0; len(b) > 0; b = b[n:] {
			n = int(binary.LittleEndian.Uint32(b[4:]))
			blocks = append(blocks, b[:n])
		}
	}
	// Hosts do not wait for each other: one may be ahead by as long as a frame takes to others.
	slices.SortStableFunc(blocks, func(a, b []byte) int { return cmp.Compare(blockTime(a), blockTime(b)) })
	t.slabs = nil
	t.end(min(s.done, s.edge.Now()))
	names, _ := hostInterfaces(c.Network, func(node int) bool { return s.queues[node] != nil })
	b := trace.AppendSection(nil, application, "times are event times, exact; of each host all is in the order in which "+
		"it took and sent it")
	for _, name := range names {
		b = trace.AppendInterface(b, name)
	}
	x := &Captured{In: t.frames[0], Out: t.frames[1], Cut: t.cut}
	out := bufio.NewWriterSize(w, 1<<20)
	for _, part := range slices.Concat([][]byte{b}, blocks, t.slabs) {
		x.Bytes += uint64(len(part))
		if _, err := out.Write(part); err != nil {
			x.Error = err.Error()
			return x, err
		}
	}
	err := out.Flush()
	if err != nil {
		x.Error = err.Error()
	}
	return x, err
}

// create makes the file, which is empty.
func (x *Capture) create() error {
	f, err := os.Create(x.File)
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	return f.Close()
}

// saveCapture writes the capture, if there is one.
func (s *hostIO) saveCapture(c *HostsConfig) (*Captured, error) {
	if s.tape == nil {
		return nil, nil
	}
	f, err := os.Create(c.Capture.File)
	if err != nil {
		return &Captured{Cut: unit.Never, Error: err.Error()}, err
	}
	x, err := s.writeCapture(c, f)
	if e := f.Close(); e != nil && err == nil {
		x.Error, err = e.Error(), e
	}
	return x, err
}

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

// CaptureHosts is the name of the capture of Weir's own hosts. They are captured together, because their behaviour
// may depend on each other.
const CaptureHosts = "hosts"

// lateWord precedes a time in ps in a frame's comment: how much earlier the frame's stamp was than its processing,
// because later events had been processed already.
const lateWord = "late "

// hostCapture records the frames that Weir's own hosts receive and send, in order, with the hosts' event times.
type hostCapture struct {
	captureBuffer
	from   *hostIO
	first  []int // number of the first interface, by node
	budget int64
}

// hostInterfaces returns the interface names of the existing hosts, and for each node the number of its first one.
func hostInterfaces(n *topology.Network, exists func(node int) bool) (names []string, first []int) {
	first = make([]int, len(n.Nodes))
	for node := range n.Nodes {
		if exists(node) {
			first[node] = len(names)
			names = append(names, interfaceNames(n, node)...)
		}
	}
	return names, first
}

// startCapture creates the capture of all hosts, s.capture. The hosts must exist.
func (s *hostIO) startCapture(c *HostsConfig) {
	t := &hostCapture{from: s, budget: c.Capture.byteLimit()}
	t.captureBuffer = newCaptureBuffer(&t.budget)
	_, t.first = hostInterfaces(c.Network, func(node int) bool { return s.queues[node] != nil })
	s.capture = t
}

// recordTaken records a frame that a host received at time arrival; lateness is the time by which its stamp was
// earlier.
func (t *hostCapture) recordTaken(arrival unit.Time, node int, frame []byte, lateness unit.Time) {
	if t.cut != unit.Never {
		return
	}
	words := t.comment[:0]
	if lateness > 0 {
		words = strconv.AppendInt(append(words, lateWord...), int64(lateness), 10)
	}
	t.addFrame(arrival, t.first[node]+inputInterface, frame, words)
}

// recordSent records a packet of a host that starts to depart at now.
func (t *hostCapture) recordSent(now unit.Time, node int, p *packet.Packet) {
	if t.cut != unit.Never {
		return
	}
	data, words := t.from.format.emitFrame(p, t.scratch[:0])
	t.scratch = data
	t.addFrame(now, t.first[node]+outputInterface, data, []byte(words))
}

// emitFrame appends a packet's frame to buffer, as it is sent, and returns the result. words is a comment if the packet
// cannot be encoded; then frame is buffer.
func (d *frameFormat) emitFrame(p *packet.Packet, buffer []byte) (frame []byte, words string) {
	if p.Data != nil {
		return append(buffer, p.Data...), ""
	}
	b, err := p.Emit(d.book, buffer)
	if err != nil {
		return buffer, unwritableWord
	}
	return b, ""
}

// writeCapture writes the frames that the hosts received and sent to w, in order of time. An error is also in the
// summary. It consumes the records.
func (s *hostIO) writeCapture(c *HostsConfig, w io.Writer) (*CaptureSummary, error) {
	t := s.capture
	var blocks [][]byte
	for _, b := range t.slabs {
		for n := 0; len(b) > 0; b = b[n:] {
			n = int(binary.LittleEndian.Uint32(b[4:]))
			blocks = append(blocks, b[:n])
		}
	}
	// Hosts do not wait for each other. One may be ahead by the time that its frames take to others.
	slices.SortStableFunc(blocks, func(a, b []byte) int { return cmp.Compare(blockTime(a), blockTime(b)) })
	t.slabs = nil
	t.endRecord(min(s.done, s.edge.Now()))
	names, _ := hostInterfaces(c.Network, func(node int) bool { return s.queues[node] != nil })
	b := trace.AppendSection(nil, application, "times are exact event times; the packets of each host are in the "+
		"order in which it received and sent them")
	for _, name := range names {
		b = trace.AppendInterface(b, name)
	}
	x := &CaptureSummary{In: t.frames[0], Out: t.frames[1], Cut: t.cut}
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

// createFile creates the capture's empty file, or empties an existing one.
func (x *Capture) createFile() error {
	f, err := os.Create(x.File)
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	return f.Close()
}

// saveCapture writes the capture to its file, which it replaces. It returns nil without a capture. On an error the
// result has its text. It must be called once.
func (s *hostIO) saveCapture(c *HostsConfig) (*CaptureSummary, error) {
	if s.capture == nil {
		return nil, nil
	}
	f, err := os.Create(c.Capture.File)
	if err != nil {
		return &CaptureSummary{Cut: unit.Never, Error: err.Error()}, err
	}
	x, err := s.writeCapture(c, f)
	if e := f.Close(); e != nil && err == nil {
		x.Error, err = e.Error(), e
	}
	return x, err
}

package pcapng

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/pcapng/pcapflows"
)

// application is what a section header says has written the file.
const application = "weir"

// inputs is the suffix of the interfaces of a lab's capture (lab.Replay) with frames that come in at a switch.
const inputs = " in"

// Writer is a Sink that writes what ports transmit and what is dropped at them in
// wire form: for each port an interface with its name, and one with " drops" behind
// it, whose packets have the reason as their comment. Time 0 is the epoch's, the
// resolution 1 ns: picoseconds are cut off.
type Writer struct {
	w        *pcapgo.NgWriter
	ports    map[string]int // interface
	comments [1]string
}

// NewWriter begins a pcapng file with the interfaces of the ports; Close must end it.
func NewWriter(w io.Writer, ports []string) (*Writer, error) { return NewSnapWriter(w, ports, 0) }

// NewSnapWriter is NewWriter for records that keep so many bytes of a frame; 0: trace.SnapLength at most.
func NewSnapWriter(w io.Writer, ports []string, snap int) (*Writer, error) {
	if len(ports) == 0 {
		return nil, errors.New("pcapng: a trace without ports")
	}
	p := &Writer{ports: map[string]int{}}
	kept := fmt.Sprintf("the headers and %d bytes of payload", trace.Captured)
	if snap > 0 {
		kept = fmt.Sprintf("the first %d bytes", snap)
	} else {
		snap = trace.SnapLength
	}
	options := pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: application,
		Comment: "time 0 is the simulation's; of each frame " + kept}}
	for i, name := range ports {
		for k, suffix := range []string{"", pcapflows.Drops} {
			n := pcapgo.NgInterface{Name: name + suffix, LinkType: layers.LinkTypeEthernet, SnapLength: uint32(snap),
				TimestampResolution: 9}
			var err error
			if i+k == 0 {
				p.w, err = pcapgo.NewNgWriterInterface(w, n, options)
			} else {
				_, err = p.w.AddInterface(n)
			}
			if err != nil {
				return nil, fmt.Errorf("pcapng: %w", err)
			}
		}
		p.ports[name] = 2 * i
	}
	return p, nil
}

// Write writes the frame of an event that has one, and nothing for others.
func (p *Writer) Write(r *trace.Record) error {
	n, ok := p.ports[r.Port]
	if r.FrameBytes == 0 || !ok {
		return nil
	}
	var options pcapgo.NgPacketOptions
	if r.Kind == trace.Drop {
		p.comments[0] = r.Reason
		options.Comments = p.comments[:]
		n++
	}
	at := time.Unix(int64(r.At/unit.Second), int64(r.At%unit.Second/unit.Nanosecond))
	return p.w.WritePacketWithOptions(gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(r.Frame),
		Length: r.FrameBytes, InterfaceIndex: n}, r.Frame, options)
}

// Close writes what is buffered. It does not close the writer below.
func (p *Writer) Close() error { return p.w.Flush() }

// counted counts what is read through it.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// Read reads a pcapng file, Weir's or another one, and hands each packet to f
// as a record, which f must not keep: of Weir's a transmission, a drop or (in a capture of
// the lab) an arrival, of others a transmission, at the interface of its name, or of its
// number. start is the time of the first packet if the file's times are those of a clock:
// then records count from it; else it is zero. An error names the offset in the file.
func Read(r io.Reader, f func(*trace.Record) error) (start time.Time, err error) {
	c := &counted{r: r}
	br := bufio.NewReaderSize(c, 1<<16) // the reader below takes this very one
	at := int64(0)
	fail := func(err error) error {
		if err == io.ErrUnexpectedEOF {
			err = errors.New("the file ends within a block")
		}
		return fmt.Errorf("offset %d: %w", at, err)
	}
	defer func() {
		if p := recover(); p != nil { // a library's, on a damaged file
			err = fail(fmt.Errorf("damaged block: %v", p))
		}
	}()
	ng, err := pcapgo.NewNgReader(br, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	if err != nil {
		return start, fail(err)
	}
	var clock clock
	for {
		at = c.n - int64(br.Buffered())
		data, info, options, err := ng.ZeroCopyReadPacketDataWithOptions()
		if err == io.EOF {
			return clock.start, nil
		}
		if err != nil {
			return clock.start, fail(err)
		}
		since, err := clock.since(info.Timestamp)
		if err != nil {
			return clock.start, fail(err)
		}
		intf, err := ng.Interface(info.InterfaceIndex)
		if err != nil {
			return clock.start, fail(err)
		}
		if info.Length < 0 || info.CaptureLength > info.Length {
			return clock.start, fail(fmt.Errorf("a packet of %d bytes, of which %d are there", info.Length, info.CaptureLength))
		}
		record := trace.Record{At: unit.Time(since) * unit.Nanosecond, Kind: trace.Transmit, Flow: trace.None,
			Size:         int64(info.Length),
			QueuePackets: trace.None, QueueBytes: trace.None, Frame: data, FrameBytes: info.Length}
		if !place(&record, intf.Name, info.InterfaceIndex, options.Comments) {
			continue
		}
		dissect(&record, data, intf.LinkType)
		if err := f(&record); err != nil {
			return clock.start, err
		}
	}
}

// clock makes a file's times those of a run, from 0.
type clock struct {
	start time.Time // of the first packet, if the times are those of a clock
	began bool
}

// since is the time of a packet: from the first one, or from 0.
func (c *clock) since(at time.Time) (time.Duration, error) {
	zero := time.Unix(0, 0)
	if at.IsZero() { // a simple packet block has none
		if at = c.start; c.start.IsZero() {
			at = zero
		}
	}
	if !c.began && at.Sub(zero).Abs() > pcapflows.Horizon {
		c.start = at
	}
	c.began = true
	since := at.Sub(zero)
	if !c.start.IsZero() {
		since = at.Sub(c.start)
	}
	if since.Abs() > pcapflows.Horizon {
		return 0, fmt.Errorf("time stamp %v is more than %v from the first one", at, pcapflows.Horizon)
	}
	return since, nil
}

// place says by an interface's name what has happened, and where; false for a frame without
// bytes, which stands for a change of a link.
func place(r *trace.Record, name string, number int, comments []string) bool {
	if base, ok := strings.CutSuffix(name, pcapflows.Drops); ok {
		name, r.Kind = base, trace.Drop
		if len(comments) > 0 {
			r.Reason = trace.Word(comments[0])
		}
	}
	if strings.HasSuffix(name, pcapflows.Changes) && r.FrameBytes == 0 {
		return false
	}
	if base, ok := strings.CutSuffix(name, inputs); ok {
		name, r.Kind = base, trace.Arrive
	}
	if name == "" {
		name = fmt.Sprint("interface", number)
	}
	r.Port = trace.Word(name)
	from, to, _ := strings.Cut(r.Port, "->")
	if r.Node = from; r.Kind == trace.Arrive {
		r.Node = to
	}
	return true
}

// kindOf takes TCP without payload for an acknowledgement, as packet.Parse does, and
// all else for data.
func kindOf(r *trace.Record) packet.Kind {
	if r.Proto == packet.ProtoTCP && r.Payload == 0 {
		return packet.Ack
	}
	return packet.Data
}

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

// application is Weir's name in section headers.
const application = "weir"

// inputs is the suffix of interfaces with frames that arrive at a switch, in a lab's capture (lab.Replay).
const inputs = " in"

// Writer is a Sink that writes transmitted and dropped frames in wire form. Each port has an interface with its
// name, and one with the suffix " drops", for drops with the reason as comment. Time 0 is the epoch, the
// resolution 1 ns; picoseconds are truncated.
type Writer struct {
	w        *pcapgo.NgWriter
	ports    map[string]int // number of the port's interface
	comments [1]string
}

// NewWriter writes the start of a pcapng file with the interfaces of the ports. The caller must call Close.
func NewWriter(w io.Writer, ports []string) (*Writer, error) { return NewSnapWriter(w, ports, 0) }

// NewSnapWriter works as NewWriter for records that keep snap bytes of a frame; 0 means at most trace.SnapLength. It
// needs at least one port.
func NewSnapWriter(w io.Writer, ports []string, snap int) (*Writer, error) {
	if len(ports) == 0 {
		return nil, errors.New("pcapng: a trace without ports")
	}
	p := &Writer{ports: map[string]int{}}
	kept := fmt.Sprintf("the headers and %d bytes of payload", trace.CapturedPayload)
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

// Write writes the frame of an event. It ignores events without a frame and of unknown ports.
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

// Close flushes buffered data. It does not close the underlying writer.
func (p *Writer) Close() error { return p.w.Flush() }

// countingReader counts the bytes that are read through it.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// Read reads a pcapng file, Weir's or another tool's, and passes each packet to f as a record, which f must not
// retain. Packets of Weir's files are transmissions, drops or, in a lab's capture, arrivals; other files contain
// transmissions only. The port is the interface's name, else its number. If the file has wall-clock times, start is
// the time of the first packet and records count from it; else start is zero. Errors name the offset in the file.
func Read(r io.Reader, f func(*trace.Record) error) (start time.Time, err error) {
	c := &countingReader{r: r}
	br := bufio.NewReaderSize(c, 1<<16) // the library's reader uses this one directly
	offset := int64(0)
	fail := func(err error) error {
		if err == io.ErrUnexpectedEOF {
			err = errors.New("the file ends within a block")
		}
		return fmt.Errorf("offset %d: %w", offset, err)
	}
	defer func() {
		if p := recover(); p != nil { // the library panics on damaged files
			err = fail(fmt.Errorf("damaged block: %v", p))
		}
	}()
	ng, err := pcapgo.NewNgReader(br, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	if err != nil {
		return start, fail(err)
	}
	var clock clock
	for {
		offset = c.n - int64(br.Buffered())
		data, info, options, err := ng.ZeroCopyReadPacketDataWithOptions()
		if err == io.EOF {
			return clock.start, nil
		}
		if err != nil {
			return clock.start, fail(err)
		}
		since, err := clock.sinceStart(info.Timestamp)
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
		if !placeRecord(&record, intf.Name, info.InterfaceIndex, options.Comments) {
			continue
		}
		dissectFrame(&record, data, intf.LinkType)
		if err := f(&record); err != nil {
			return clock.start, err
		}
	}
}

// clock converts a file's times to times from 0.
type clock struct {
	start time.Time // time of the first packet if the file has wall-clock times, else zero
	began bool
}

// sinceStart returns the time from the file's time 0 to a packet with time stamp at; it may be negative. The first call
// sets time 0, for all: the epoch, or the first packet if that is more than pcapflows.Horizon from the epoch (c.start).
// A packet without a time stamp is at time 0. A time more than Horizon from time 0, before or after, is an error.
func (c *clock) sinceStart(at time.Time) (time.Duration, error) {
	zero := time.Unix(0, 0)
	if at.IsZero() { // a simple packet block has no time
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

// placeRecord sets a record's kind, port and node from the interface's name, or its number if the name is empty, and a
// drop's reason from comments. It returns false for a frame without bytes that records a change of a link.
func placeRecord(r *trace.Record, name string, number int, comments []string) bool {
	if base, ok := strings.CutSuffix(name, pcapflows.Drops); ok {
		name, r.Kind = base, trace.Drop
		if len(comments) > 0 {
			r.Reason = trace.SanitizeWord(comments[0])
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
	r.Port = trace.SanitizeWord(name)
	from, to, _ := strings.Cut(r.Port, "->")
	if r.Node = from; r.Kind == trace.Arrive {
		r.Node = to
	}
	return true
}

// inferKind returns packet.Ack for TCP without payload, as packet.Parse does, else packet.Data.
func inferKind(r *trace.Record) packet.Kind {
	if r.Proto == packet.ProtoTCP && r.Payload == 0 {
		return packet.Ack
	}
	return packet.Data
}

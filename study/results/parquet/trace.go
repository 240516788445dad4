package parquet

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"

	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/study/results"
)

// maxGroupRows limits the rows of a row group, which a writer holds in memory.
const maxGroupRows = 1 << 16

// portsKey is the metadata key of the traced ports.
const portsKey = "weir.ports"

// TraceTable is a Sink that writes a Parquet file with a row for each event.
type TraceTable struct {
	w       *parquet.GenericWriter[results.TraceRow]
	rows    []results.TraceRow
	numbers []int64 // values that pointers in rows refer to
}

// NewTraceTable returns a writer of a Parquet file to w with the traced ports in its metadata; Close must complete it.
func NewTraceTable(w io.Writer, ports []string) *TraceTable {
	return &TraceTable{w: parquet.NewGenericWriter[results.TraceRow](w, parquet.Compression(&parquet.Zstd),
		parquet.MaxRowsPerRowGroup(maxGroupRows),
		parquet.CreatedBy("weir", "1", ""), parquet.KeyValueMetadata(portsKey, strings.Join(ports, " ")))}
}

// traceBatch is the number of rows passed to the library at once.
const traceBatch = 256

// Write appends a row for a record, which it does not keep. An error may be about earlier rows.
func (p *TraceTable) Write(r *trace.Record) error {
	if p.rows == nil {
		p.rows, p.numbers = make([]results.TraceRow, 0, traceBatch), make([]int64, 0, 3*traceBatch)
	}
	number := func(n int64) *int64 {
		if n == trace.None {
			return nil
		}
		p.numbers = append(p.numbers, n)
		return &p.numbers[len(p.numbers)-1]
	}
	p.rows = append(p.rows, results.TraceRow{
		TimePS: int64(r.At), Event: r.Kind.String(), Node: r.Node, Port: r.Port, Flow: number(r.Flow),
		Packet: trace.PacketName(r.Packet), Proto: int32(r.Proto), Src: r.Src, SrcPort: int32(r.SrcPort), Dst: r.Dst,
		DstPort: int32(r.DstPort),
		Seq:     r.Seq, Ack: r.Ack, SizeBytes: r.Size, PayloadBytes: r.Payload, TOS: int32(r.TOS), ECN: trace.ECNName(r.TOS),
		TCPFlags: trace.FlagLetters(r.TCPFlags), QueuePackets: number(r.QueuePackets), QueueBytes: number(r.QueueBytes),
		Reason: r.Reason,
	})
	if len(p.rows) == traceBatch {
		return p.flush()
	}
	return nil
}

// flush passes the buffered rows to the library.
func (p *TraceTable) flush() error {
	_, err := p.w.Write(p.rows)
	p.rows, p.numbers = p.rows[:0], p.numbers[:0]
	return err
}

// Close writes buffered rows and the footer. It does not close the underlying writer.
func (p *TraceTable) Close() error {
	return errors.Join(p.flush(), p.w.Close())
}

// ReadTraceTable reads a Parquet file of size bytes written by a TraceTable and passes each record to f, which must not
// keep it. Errors name the row or the offset. An error of f ends reading and is returned unchanged.
func ReadTraceTable(r io.ReaderAt, size int64, f func(*trace.Record) error) (err error) {
	n := int64(0)
	defer func() {
		if p := recover(); p != nil { // a panic of the library on a damaged file
			err = fmt.Errorf("row %d: damaged: %v", n, p)
		}
	}()
	if err := checkFooter(r, size); err != nil {
		return err
	}
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("offset %d: %w", size, err) // the metadata are at the end
	}
	have := map[string]bool{}
	for _, c := range file.Schema().Columns() {
		have[strings.Join(c, ".")] = true
	}
	for _, c := range parquet.SchemaOf(results.TraceRow{}).Columns() {
		if name := strings.Join(c, "."); !have[name] {
			return fmt.Errorf("offset %d: the column %q is missing, so this is not a trace of weir", size, name)
		}
	}
	if err := checkPages(r, size, file.Metadata()); err != nil {
		return err
	}
	reader := parquet.NewGenericReader[results.TraceRow](file)
	defer reader.Close()
	rows := make([]results.TraceRow, traceBatch)
	for {
		// Ask only for existing rows: the library searches for the end again for each missing row and column.
		some := rows[:min(traceBatch, max(1, file.NumRows()-n))]
		clear(some)
		k, err := reader.Read(some)
		for i := range some[:k] {
			record, bad := newRecord(&some[i])
			if bad != nil {
				return fmt.Errorf("row %d: %w", n, bad)
			}
			if err := f(&record); err != nil {
				return err
			}
			n++
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		if k == 0 {
			return fmt.Errorf("row %d: the file ends here without its end mark; it is incomplete", n)
		}
	}
}

// newRecord converts a row to a record, the inverse of Write. The error names the first column with an invalid value.
func newRecord(x *results.TraceRow) (trace.Record, error) {
	var bad error
	wrong := func(column string, value any) {
		if bad == nil {
			bad = fmt.Errorf("column %s: the value %v is invalid", column, value)
		}
	}
	number := func(p *int64) int64 {
		if p == nil {
			return trace.None
		}
		return *p
	}
	kind, ok := trace.ParseKind(x.Event)
	if !ok {
		wrong("event", x.Event)
	}
	packetKind, ok := trace.ParsePacketName(x.Packet)
	if !ok {
		wrong("packet", x.Packet)
	}
	flags, ok := trace.ParseFlagLetters(x.TCPFlags)
	if !ok {
		wrong("tcp_flags", x.TCPFlags)
	}
	if t := unit.Time(x.TimePS); t <= unit.Second-unit.Never || t >= unit.Never-unit.Second {
		wrong("time_ps", t)
	}
	inside := func(column string, n int32, limit int32) {
		if n < 0 || n > limit {
			wrong(column, n)
		}
	}
	inside("proto", x.Proto, 0xff)
	inside("src_port", x.SrcPort, 0xffff)
	inside("dst_port", x.DstPort, 0xffff)
	inside("tos", x.TOS, 0xff)
	return trace.Record{At: unit.Time(x.TimePS), Kind: kind, Node: trace.SanitizeWord(x.Node),
		Port:   trace.SanitizeWord(x.Port),
		Flow:   number(x.Flow),
		Packet: packet.Kind(packetKind), Proto: uint8(x.Proto), Src: trace.SanitizeWord(x.Src), SrcPort: uint16(x.SrcPort),
		Dst: trace.SanitizeWord(x.Dst), DstPort: uint16(x.DstPort),
		Seq: x.Seq, Ack: x.Ack, Size: x.SizeBytes, Payload: x.PayloadBytes, TOS: uint8(x.TOS), TCPFlags: flags,
		QueuePackets: number(x.QueuePackets), QueueBytes: number(x.QueueBytes), Reason: trace.SanitizeWord(x.Reason)}, bad
}

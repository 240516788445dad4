package results

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"weir/core/trace"
	"weir/internal/atomicfile"
	"weir/internal/linked"
)

// Files of a results folder made from its runs, for DuckDB, pandas and other programs.
const (
	FlowsFile  = "flows.parquet"  // a row for each flow
	SeriesFile = "series.parquet" // a row for each value over time
	// TimelineFile has a row for each state of a job's rank, if that is measured.
	TimelineFile = "timeline.parquet"
)

// Parquet writes and reads Parquet files. Package parquet implements it.
type Parquet interface {
	// Table returns a file with a row for each call of add, which takes one value for each column.
	Table(columns []Column, each func(add func(values ...any))) ([]byte, error)
	// NewTrace returns a writer of a trace file for the given ports.
	NewTrace(w io.Writer, ports []string) TraceWriter
	// ReadTrace reads a trace file of size bytes and passes each record to f, which must not keep it.
	ReadTrace(r io.ReaderAt, size int64, f func(*trace.Record) error) error
}

// TraceWriter writes the records of a trace. Close completes its file.
type TraceWriter interface {
	trace.Sink
	Close() error
}

// ParquetFiles holds the linked-in Parquet. Programs without it write results only as JSON and CSV.
var ParquetFiles = linked.New[Parquet]("Parquet", "weir/app/parquet")

// Pcapng writes and reads traces as pcapng files.
type Pcapng interface {
	// NewTrace returns a writer of a trace file for the given ports. snap is the number of bytes kept of a frame; 0: all
	// headers and the beginning of the payload.
	NewTrace(w io.Writer, ports []string, snap int) (TraceWriter, error)
	// ReadTrace reads a pcapng file of weir or another program and passes each record to f, which must not keep it.
	// start is the time of the first packet if the file has clock times.
	ReadTrace(r io.Reader, f func(*trace.Record) error) (start time.Time, err error)
}

// PcapngFiles holds the linked-in Pcapng.
var PcapngFiles = linked.New[Pcapng]("pcapng", "weir/app/pcapng")

// MissingTraceForm returns an error if the program does not support traces of a format; nil otherwise. form is pcapng,
// parquet or another one, which needs no support.
func MissingTraceForm(form string) (err error) {
	switch form {
	case "pcapng":
		_, err = PcapngFiles.Get()
	case "parquet":
		_, err = ParquetFiles.Get()
	}
	return err
}

// TraceRow is a record as a row of a Parquet file. Names include units; missing values are null.
type TraceRow struct {
	TimePS       int64  `parquet:"time_ps,delta"`
	Event        string `parquet:"event,dict"`
	Node         string `parquet:"node,dict"`
	Port         string `parquet:"port,optional,dict"`
	Flow         *int64 `parquet:"flow,optional"`
	Packet       string `parquet:"packet,dict"`
	Proto        int32  `parquet:"proto"`
	Src          string `parquet:"src,optional,dict"`
	SrcPort      int32  `parquet:"src_port"`
	Dst          string `parquet:"dst,optional,dict"`
	DstPort      int32  `parquet:"dst_port"`
	Seq          int64  `parquet:"seq,delta"`
	Ack          int64  `parquet:"ack,delta"`
	SizeBytes    int64  `parquet:"size_bytes"`
	PayloadBytes int64  `parquet:"payload_bytes"`
	TOS          int32  `parquet:"tos"`
	ECN          string `parquet:"ecn,dict"`
	TCPFlags     string `parquet:"tcp_flags,optional,dict"`
	QueuePackets *int64 `parquet:"queue_packets,optional"`
	QueueBytes   *int64 `parquet:"queue_bytes,optional"`
	Reason       string `parquet:"reason,optional,dict"`
}

// WriteTables writes the Parquet files into the outcome's folder. A program without Parquet removes existing ones,
// which may lack runs. Without timelines it removes their file.
func (o *Outcome) WriteTables() error {
	files, missing := ParquetFiles.Get()
	for _, f := range []struct {
		name  string
		sheet Sheet
	}{{FlowsFile, flowsSheet()}, {SeriesFile, seriesSheet()}, {TimelineFile, timelineSheet()}} {
		if missing != nil || f.name == TimelineFile && !o.hasTimelines() {
			if err := atomicfile.Remove(filepath.Join(o.Dir, f.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			continue
		}
		data, err := files.Table(f.sheet.columns(o.Spec), func(add func(values ...any)) { f.sheet.eachRow(o, add) })
		if err == nil {
			err = WriteFile(filepath.Join(o.Dir, f.name), data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

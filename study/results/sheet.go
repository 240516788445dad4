package results

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"weir/study/experiment"
)

// Sheet is a table over all runs of results, with a row for each flow, value over time or the like. Parquet and CSV
// files are written from it.
type Sheet struct {
	Name       string // flows
	Doc        string // meaning of a row
	ownColumns []Column
	rows       func(o *Outcome, add func(r *Run, own ...any))
}

// Column is a column of a sheet.
type Column struct {
	Name     string
	Doc      string
	Optional bool // undefined values are null in Parquet and empty in CSV
	zero     any  // a value of its type
}

// columnType returns the name of the column's type in Parquet, such as string, double or int64.
func (c *Column) columnType() string {
	switch reflect.TypeOf(c.zero).Kind() {
	case reflect.String:
		return "string"
	case reflect.Float64:
		return "double"
	case reflect.Bool:
		return "boolean"
	}
	return reflect.TypeOf(c.zero).String() // int32, int64, uint64
}

// GoType returns the Go type of the column's values.
func (c *Column) GoType() reflect.Type { return reflect.TypeOf(c.zero) }

// Sheets returns all sheets: flows, series, distributions and timeline.
func Sheets() []Sheet {
	return []Sheet{flowsSheet(), seriesSheet(), distributionsSheet(), timelineSheet()}
}

// firstColumns returns the columns that begin every sheet, before the sweep's.
func firstColumns() []Column {
	return []Column{{Name: "run", zero: "", Doc: "id of the run, as in `runs/<id>.json`"},
		{Name: "seed", zero: uint64(0), Doc: "its seed"}}
}

// columns returns all columns of the sheet for an experiment: run, seed, each sweep key as text and, if all its values
// are quantities, in base units as key_value, then its own. A sweep key with the name of another column gets the prefix
// sweep_.
func (s *Sheet) columns(x *experiment.Spec) []Column {
	columns, taken := firstColumns(), map[string]bool{}
	for _, c := range append(firstColumns(), s.ownColumns...) {
		taken[c.Name] = true
	}
	add := func(name string, zero any) {
		for taken[name] {
			name = "sweep_" + name
		}
		taken[name] = true
		columns = append(columns, Column{Name: name, zero: zero})
	}
	for _, d := range x.Sweep() {
		add(d.Key, "")
		if d.IsNumeric() {
			add(d.Key+"_value", 0.0)
		}
	}
	return append(columns, s.ownColumns...)
}

// eachRow calls add for each row with the values of all columns (columns), run by run.
func (s *Sheet) eachRow(o *Outcome, add func(values ...any)) {
	var current *Run
	var point []any
	s.rows(o, func(r *Run, own ...any) {
		if r != current {
			current, point = r, pointValues(o.Spec, r)
		}
		add(append(point[:len(point):len(point)], own...)...)
	})
}

// pointValues returns a run's values of the columns before the sheet's own.
func pointValues(s *experiment.Spec, r *Run) []any {
	out := []any{r.ID, r.Seed}
	for i, c := range r.Point {
		out = append(out, c.Text)
		if s.Sweep()[i].IsNumeric() {
			out = append(out, c.Value)
		}
	}
	return out
}

// WriteCSV writes the sheet of an outcome as CSV with a header line. Numbers equal those in Parquet, with enough
// digits to restore them exactly.
func (s *Sheet) WriteCSV(o *Outcome, w io.Writer) error {
	t := NewTable(w)
	var cells []string
	for _, c := range s.columns(o.Spec) {
		cells = append(cells, c.Name)
	}
	t.Row(cells...)
	s.eachRow(o, func(values ...any) {
		for i, v := range values {
			cells[i] = formatCell(v)
		}
		t.Row(cells...)
	})
	return t.Flush()
}

// formatCell formats a value for CSV; "" if it is undefined: nil, NaN or infinite.
func formatCell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// flowsSheet returns the sheet with a row for each flow.
func flowsSheet() Sheet {
	return Sheet{Name: "flows", Doc: "a flow of a run",
		ownColumns: []Column{
			{Name: "flow", zero: int32(0), Doc: "number of the flow in the run, from 0; traces have the same"},
			{Name: "traffic", zero: "", Doc: "name of its traffic in the experiment"},
			{Name: "src", zero: "", Doc: "host that sends"},
			{Name: "dst", zero: "", Doc: "host that receives"},
			{Name: "src_port", zero: int32(0), Doc: "transport port of the sender"},
			{Name: "dst_port", zero: int32(0), Doc: "transport port of the receiver"},
			{Name: "size_bytes", zero: int64(0), Optional: true, Doc: "payload to send; undefined: the flow has no end"},
			{Name: "start_s", zero: 0.0, Optional: true, Doc: "start, in seconds from the beginning of the warm-up; " +
				"undefined: the flow did not start"},
			{Name: "fct_s", zero: 0.0, Optional: true, Doc: "flow completion time: from the start until all data are " +
				"acknowledged, in seconds; undefined: the flow did not finish, or has no end"},
			{Name: "ideal_fct_s", zero: 0.0, Optional: true, Doc: "flow completion time in the empty network, in seconds; " +
				"undefined: the flow has no end"},
			{Name: "slowdown", zero: 0.0, Optional: true, Doc: "`fct_s` over `ideal_fct_s`"},
			{Name: "received_bytes", zero: int64(0), Doc: "payload that was new to the receiver, in the measured time"},
			{Name: "sent_packets", zero: int64(0), Doc: "data packets that the sender sent, in the measured time"},
			{Name: "retransmitted_packets", zero: int64(0), Doc: "retransmissions among these"},
		},
		rows: func(o *Outcome, add func(r *Run, own ...any)) {
			for _, r := range o.Runs {
				if r.Flows == nil {
					continue
				}
				for i := range r.Flows.Traffic {
					add(r, flowRow(r, i)...)
				}
			}
		}}
}

// flowRow returns the values of flow i of the run's table in the order of the sheet's own columns.
func flowRow(r *Run, i int) []any {
	f := r.Flows
	var size any
	if f.SizeBytes[i] > 0 {
		size = f.SizeBytes[i]
	}
	return []any{int32(i), f.Names[f.Traffic[i]], f.Names[f.Src[i]], f.Names[f.Dst[i]], int32(f.SrcPort[i]),
		int32(f.DstPort[i]), size, float64(f.StartS[i]), float64(f.FCTS[i]), float64(f.IdealS[i]),
		float64(f.FCTS[i] / f.IdealS[i]), f.ReceivedBytes[i], f.SentPackets[i], f.RetransmittedPackets[i]}
}

// seriesSheet returns the sheet with a row for each value over time.
func seriesSheet() Sheet {
	return Sheet{Name: "series", Doc: "a value of a measure with `every`, at a time of a run",
		ownColumns: []Column{
			{Name: "measure", zero: "", Doc: "name of the measure"},
			{Name: "group", zero: "", Doc: "group of the value: a traffic, a port, a flow of a traffic (`web.0`)"},
			{Name: "unit", zero: "", Doc: "unit of the value: `bps`, `s`, `bytes`, `packets`; empty: no unit"},
			{Name: "time_s", zero: 0.0, Doc: "time in seconds from the beginning of the warm-up; for a mean over an interval " +
				"(goodput, throughput, utilisation, jain), the start of the interval"},
			{Name: "value", zero: 0.0, Optional: true, Doc: "value in base units; undefined: no value at this time"},
		},
		rows: func(o *Outcome, add func(r *Run, own ...any)) {
			for _, r := range o.Runs {
				for i := range r.Series {
					s := &r.Series[i]
					for k, v := range s.Values {
						add(r, s.Name, s.Group, s.Unit, s.Time(k), float64(v))
					}
				}
			}
		}}
}

// distributionsSheet returns the sheet with a row for each value of a distribution.
func distributionsSheet() Sheet {
	return Sheet{Name: "distributions", Doc: "a value of a distribution of a run (flow completion times, slowdowns, " +
		"delays, lengths of queues), in ascending order",
		ownColumns: []Column{
			{Name: "measure", zero: "", Doc: "name of the measure"},
			{Name: "group", zero: "", Doc: "group of the value: a traffic, a port"},
			{Name: "unit", zero: "", Doc: "of the value; empty: it has none"},
			{Name: "value", zero: 0.0, Doc: "value in base units; with more than 1,000 values, neighbours are merged into the " +
				"largest of them"},
			{Name: "count", zero: uint64(0), Doc: "number of occurrences of this value"},
			{Name: "share", zero: 0.0, Doc: "share of values up to this one (the CDF)"},
		},
		rows: func(o *Outcome, add func(r *Run, own ...any)) {
			for _, r := range o.Runs {
				for i := range r.Distributions {
					d := &r.Distributions[i]
					sum, n := uint64(0), float64(d.Count())
					for k, v := range d.Values {
						sum += d.Counts[k]
						add(r, d.Name, d.Group, d.Unit, v, d.Counts[k], float64(sum)/n)
					}
				}
			}
		}}
}

// traceDocs describes the columns of a trace's Parquet file, in order.
var traceDocs = [...]string{
	"time in picoseconds from the beginning of the warm-up",
	"kind of event: `enqueue`, `transmit`, `drop`, `lost`, `arrive`",
	"node of the event",
	"port; undefined: the packet was dropped before it reached a port",
	"number of the flow in the run, from 0; undefined: the packet belongs to no flow",
	"kind of packet: `data`, `ack`, `nack`, `notice`, `pause`, `resume`, `probe`",
	"protocol of IP (RDMA: 252)",
	"sending host; undefined: the packet has no addresses",
	"transport port of the sender",
	"receiving host; undefined: the packet has no addresses",
	"transport port of the receiver",
	"sequence number; its unit depends on the transport",
	"acknowledgement number",
	"size of the frame in queues and on links",
	"payload of the packet",
	"TOS byte or traffic class, 0 to 255",
	"its ECN code point: `not-ect`, `ect1`, `ect0`, `ce`",
	"TCP flags, as letters; undefined: the packet has none",
	"packets that wait at the port after the event; undefined: no port",
	"bytes that wait at the port after the event; undefined: no port",
	"reason of the drop or loss; undefined: neither",
}

// traceColumns returns the columns of traces/<id>.parquet.
func traceColumns() (columns []Column) {
	row := reflect.TypeFor[TraceRow]()
	for i := range row.NumField() {
		f := row.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		columns = append(columns, Column{Name: name, Doc: traceDocs[i], zero: reflect.Zero(kind).Interface(),
			Optional: strings.Contains(","+options+",", ",optional,")})
	}
	return columns
}

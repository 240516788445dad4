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

// Sheet is a table of all runs of results: with a row for each flow, value over time, … Parquet files and CSV are
// written from it.
type Sheet struct {
	Name string // flows
	Doc  string // of what there is a row
	own  []Column
	rows func(o *Outcome, add func(r *Run, own ...any))
}

// Column is one of a sheet.
type Column struct {
	Name     string
	Doc      string
	Optional bool // null in Parquet and an empty cell in CSV where it is not defined
	of       any  // a value of its type
}

// columnType is that of the column's values in Parquet.
func (c *Column) columnType() string {
	switch reflect.TypeOf(c.of).Kind() {
	case reflect.String:
		return "string"
	case reflect.Float64:
		return "double"
	case reflect.Bool:
		return "boolean"
	}
	return reflect.TypeOf(c.of).String() // int32, int64, uint64
}

// Kind returns the Go type of the column's values.
func (c *Column) Kind() reflect.Type { return reflect.TypeOf(c.of) }

// Sheets are those that results can be given in.
func Sheets() []Sheet {
	return []Sheet{flowsSheet(), seriesSheet(), distributionsSheet(), timelineSheet()}
}

// first are the columns that every sheet begins with, before those of the sweep.
func first() []Column {
	return []Column{{Name: "run", of: "", Doc: "id of the run, as in `runs/<id>.json`"},
		{Name: "seed", of: uint64(0), Doc: "its seed"}}
}

// columns are all that the sheet has for an experiment: run, seed, and each sweep key as the spec writes it; of a key
// whose values are all quantities also their value in base units, key_value; then its own.
func (s *Sheet) columns(x *experiment.Spec) []Column {
	columns, taken := first(), map[string]bool{}
	for _, c := range append(first(), s.own...) {
		taken[c.Name] = true
	}
	add := func(name string, of any) {
		for taken[name] {
			name = "sweep_" + name
		}
		taken[name] = true
		columns = append(columns, Column{Name: name, of: of})
	}
	for _, d := range x.Sweep() {
		add(d.Key, "")
		if d.Numeric() {
			add(d.Key+"_value", 0.0)
		}
	}
	return append(columns, s.own...)
}

// each hands on each row, with the values of all columns.
func (s *Sheet) each(o *Outcome, add func(values ...any)) {
	var of *Run
	var point []any
	s.rows(o, func(r *Run, own ...any) {
		if r != of {
			of, point = r, pointValues(o.Spec, r)
		}
		add(append(point[:len(point):len(point)], own...)...)
	})
}

// pointValues are a run's values of the columns before the sheet's own.
func pointValues(s *experiment.Spec, r *Run) []any {
	out := []any{r.ID, r.Seed}
	for i, c := range r.Point {
		out = append(out, c.Text)
		if s.Sweep()[i].Numeric() {
			out = append(out, c.Value)
		}
	}
	return out
}

// WriteCSV writes the sheet of an outcome: a line of names, and one for each row. Numbers are those of Parquet, with as
// many digits as it takes to read them back.
func (s *Sheet) WriteCSV(o *Outcome, w io.Writer) error {
	t := newTable(w)
	var cells []string
	for _, c := range s.columns(o.Spec) {
		cells = append(cells, c.Name)
	}
	t.row(cells...)
	s.each(o, func(values ...any) {
		for i, v := range values {
			cells[i] = cell(v)
		}
		t.row(cells...)
	})
	return t.Flush()
}

// cell is a value in CSV.
func cell(v any) string {
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

// flowsSheet has a row a flow.
func flowsSheet() Sheet {
	return Sheet{Name: "flows", Doc: "a flow of a run",
		own: []Column{
			{Name: "flow", of: int32(0), Doc: "number of the flow in the run, from 0; traces have the same"},
			{Name: "traffic", of: "", Doc: "name of its traffic in the experiment"},
			{Name: "src", of: "", Doc: "host that sends"},
			{Name: "dst", of: "", Doc: "host that receives"},
			{Name: "src_port", of: int32(0), Doc: "transport port of the sender"},
			{Name: "dst_port", of: int32(0), Doc: "transport port of the receiver"},
			{Name: "size_bytes", of: int64(0), Optional: true, Doc: "payload that it has to carry; undefined: it has no end"},
			{Name: "start_s", of: 0.0, Optional: true, Doc: "when it began, from the beginning of the warm-up, in seconds; " +
				"undefined: it did not begin"},
			{Name: "fct_s", of: 0.0, Optional: true, Doc: "flow completion time: from its start until all was acknowledged, " +
				"in seconds; undefined: it was not finished, or has no end"},
			{Name: "ideal_fct_s", of: 0.0, Optional: true, Doc: "what that would be alone in the network, in seconds; " +
				"undefined: it has no end"},
			{Name: "slowdown", of: 0.0, Optional: true, Doc: "`fct_s` over `ideal_fct_s`"},
			{Name: "received_bytes", of: int64(0), Doc: "payload that was new to the receiver, in the measured part"},
			{Name: "sent_packets", of: int64(0), Doc: "data packets that the sender sent, in the measured part"},
			{Name: "retransmitted_packets", of: int64(0), Doc: "of these, those sent again"},
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

// flowRow are the values of flow i.
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

// seriesSheet has a row a value over time.
func seriesSheet() Sheet {
	return Sheet{Name: "series", Doc: "a value of a measure with `every`, at a time of a run",
		own: []Column{
			{Name: "measure", of: "", Doc: "name of the measure"},
			{Name: "group", of: "", Doc: "of what it is: a traffic, a port, a flow of a traffic (`web.0`)"},
			{Name: "unit", of: "", Doc: "of the value: `bps`, `s`, `bytes`, `packets`; empty: it has none"},
			{Name: "time_s", of: 0.0, Doc: "from the beginning of the warm-up, in seconds; of a mean over an interval " +
				"(goodput, throughput, utilisation, jain) when that begins"},
			{Name: "value", of: 0.0, Optional: true, Doc: "in base units; undefined: there was none at that time"},
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

// distributionsSheet has a row a value of a distribution.
func distributionsSheet() Sheet {
	return Sheet{Name: "distributions", Doc: "a value of a distribution of a run (flow completion times, slowdowns, " +
		"delays, lengths of queues), in ascending order",
		own: []Column{
			{Name: "measure", of: "", Doc: "name of the measure"},
			{Name: "group", of: "", Doc: "of what it is: a traffic, a port"},
			{Name: "unit", of: "", Doc: "of the value; empty: it has none"},
			{Name: "value", of: 0.0, Doc: "in base units; of more than 1,000 values neighbours are merged into their largest"},
			{Name: "count", of: uint64(0), Doc: "how often there was this value"},
			{Name: "share", of: 0.0, Doc: "share of the values up to this one: the CDF"},
		},
		rows: func(o *Outcome, add func(r *Run, own ...any)) {
			for _, r := range o.Runs {
				for i := range r.Distributions {
					d := &r.Distributions[i]
					sum, n := uint64(0), float64(d.N())
					for k, v := range d.Values {
						sum += d.Counts[k]
						add(r, d.Name, d.Group, d.Unit, v, d.Counts[k], float64(sum)/n)
					}
				}
			}
		}}
}

// traceDocs says what the columns of a trace's Parquet file are, in their order.
var traceDocs = [...]string{
	"picoseconds since the beginning of the warm-up",
	"what happened: `enqueue`, `transmit`, `drop`, `lost`, `arrive`",
	"where it happened",
	"port; undefined: the packet was dropped before it had one",
	"number of the flow in the run, from 0; undefined: the packet is of none",
	"kind of packet: `data`, `ack`, `nack`, `notice`, `pause`, `resume`, `probe`",
	"protocol of IP (RDMA: 252)",
	"sending host; undefined: the packet has no addresses",
	"transport port of the sender",
	"receiving host; undefined: the packet has no addresses",
	"transport port of the receiver",
	"sequence number; of what, depends on the transport",
	"acknowledgement number",
	"size that the frame counts with in queues and on links",
	"payload of the packet",
	"TOS byte or traffic class, 0 to 255",
	"its ECN code point: `not-ect`, `ect1`, `ect0`, `ce`",
	"TCP's flags, as letters; undefined: it has none",
	"packets that wait at the port after the event; undefined: it has no port",
	"bytes that wait there; undefined: it has no port",
	"why it was dropped or lost; undefined: it was not",
}

// traceColumns are the columns of traces/<id>.parquet.
func traceColumns() (columns []Column) {
	row := reflect.TypeFor[TraceRow]()
	for i := range row.NumField() {
		f := row.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		columns = append(columns, Column{Name: name, Doc: traceDocs[i], of: reflect.Zero(of).Interface(),
			Optional: strings.Contains(","+options+",", ",optional,")})
	}
	return columns
}

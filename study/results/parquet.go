package results

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"

	"weir/study/spec"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Files of a results folder that are made of its runs, for DuckDB, pandas and the
// like.
const (
	FlowsFile  = "flows.parquet"  // a row a flow
	SeriesFile = "series.parquet" // a row a value
)

// parquetColumn is a column of a Parquet file. Undefined numbers of an optional
// column are null.
type parquetColumn struct {
	name     string
	of       any // a value of its type
	optional bool
}

// parquetTable writes rows of given columns.
type parquetTable struct {
	columns []parquetColumn
	buffer  bytes.Buffer
	writer  *parquet.GenericWriter[any]
	rows    []parquet.Row
	err     error
}

func newParquetTable(columns []parquetColumn) *parquetTable {
	t := &parquetTable{columns: columns}
	var fields []reflect.StructField
	for i, c := range columns {
		kind := reflect.TypeOf(c.of)
		tag := c.name
		if c.optional {
			tag += ",optional"
		}
		if kind.Kind() == reflect.String {
			tag += ",dict"
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: kind,
			Tag: reflect.StructTag(`parquet:"` + tag + `"`)})
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	t.writer = parquet.NewGenericWriter[any](&t.buffer, schema, parquet.CreatedBy("weir", "1", ""),
		parquet.Compression(&zstd.Codec{}))
	return t
}

// add appends a row: a value a column, of the column's type.
func (t *parquetTable) add(values ...any) {
	row := make(parquet.Row, len(values))
	for i, v := range values {
		if !t.columns[i].optional {
			row[i] = parquet.ValueOf(v).Level(0, 0, i)
			continue
		}
		if x, ok := v.(float64); v == nil || ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			row[i] = parquet.NullValue().Level(0, 0, i)
		} else {
			row[i] = parquet.ValueOf(v).Level(0, 1, i)
		}
	}
	if t.rows = append(t.rows, row); len(t.rows) == 4096 {
		t.flush()
	}
}

func (t *parquetTable) flush() {
	if _, err := t.writer.WriteRows(t.rows); err != nil && t.err == nil {
		t.err = err
	}
	t.rows = t.rows[:0]
}

// bytes ends the file.
func (t *parquetTable) bytes() ([]byte, error) {
	t.flush()
	if err := t.writer.Close(); t.err == nil {
		t.err = err
	}
	return t.buffer.Bytes(), t.err
}

// pointColumns are those that every table begins with: run, seed, and each sweep key
// as the spec writes it; of a key whose values are all quantities also their value in
// base units, key_value.
func pointColumns(s *spec.Spec, own []parquetColumn) []parquetColumn {
	taken := map[string]bool{"run": true, "seed": true}
	for _, c := range own {
		taken[c.name] = true
	}
	columns := []parquetColumn{{name: "run", of: ""}, {name: "seed", of: uint64(0)}}
	add := func(name string, of any) {
		for taken[name] {
			name = "sweep_" + name
		}
		taken[name] = true
		columns = append(columns, parquetColumn{name: name, of: of})
	}
	for _, d := range s.Sweep() {
		add(d.Key, "")
		if d.Numeric() {
			add(d.Key+"_value", 0.0)
		}
	}
	return append(columns, own...)
}

// pointValues are a run's values of pointColumns.
func pointValues(s *spec.Spec, r *Run) []any {
	out := []any{r.ID, r.Seed}
	for i, c := range r.Point {
		out = append(out, c.Text)
		if s.Sweep()[i].Numeric() {
			out = append(out, c.Value)
		}
	}
	return out
}

// flowsParquet is flows.parquet. Counters are of the measured part; slowdown is fct_s
// over ideal_fct_s. Null: start_s of a flow that did not begin; fct_s of one that is not finished;
// size and ideal time of one without end.
func (o *Outcome) flowsParquet() ([]byte, error) {
	t := newParquetTable(pointColumns(o.Spec, []parquetColumn{{name: "flow", of: int32(0)}, {name: "traffic", of: ""},
		{name: "src", of: ""}, {name: "dst", of: ""},
		{name: "src_port", of: int32(0)}, {name: "dst_port", of: int32(0)}, {name: "size_bytes", of: int64(0),
			optional: true}, {name: "start_s", of: 0.0, optional: true},
		{name: "fct_s", of: 0.0, optional: true}, {name: "ideal_fct_s", of: 0.0, optional: true}, {name: "slowdown", of: 0.0,
			optional: true},
		{name: "received_bytes", of: int64(0)}, {name: "sent_packets", of: int64(0)}, {name: "retransmitted_packets",
			of: int64(0)}}))
	for _, r := range o.Runs {
		f := r.Flows
		if f == nil {
			continue
		}
		point := pointValues(o.Spec, r)
		for i := range f.Traffic {
			var size any
			if f.SizeBytes[i] > 0 {
				size = f.SizeBytes[i]
			}
			t.add(append(point[:len(point):len(point)], int32(i), f.Names[f.Traffic[i]], f.Names[f.Src[i]], f.Names[f.Dst[i]],
				int32(f.SrcPort[i]), int32(f.DstPort[i]), size,
				float64(f.StartS[i]), float64(f.FCTS[i]), float64(f.IdealS[i]), float64(f.FCTS[i]/f.IdealS[i]), f.ReceivedBytes[i],
				f.SentPackets[i], f.RetransmittedPackets[i])...)
		}
	}
	return t.bytes()
}

// seriesParquet is series.parquet: the quantities over time.
func (o *Outcome) seriesParquet() ([]byte, error) {
	t := newParquetTable(pointColumns(o.Spec, []parquetColumn{{name: "measure", of: ""}, {name: "group", of: ""},
		{name: "unit", of: ""}, {name: "time_s", of: 0.0}, {name: "value", of: 0.0, optional: true}}))
	for _, r := range o.Runs {
		point := pointValues(o.Spec, r)
		for i := range r.Series {
			s := &r.Series[i]
			for k, v := range s.Values {
				t.add(append(point[:len(point):len(point)], s.Name, s.Group, s.Unit, s.Time(k), float64(v))...)
			}
		}
	}
	return t.bytes()
}

// WriteTables writes the Parquet files into the outcome's folder.
func (o *Outcome) WriteTables() error {
	for _, f := range []struct {
		name string
		make func() ([]byte, error)
	}{{FlowsFile, o.flowsParquet}, {SeriesFile, o.seriesParquet}} {
		data, err := f.make()
		if err == nil {
			err = WriteFile(filepath.Join(o.Dir, f.name), data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

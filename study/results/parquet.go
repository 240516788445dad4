package results

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"weir/internal/atomicfile"
)

// Files of a results folder that are made of its runs, for DuckDB, pandas and the
// like.
const (
	FlowsFile  = "flows.parquet"  // a row a flow
	SeriesFile = "series.parquet" // a row a value
	// TimelineFile has a row for each thing that a rank of a job does, where that is measured.
	TimelineFile = "timeline.parquet"
)

// parquetTable writes rows of given columns. Undefined numbers of an optional column are null.
type parquetTable struct {
	columns []Column
	buffer  bytes.Buffer
	writer  *parquet.GenericWriter[any]
	rows    []parquet.Row
	values  []parquet.Value // of rows, which share it
	err     error
}

// rowsAtOnce is the number of rows that the writer receives in one call.
const rowsAtOnce = 4096

func newParquetTable(columns []Column) *parquetTable {
	t := &parquetTable{columns: columns, values: make([]parquet.Value, 0, rowsAtOnce*len(columns))}
	var fields []reflect.StructField
	for i, c := range columns {
		kind := reflect.TypeOf(c.of)
		tag := c.Name
		if c.Optional {
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
	n := len(t.values)
	t.values = append(t.values, make([]parquet.Value, len(values))...)
	row := parquet.Row(t.values[n:])
	for i, v := range values {
		if !t.columns[i].Optional {
			row[i] = parquet.ValueOf(v).Level(0, 0, i)
			continue
		}
		if x, ok := v.(float64); v == nil || ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			row[i] = parquet.NullValue().Level(0, 0, i)
		} else {
			row[i] = parquet.ValueOf(v).Level(0, 1, i)
		}
	}
	if t.rows = append(t.rows, row); len(t.rows) == rowsAtOnce {
		t.flush()
	}
}

func (t *parquetTable) flush() {
	if _, err := t.writer.WriteRows(t.rows); err != nil && t.err == nil {
		t.err = err
	}
	t.rows, t.values = t.rows[:0], t.values[:0]
}

// bytes ends the file.
func (t *parquetTable) bytes() ([]byte, error) {
	t.flush()
	if err := t.writer.Close(); t.err == nil {
		t.err = err
	}
	return t.buffer.Bytes(), t.err
}

// parquet is a sheet as a Parquet file.
func (o *Outcome) parquet(s *Sheet) ([]byte, error) {
	t := newParquetTable(s.Columns(o.Spec))
	s.each(o, t.add)
	return t.bytes()
}

// WriteTables writes the Parquet files into the outcome's folder.
func (o *Outcome) WriteTables() error {
	for _, f := range []struct {
		name  string
		sheet Sheet
	}{{FlowsFile, flowsSheet()}, {SeriesFile, seriesSheet()}, {TimelineFile, timelineSheet()}} {
		if f.name == TimelineFile && !o.timed() {
			if err := atomicfile.Remove(filepath.Join(o.Dir, f.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			continue
		}
		data, err := o.parquet(&f.sheet)
		if err == nil {
			err = WriteFile(filepath.Join(o.Dir, f.name), data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

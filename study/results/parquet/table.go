package parquet

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"weir/core/trace"
	"weir/study/results"
)

// Files implements results.Parquet.
type Files struct{}

// Table returns a file with a row for each call of add, which takes one value for each column.
func (Files) Table(columns []results.Column, each func(add func(values ...any))) ([]byte, error) {
	t := newTable(columns)
	each(t.addRow)
	return t.finishFile()
}

// NewTrace returns a writer of a trace file; Close must complete it.
func (Files) NewTrace(w io.Writer, ports []string) results.TraceWriter {
	return NewTraceTable(w, ports)
}

// ReadTrace calls ReadTraceTable.
func (Files) ReadTrace(r io.ReaderAt, size int64, f func(*trace.Record) error) error {
	return ReadTraceTable(r, size, f)
}

// table writes rows of given columns. Undefined numbers of an optional column are null.
type table struct {
	columns []results.Column
	buffer  bytes.Buffer
	writer  *parquet.GenericWriter[any]
	rows    []parquet.Row
	values  []parquet.Value // backing array of rows
	err     error
}

// rowsAtOnce is the number of rows that the writer receives in one call.
const rowsAtOnce = 4096

// newTable returns an empty table with a schema for the columns.
func newTable(columns []results.Column) *table {
	t := &table{columns: columns, values: make([]parquet.Value, 0, rowsAtOnce*len(columns))}
	var fields []reflect.StructField
	for i, c := range columns {
		kind := c.GoType()
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

// addRow appends a row with one value of the column's type for each column. nil, NaN and infinities are null in
// optional columns. finishFile returns the error.
func (t *table) addRow(values ...any) {
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

// flush writes the buffered rows and keeps the first error.
func (t *table) flush() {
	if _, err := t.writer.WriteRows(t.rows); err != nil && t.err == nil {
		t.err = err
	}
	t.rows, t.values = t.rows[:0], t.values[:0]
}

// finishFile completes the file and returns its content, or the first error of the table. Call it once.
func (t *table) finishFile() ([]byte, error) {
	t.flush()
	if err := t.writer.Close(); t.err == nil {
		t.err = err
	}
	return t.buffer.Bytes(), t.err
}

package parquet_test

import (
	"bytes"
	"fmt"

	"weir/core/trace"
	"weir/study/results/parquet"
)

// Example writes a trace and reads it back.
func Example() {
	var b bytes.Buffer
	w := parquet.NewTraceTable(&b, []string{"a->s"})
	w.Write(&trace.Record{Kind: trace.Transmit, Node: "a", Port: "a->s", Src: "a", Dst: "b", Size: 1500})
	fmt.Println(w.Close())
	err := parquet.ReadTraceTable(bytes.NewReader(b.Bytes()), int64(b.Len()), func(r *trace.Record) error {
		fmt.Println(r.Port, r.Size)
		return nil
	})
	fmt.Println(err)
	// Output:
	// <nil>
	// a->s 1500
	// <nil>
}

package parquet_test

import (
	"fmt"

	_ "weir/app/parquet"
	"weir/study/results"
)

// Example shows that the import alone links the part in.
func Example() {
	fmt.Println(results.ParquetFiles.Linked())
	// Output: true
}

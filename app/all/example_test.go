package all_test

import (
	"fmt"

	_ "weir/app/all"
	"weir/study/figure"
	"weir/study/results"
	"weir/study/workers"
)

// Example shows that the import alone links all parts in.
func Example() {
	fmt.Println(figure.Drawing.Linked() && results.ParquetFiles.Linked() && workers.Remote.Linked())
	// Output: true
}

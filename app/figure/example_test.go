package figure_test

import (
	"fmt"

	_ "weir/app/figure"
	"weir/study/figure"
)

// Example shows that the import alone links the part in.
func Example() {
	fmt.Println(figure.Drawing.Linked())
	// Output: true
}

package page_test

import (
	"fmt"

	_ "weir/app/page"
	"weir/study/page/live"
)

// Example shows that the import alone links the part in.
func Example() {
	fmt.Println(live.Page.Linked())
	// Output: true
}

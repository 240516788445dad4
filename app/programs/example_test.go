package programs_test

import (
	"fmt"

	"weir/app/programs"
)

// A switch's file names programs of this list.
func ExampleListPrograms() {
	for _, p := range programs.ListPrograms()[:2] {
		fmt.Println(p.Name)
	}
	// Output:
	// abc
	// bolt
}

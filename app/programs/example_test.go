package programs_test

import (
	"fmt"

	"weir/app/programs"
)

// ExampleListPrograms lists the programs that a switch's file may name.
func ExampleListPrograms() {
	for _, p := range programs.ListPrograms()[:2] {
		fmt.Println(p.Name)
	}
	// Output:
	// abc
	// bolt
}

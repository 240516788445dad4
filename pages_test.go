package pages_test

import (
	"fmt"

	pages "weir"
)

// The program has each page as it is in the repository.
func Example() {
	page, err := pages.Files.ReadFile("README.md")
	fmt.Printf("%.6s, %v\n", page, err)
	// Output: # Weir, <nil>
}

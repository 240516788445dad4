package ai_test

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"weir/papers/ai"
)

// The experiments by name, as weir run ai/… has them.
func Example() {
	files, err := fs.Glob(ai.Experiments, "experiments/*.yaml")
	if err != nil {
		fmt.Println(err)
	}
	for _, f := range files {
		fmt.Println("ai/" + strings.TrimSuffix(path.Base(f), ".yaml"))
	}
	// Output:
	// ai/all-reduce
	// ai/all-to-all
	// ai/credit
	// ai/faults
	// ai/storage
	// ai/two-jobs
}

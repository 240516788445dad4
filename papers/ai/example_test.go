package ai_test

import (
	"fmt"

	"weir/papers/ai"
)

// Example lists the experiments of the package.
func Example() {
	files, err := ai.Experiments.ReadDir("experiments")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		fmt.Println(f.Name())
	}
	// Output:
	// all-reduce.yaml
	// all-to-all.yaml
	// credit.yaml
	// faults.yaml
	// lockstep.yaml
	// storage.yaml
	// trimming.yaml
	// two-jobs.yaml
}

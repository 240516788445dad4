package csvfiles_test

import (
	"fmt"

	"weir/study/interop/csvfiles"
)

func Example() {
	f := csvfiles.Format()
	fmt.Println(f.Name + ": " + f.Doc)
	// Output: csv: tables of all runs: values.csv, series.csv (over time), flows.csv, distributions.csv (docs/data.md)
}

package jetstream_test

import (
	"context"
	"fmt"
	"os"

	"weir/internal/revision"
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/run/jetstream"
)

// Example runs an experiment on workers: those that join, and one of this process.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../../papers/p4abc")
	text := plantest.Small + plantest.SmallTraffic + "switch: [forward]\nsweep: {rate: [1Mbps]}\nmeasure: [goodput]\n"
	s, err := plan.Load(registry, plantest.NewSource("small.yaml", text), experiment.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := jetstream.New(jetstream.Config{Registry: registry, Revision: revision.This(), Listen: "127.0.0.1:0"})
	o, err := run.Execute(context.Background(), s, run.Options{Dir: dir, Executable: revision.Executable(), Runner: c})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(o.Runs), "runs,", o.Missing, "missing")
	// Prints: 2 runs, 0 missing
}

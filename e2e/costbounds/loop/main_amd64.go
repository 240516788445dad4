// Loop executes the runs of an experiment so that callgrind counts the instructions of their loops, without loading,
// building and reports. It prints the number of packet-hops. Package costbounds starts it.
package main

import (
	"fmt"
	"os"

	"weir/app"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// Requests to valgrind (valgrind.h, callgrind.h).
const (
	onValgrind = 0x1001
	dump       = 'C'<<24 | 'T'<<16
	start      = dump + 4
	stop       = dump + 5
)

// request sends a request to valgrind; without valgrind it has no effect and returns 0. Callgrind's own option for
// counting within one function (--toggle-collect) mistakes a change of stacks, as by Go, for the function's end.
func request(args *[6]uint64) uint64

func main() {
	hops, err := runExperiment(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, hops)
}

// runExperiment runs an experiment's runs under valgrind and returns their packet-hops.
func runExperiment(name string) (hops uint64, err error) {
	if request(&[6]uint64{onValgrind}) == 0 {
		return 0, fmt.Errorf("this is not valgrind")
	}
	r := app.Registry()
	src, err := r.OpenExperiment(name)
	if err != nil {
		return 0, err
	}
	exp, err := plan.Load(r, src, experiment.Options{})
	if err != nil {
		return 0, err
	}
	for _, run := range plan.ListRuns(exp) {
		c, err := run.Config()
		if err != nil {
			return 0, err
		}
		s, err := sim.New(c)
		if err != nil {
			return 0, err
		}
		request(&[6]uint64{start})
		result := s.Run()
		request(&[6]uint64{dump}) // into a separate file; the stop resets the counts
		request(&[6]uint64{stop})
		hops += result.PacketHops
	}
	return hops, nil
}

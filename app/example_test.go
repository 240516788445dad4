package app_test

import (
	"context"
	"fmt"
	"os"

	"weir/app"
)

// Example loads an experiment with a changed value, runs it in this process and reads its measures.
func Example() {
	r := app.Registry()
	s, err := app.Load(r, "p4abc/fig5", "duration=2s", "scheme=abc", "n=1")
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := app.Run(context.Background(), s, app.Options{})
	fmt.Println(len(o.Runs) > 0, err)
	// Output: true <nil>
}

// ExampleCommand runs the command line in this process.
func ExampleCommand() {
	code := app.Command(app.Registry(), os.Stdout, os.Stdout, "agent", "--interface", "eth1")
	fmt.Println(code)
	// Output:
	// weir: the agent is not part of this program; to add it, import _ "weir/app/agent" in package main
	// 2
}

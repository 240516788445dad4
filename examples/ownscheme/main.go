// Ownscheme is a weir with one example of each kind of extension: it has the whole command line.
package main

import (
	"os"

	"example.org/ownscheme/aimd"
	"example.org/ownscheme/early"
	"example.org/ownscheme/flowlist"
	"example.org/ownscheme/ring"
	"example.org/ownscheme/rpc"
	"example.org/ownscheme/slowest"

	"weir/app"
	_ "weir/app/figure"
	_ "weir/app/softswitch"
)

func main() {
	r := app.Registry()
	r.Controllers = append(r.Controllers, aimd.Scheme())
	r.Programs = append(r.Programs, early.Scheme())
	r.Measures = append(r.Measures, slowest.Definition())
	r.Topologies = append(r.Topologies, ring.Scheme())
	r.Workloads = append(r.Workloads, rpc.Sizes())
	r.Formats = append(r.Formats, flowlist.Format())
	os.Exit(app.Main(r))
}

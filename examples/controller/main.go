// Controller is a weir with a controller of one's own: it has the whole command line.
package main

import (
	"os"

	"example.org/controller/gentle"

	"weir/cmd/weir/cli"
)

func main() {
	r := cli.Registry()
	r.Controllers = append(r.Controllers, gentle.Scheme())
	os.Exit(cli.Main(r))
}

// Controller is a weir with a controller of one's own. It has the whole command line, but for what needs more modules,
// which package app lists.
package main

import (
	"os"

	"example.org/controller/gentle"

	"weir/app"
)

func main() {
	r := app.Registry()
	r.Controllers = append(r.Controllers, gentle.Scheme())
	os.Exit(app.Main(r))
}

// Controller is a weir with an additional controller. It has the whole command line, except for parts that need more
// modules, which package app lists.
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

// Weir compares network-assisted congestion control: see the README.
package main

import (
	"os"

	"weir/app"
	_ "weir/app/all"
)

func main() { os.Exit(app.Main(app.Registry())) }

// Weir compares network-assisted congestion control: see the README.
package main

import (
	"os"

	"weir/cmd/weir/cli"
)

func main() { os.Exit(cli.Main(cli.Registry())) }

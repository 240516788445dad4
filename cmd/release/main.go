// Release makes the published files of a commit: an archive for each platform with its licences and components, the
// documentation as a site, and the checksums of all. The same commit yields the same bytes on any machine.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// options are the flags of the command line.
type options struct {
	Commit    string   `arg:"" optional:"" default:"HEAD" help:"Commit or tag of this repository to release."`
	Version   string   `help:"Version in file names. Default: the tag of the commit, or its hash."`
	Out       string   `default:"release" placeholder:"DIR" help:"Folder to write into, new or empty (${default})."`
	Platforms []string `default:"${platforms}" help:"Platforms, as system/processor (${default})."`
	Pgo       string   `default:"profiles/weir.pgo" hidden:"" help:"Profile for the compiler's optimisation; off: none."`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("release"), kong.UsageOnError(),
		kong.Description("Build the archives, the documentation site and the checksums of a release."),
		kong.Vars{"platforms": strings.Join(platforms, ",")})
	files, err := o.makeRelease(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	for _, f := range files {
		fmt.Println(f)
	}
}

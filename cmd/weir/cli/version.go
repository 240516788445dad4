package cli

import (
	"fmt"
	"runtime/debug"

	"weir/internal/revision"
)

// version is the module's version or its revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "development"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v + " " + info.GoVersion
}

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.stdout, "weir", version())
	fmt.Fprintln(a.stdout, revision.This())
	return nil
}

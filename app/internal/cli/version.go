package cli

import (
	"fmt"

	"weir/internal/command"
	"weir/internal/revision"
)

// version is what reports say of the program.
func version() string { return command.Version() }

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.stdout, revision.Name(), version())
	fmt.Fprintln(a.stdout, revision.This())
	fmt.Fprintln(a.stdout, "stamp of the program:", revision.Executable())
	fmt.Fprintf(a.stdout, "its results folders: results/<experiment>-<hash>-%s\n", revision.This().Key())
	return nil
}

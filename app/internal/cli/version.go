package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

	"weir/internal/command"
	"weir/internal/revision"
)

// version returns the program's version for reports.
func version() string { return command.Version() }

type versionCmd struct{}

// Run prints the version, the revision, the stamp of the executable and the pattern of its results folders.
func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.stdout, revision.Name(), version())
	fmt.Fprintln(a.stdout, revision.This())
	fmt.Fprintln(a.stdout, "program stamp:", revision.Executable())
	fmt.Fprintf(a.stdout, "results folders: results/<experiment>-<hash>-%s\n", revision.This().FolderKey())
	return nil
}

// versionFlag prints the version.
type versionFlag bool

// BeforeReset prints the version and ends the parser before kong requires arguments.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, revision.Name(), version())
	app.Exit(0)
	return nil
}

// IsBool makes the flag take no value.
func (versionFlag) IsBool() bool { return true }

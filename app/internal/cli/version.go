package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

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

// versionFlag prints the version.
type versionFlag bool

// BeforeReset acts before arguments are required.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, revision.Name(), version())
	app.Exit(0)
	return nil
}

// IsBool has the flag take no value.
func (versionFlag) IsBool() bool { return true }

package cli

import (
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/alecthomas/kong"

	"weir/internal/command"
	"weir/internal/document"
	"weir/study/experiment"
)

type exportCmd struct {
	folders
	Dir    string `arg:"" name:"dir" help:"Results folder, or the name of an experiment that was run."`
	Format string `default:"${exportFormat}" help:"Output format (weir list formats)."`
	Into   string `help:"${exportInto}"`
	kong.Plugins
}

// addFormats adds the flags of all formats to the command, in their order.
func (e *exportCmd) addFormats(all []experiment.ExportFormat) {
	for _, f := range all {
		e.Plugins = append(e.Plugins, f.New())
	}
}

// Run exports the results in the format --format, which has to be a name of the registry.
func (e *exportCmd) Run(a *app, ctx *kong.Context) error {
	var names []string
	for i, f := range a.registry.Formats {
		if f.Name == e.Format {
			return e.writeFormat(a, ctx, i)
		}
		names = append(names, f.Name)
	}
	return fmt.Errorf("%w: --format is %q; allowed: %s", command.ErrInput, e.Format, document.JoinChoices(names))
}

// writeFormat exports the results in the registry's format with index i, by default into a subfolder of the results
// with the format's name. It returns an error if a flag of another format is given.
func (e *exportCmd) writeFormat(a *app, ctx *kong.Context, i int) error {
	for k, f := range a.registry.Formats {
		if flag := findGiven(ctx, e.Plugins[k]); flag != "" && k != i {
			return fmt.Errorf("%w: --%s is an option of --format %s, not of %s; leave it out",
				command.ErrInput, flag, f.Name, e.Format)
		}
	}
	x := e.Plugins[i].(experiment.Export)
	if c, ok := x.(experiment.CheckedExport); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("%w: %w", command.ErrInput, err)
		}
	}
	dir, err := e.findFolder(a, e.Dir)
	if err != nil {
		return err
	}
	into := e.Into
	if into == "" {
		into = filepath.Join(dir, e.Format)
	}
	return x.Write(a.registry, dir, into, a.stdout)
}

// findGiven returns the name of a flag on the command line that sets a field of options, or "". The options are a
// pointer to a struct of flags.
func findGiven(ctx *kong.Context, options any) string {
	fields := reflect.ValueOf(options).Elem()
	for _, p := range ctx.Path {
		for k := range fields.NumField() {
			if p.Flag != nil && p.Flag.Target.Addr().UnsafePointer() == fields.Field(k).Addr().UnsafePointer() {
				return p.Flag.Name
			}
		}
	}
	return ""
}

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"weir/internal/command"
	"weir/internal/document"
	"weir/study/experiment"
)

type importCmd struct {
	Config string         `arg:"" help:"${importConfig}"`
	Format string         `default:"${importFormat}" help:"Input format (weir list formats)."`
	Out    command.Target `short:"o" help:"${importOut}"`
}

// Run converts a configuration and writes the experiment to standard output, or into a new file. An existing file is an
// error.
func (i *importCmd) Run(a *app) error {
	folder := "."
	if i.Out != "" {
		folder = fromHere(filepath.Dir(string(i.Out)))
	}
	var names []string
	for _, f := range a.registry.Imports {
		names = append(names, f.Name)
	}
	format := slices.Index(names, i.Format)
	if format < 0 {
		return fmt.Errorf("%w: --format is %q; allowed: %s", command.ErrInput, i.Format, document.JoinChoices(names))
	}
	data, warnings, err := a.registry.Imports[format].Make(a.registry, i.Config, folder)
	if err != nil {
		if hint := a.otherFile(i.Config); hint != "" {
			return fmt.Errorf("%w\n%s", err, hint)
		}
		return err
	}
	a.warn(warnings...)
	if i.Out == "" {
		_, err = a.stdout.Write(data)
		return err
	}
	f, err := os.OpenFile(string(i.Out), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		if os.IsExist(err) {
			return fmt.Errorf("%w: %s exists already; name a new file", command.ErrInput, i.Out)
		}
		return err
	}
	_, err = f.Write(data)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return err
}

// fromHere returns a path relative to the current folder, possibly with "..", or the path itself if it has no such
// form.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil {
		return short
	}
	return path
}

// otherFile returns a hint for a file that an experiment can name without import: flows or a network in a known format.
// It returns "" for other files.
func (a *app) otherFile(name string) string {
	data, err := document.ReadFile(name, document.MaxInput)
	if err != nil {
		return ""
	}
	for _, f := range a.registry.Flows {
		_, err := f.Read(bytes.NewReader(data), name, 1)
		if err == nil || experiment.IsExcess(err) {
			clock := ""
			if f.UnclearUnit != "" {
				clock = ", time_unit: 1ps"
			}
			return fmt.Sprintf("The file is a %s and needs no import; an experiment reads it with\n    traffic: [{name: x, "+
				"file: %s, format: %s%s, transport: tcp}]", f.Doc,
				document.Quote(name, false), f.Name, clock)
		}
	}
	for _, f := range a.registry.Networks {
		if _, err := f.Read(bytes.NewReader(data), name); err == nil || experiment.IsExcess(err) {
			return fmt.Sprintf("The file is a %s and needs no import; an experiment reads it with\n    topology: {file: %s, "+
				"format: %s}", f.Doc, document.Quote(name, false), f.Name)
		}
	}
	return ""
}

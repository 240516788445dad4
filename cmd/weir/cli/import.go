package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type importCmd struct {
	Config string `arg:"" help:"${importConfig}"`
	Format string `default:"${importFormat}" help:"What is read (weir list formats)."`
	Out    target `short:"o" help:"File that the experiment is written to, instead of standard output; it must not exist."`
}

func (i *importCmd) Run(a *app) error {
	folder := "."
	if i.Out != "" {
		folder = filepath.Dir(string(i.Out))
	}
	var names []string
	for _, f := range a.registry.Imports {
		names = append(names, f.Name)
	}
	format := slices.Index(names, i.Format)
	if format < 0 {
		return fmt.Errorf("%w: --format is %q; %s are allowed", errInput, i.Format, strings.Join(names, ", "))
	}
	data, warnings, err := a.registry.Imports[format].Make(a.registry, i.Config, folder)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(a.stderr, "warning:", w)
	}
	if i.Out == "" {
		_, err = a.stdout.Write(data)
		return err
	}
	f, err := os.OpenFile(string(i.Out), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		if os.IsExist(err) {
			return fmt.Errorf("%w: %s is there already", errInput, i.Out)
		}
		return err
	}
	_, err = f.Write(data)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return err
}

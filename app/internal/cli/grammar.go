package cli

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"weir/internal/revision"
	"weir/study/experiment"
)

// newParser returns a parser of whole command lines. Formats of the registry have flags of their own.
func newParser(r *experiment.Registry, c *commandLine, options ...kong.Option) (*kong.Kong, error) {
	c.Export.Results.formats(r.Formats)
	return parserOf(r, c, options...)
}

// parserFor returns a parser of command lines that begin with the arguments. If the first one is a command, the parser
// has no other: to build all of them takes kong several milliseconds, more than many commands need.
func parserFor(r *experiment.Registry, c *commandLine, args []string, options ...kong.Option) (*kong.Kong, error) {
	c.Export.Results.formats(r.Formats)
	if len(args) > 0 {
		return parserOf(r, c.only(args[0]), options...)
	}
	return parserOf(r, c, options...)
}

// parserOf returns the parser of a grammar, which is a pointer to a struct.
func parserOf(r *experiment.Registry, grammar any, options ...kong.Option) (*kong.Kong, error) {
	vars := kong.Vars{"importFormat": "", "exportFormat": ""}
	if len(r.Imports) > 0 {
		vars["importFormat"] = r.Imports[0].Name
	}
	if len(r.Formats) > 0 {
		vars["exportFormat"] = r.Formats[0].Name
	}
	return kong.New(grammar, append(options, kong.Name(revision.Name()), parseTarget, enums, vars,
		kong.PostBuild(insertHelpTexts),
		kong.Description("Network-assisted congestion control, simulated: HPCC++, NCF, P4TE, P4-ABC and what they are "+
			"compared with."),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}))...)
}

// readingAll are the commands that read the grammar of all others.
var readingAll = []string{"help", "man", "complete"}

// only returns the grammar with the one command of that name and all flags that need no command. It is the whole
// grammar if the command reads it, or if there is no such command.
func (c *commandLine) only(name string) any {
	if slices.Contains(readingAll, name) {
		return c
	}
	whole := reflect.ValueOf(c).Elem()
	var fields []reflect.StructField
	var values []reflect.Value
	found := false
	for i := range whole.NumField() {
		field := whole.Type().Field(i)
		if _, is := field.Tag.Lookup("cmd"); is {
			if commandName(field) != name {
				continue
			}
			found = true
		}
		fields, values = append(fields, field), append(values, whole.Field(i))
	}
	if !found {
		return c
	}
	grammar := reflect.New(reflect.StructOf(fields))
	for i, v := range values {
		grammar.Elem().Field(i).Set(v)
	}
	return grammar.Interface()
}

// commandName returns the word of a command line for a field of commandLine.
func commandName(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return name
	}
	return strings.ToLower(field.Name)
}

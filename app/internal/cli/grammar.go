package cli

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"weir/internal/revision"
	"weir/study/experiment"
)

// newParser returns a parser of all commands, which sets the fields of c. It adds the flags of the registry's formats
// to c, so it is called once for each c.
func newParser(r *experiment.Registry, c *commandLine, options ...kong.Option) (*kong.Kong, error) {
	c.Export.Results.addFormats(r.Formats)
	return parserOf(r, c, options...)
}

// parserFor returns a parser of command lines that begin with the given arguments. It adds the flags of the registry's
// formats to c. If the first argument is a command, the parser has only this command, since kong needs long to build
// all of them; it then sets a copy and not c.
func parserFor(r *experiment.Registry, c *commandLine, args []string, options ...kong.Option) (*kong.Kong, error) {
	c.Export.Results.addFormats(r.Formats)
	if len(args) > 0 {
		return parserOf(r, c.selectCommand(args[0]), options...)
	}
	return parserOf(r, c, options...)
}

// parserOf returns the parser of a grammar, which is a pointer to a struct with commands as fields. The registry sets
// the default formats.
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
		kong.Description("Simulator and lab for network-assisted congestion control: HPCC++, NCF, P4TE, P4-ABC and the "+
			"schemes that they are compared with."),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}))...)
}

// readingAll are the commands that need the grammar of all commands.
var readingAll = []string{"help", "man", "complete"}

// selectCommand returns the grammar with one command and the flags without command, as a copy of these fields. It
// returns c, the whole grammar, if the command needs it or does not exist.
func (c *commandLine) selectCommand(name string) any {
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

// commandName returns the command line's word for a field of commandLine.
func commandName(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return name
	}
	return strings.ToLower(field.Name)
}

package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"weir/internal/command"
	"weir/internal/revision"
)

type manCmd struct{}

// Run prints the manual page, generated from the same declarations as --help and docs/commands.md.
func (manCmd) Run(a *app, ctx *kong.Context) error {
	fmt.Fprint(a.stdout, renderManual(ctx.Model))
	return nil
}

// renderManual returns the manual page in the macros of man(7).
func renderManual(model *kong.Application) string {
	name := revision.Name()
	m := &roff{}
	m.line(`.TH ` + quoteRoff(strings.ToUpper(name)) + ` 1 "" ` + quoteRoff(name+" "+revision.Version()) +
		` "User Commands"`)
	m.line(".SH NAME")
	m.text(name + ` \- ` + escapeRoff("simulator, lab and switch for network-assisted congestion control"))
	m.line(".SH SYNOPSIS")
	m.line(".B " + escapeRoff(name))
	m.text(`\fICOMMAND\fR [\fIARGUMENT\fR ...] [\fIFLAGS\fR]`)
	m.line(".SH DESCRIPTION")
	m.text(escapeRoff(model.Help))
	m.text(escapeRoff("Tables and documents go to standard output, progress and warnings to standard error."))
	m.line(".SH COMMANDS")
	for _, n := range model.Leaves(true) {
		m.command(n)
	}
	m.line(".SH EXIT STATUS")
	for _, x := range []struct {
		code int
		text string
	}{
		{command.Done, "done; a claim that fails is a result, not an error"},
		{command.RunFailed, "a run failed or was cut short"},
		{command.WrongInput, "the input is invalid"},
		{command.ClaimFailed, "with --check: a claim fails, or the lab differs"},
		{command.Unjudged, "with --check: no claim fails, but one or the lab is undecided"},
		{command.Interrupted, "interrupted"},
	} {
		m.item(fmt.Sprint(x.code), x.text)
	}
	m.line(".SH FILES")
	m.item("results/", "Results folders, one per experiment, set of options and program.")
	m.line(".SH EXAMPLES")
	m.item(name+" run p4abc/fig5", "Reproduce a figure of a paper: print its tables, verdicts and the path of the report.")
	m.item(name+" show p4abc/fig5 --yaml > mine.yaml", "Copy an experiment to edit it.")
	m.item(name+" results list", "List results folders, newest first.")
	return m.b.String()
}

// roff writes a manual page.
type roff struct{ b strings.Builder }

// line writes a line as it is.
func (m *roff) line(s string) { m.b.WriteString(s + "\n") }

// text writes a line of text that is already in roff's escapes. A dot or quote at its beginning is not read as a
// request.
func (m *roff) text(s string) {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	m.line(s)
}

// item writes a term with its meaning, both in plain text.
func (m *roff) item(term, meaning string) {
	m.line(".TP")
	m.line(`.B ` + quoteRoff(term))
	m.text(escapeRoff(meaning))
}

// command writes the section of a command, with its arguments and visible flags.
func (m *roff) command(n *kong.Node) {
	m.line(".SS " + quoteRoff(n.FullPath()))
	m.text(escapeRoff(n.Help))
	for _, p := range n.Positional {
		m.item(p.Summary(), meaningOf(p))
	}
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		m.item(flagTerm(f), meaningOf(f.Value))
	}
}

// flagTerm returns a flag with its short form and placeholder, as the reference prints it.
func flagTerm(f *kong.Flag) string {
	term := "--" + f.Name
	if f.Short != 0 {
		term = "-" + string(f.Short) + ", " + term
	}
	if !f.IsBool() {
		term += " " + placeholder(f)
	}
	return term
}

// placeholder returns the name of a flag's value. Where --help prints the default, this is the flag's name.
func placeholder(f *kong.Flag) string {
	if f.PlaceHolder == "" || f.PlaceHolder == f.Default {
		return strings.ToUpper(f.Name)
	}
	return f.PlaceHolder
}

// meaningOf returns the help of a value with its allowed words and its default.
func meaningOf(v *kong.Value) string {
	text := helpOf(v)
	if v.HasDefault && v.Default != "" {
		text += " Default: " + v.Default + "."
	}
	return text
}

// helpOf returns the help of a value, with its allowed words if the help does not name all of them.
func helpOf(v *kong.Value) string {
	for _, word := range v.EnumSlice() {
		if !strings.Contains(v.Help, word) {
			return v.Help + " One of " + strings.Join(v.EnumSlice(), ", ") + "."
		}
	}
	return v.Help
}

// escapeRoff returns a text in roff's escapes. A character beyond ASCII is written by its number, which every device
// supports.
func escapeRoff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '\n':
			b.WriteByte(' ')
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// quoteRoff returns a quoted argument of a request.
func quoteRoff(s string) string { return `"` + escapeRoff(s) + `"` }

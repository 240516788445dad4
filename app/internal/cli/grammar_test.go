package cli

import (
	"testing"

	"github.com/alecthomas/kong"
)

// outline returns a command of a grammar with all that is below it.
func outline(n *kong.Node) string {
	text := n.Summary() + "\n" + n.Help + "\n"
	for _, group := range n.AllFlags(false) {
		for _, f := range group {
			text += f.Summary() + " " + f.Help + " " + f.Default + "\n"
		}
	}
	for _, p := range n.Positional {
		text += p.Summary() + " " + p.Help + " " + p.Default + "\n"
	}
	for _, child := range n.Children {
		text += outline(child)
	}
	return text
}

// TestParserOfOneCommand checks that the parser for a command has that command as in the whole grammar, and no
// other command.
func TestParserOfOneCommand(t *testing.T) {
	whole, err := newParser(Registry(), &commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range whole.Model.Children {
		t.Run(n.Name, func(t *testing.T) {
			one, err := parserFor(Registry(), &commandLine{}, []string{n.Name})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range one.Model.Children {
				if x.Name == n.Name {
					if got, want := outline(x), outline(n); got != want {
						t.Errorf("alone it is\n%s\nand among all\n%s", got, want)
					}
					return
				}
			}
			t.Errorf("%d commands, and it is not among them", len(one.Model.Children))
		})
	}
	for _, c := range []struct {
		args     []string
		commands int
	}{
		{nil, len(whole.Model.Children)}, {[]string{"ru"}, len(whole.Model.Children)}, {[]string{"run", "x"}, 1},
		{[]string{"man"}, len(whole.Model.Children)}, {[]string{"--help"}, len(whole.Model.Children)},
		{[]string{"lab-hosts"}, 1},
	} {
		p, err := parserFor(Registry(), &commandLine{}, c.args)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.Model.Children); n != c.commands {
			t.Errorf("%q: %d commands, want %d", c.args, n, c.commands)
		}
	}
}

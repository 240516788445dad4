package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"weir/internal/command"
	"weir/internal/testkit"
)

// TestDocsReference checks that docs/commands.md has every command, argument and flag of the program.
func TestDocsReference(t *testing.T) {
	parser, err := newParser(Registry(), &commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	leaves := parser.Model.Leaves(true)
	var b strings.Builder
	b.WriteString("# Commands\n\nThis page is made from the program: `go test ./app/internal/cli -run " +
		"TestDocsReference -update` " +
		"writes it.\n\n")
	b.WriteString("Tables and documents go to standard output, progress and warnings to standard error. Progress " +
		"shows the\npacket-hops so far and per second, the simulated time of the oldest unfinished run, and the " +
		"remaining time.\nWhere runs end when their flows are done, the remaining time follows from the packet-hops that " +
		"`weir check`\nestimates.\n\n")
	fmt.Fprintf(&b, "Exit codes: "+
		"%d done;\n%d a run failed or was cut short; %d the input is invalid; %d a claim fails, or the lab "+
		"differs, with `--check`;\n%d no claim fails, but one or the lab is undecided, with `--check`; "+
		"%d interrupted.\n\n", command.Done, command.RunFailed, command.WrongInput,
		command.ClaimFailed, command.Unjudged, command.Interrupted)
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, n := range leaves {
		link := strings.ReplaceAll(n.FullPath(), " ", "-")
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", n.FullPath(), link, cell(n.Help))
	}
	for _, n := range leaves {
		b.WriteString(reference(n))
	}
	testkit.Golden(t, "../../../../docs/commands.md", b.String())
}

// reference returns the section of a command.
func reference(n *kong.Node) string {
	var rows strings.Builder
	row := func(name string, v *kong.Value) {
		help, standard := helpOf(v), ""
		if v.HasDefault {
			standard = "`" + v.Default + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", name, cell(help), standard)
	}
	for _, p := range n.Positional {
		row(p.Summary(), p)
	}
	flags := 0
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		flags++
		row(flagTerm(f), f.Value)
	}
	usage := "weir " + n.Summary()
	if flags == 0 {
		usage = strings.TrimSuffix(usage, " [flags]")
	}
	text := fmt.Sprintf("\n## %s\n\n%s\n\n    %s\n", n.FullPath(), n.Help, usage)
	if rows.Len() > 0 {
		text += "\n| argument or flag | meaning | default |\n|---|---|---|\n" + rows.String()
	}
	return text
}

// cell escapes text for a table of Markdown.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(s)
}

// TestHelp_PrintsUsageOfCommands checks help and --version, which users try first.
func TestHelp_PrintsUsageOfCommands(t *testing.T) {
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"help", "Usage: weir <command>", command.Done},
		{"help run", "Usage: weir run <name>", command.Done},
		{"help lab clean", "Usage: weir lab clean", command.Done},
		{"--version", "weir " + version(), command.Done},
		{"version", "weir " + version(), command.Done},
	} {
		t.Run(c.args, func(t *testing.T) {
			if code, out, errs := weir(strings.Fields(c.args)...); code != c.code || !strings.HasPrefix(out, c.want) ||
				errs != "" {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
		})
	}
	if code, _, errs := weir("help", "frobnicate"); code != command.WrongInput || !strings.Contains(errs, "frobnicate") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

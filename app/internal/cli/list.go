package cli

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"weir/core/scheme"
	"weir/study/report"
)

type listCmd struct {
	What string `arg:"" optional:"" enum:"${listed}" default:"experiments" help:"${listWhat}"`
}

// Run prints the names of one kind, each with its description.
func (l *listCmd) Run(a *app) error {
	switch l.What {
	case "experiments":
		a.listExperiments()
	case "schemes":
		for _, k := range a.listSchemes() {
			a.printEntry(24, fmt.Sprintf("%-10s %s", k.kind, k.s.Name), k.s.Doc)
		}
	case "measures":
		for _, m := range a.registry.Measures {
			a.printEntry(16, m.Name, m.Doc)
		}
	case "workloads":
		a.printEntry(24, "transport: udp, rate: …", "constant rate, bursts, Poisson, on/off (weir show udp)")
		for _, f := range a.registry.Flows {
			a.printEntry(24, "file: …, format: "+f.Name, f.Doc)
		}
		for _, w := range [][2]string{
			{"to: random", "a random host for each flow"}, {"to: permutation", "each host sends to one host and receives from " +
				"one"},
			{"to: {stride: 8}", "the host eight positions further"},
			{"from: {random: 60}", "60 random hosts start together: an " +
				"incast"},
			{"load: 50%", "arrivals with this average load of the links"},
		} {
			a.printEntry(24, w[0], w[1])
		}
		for _, s := range a.registry.Jobs {
			a.printEntry(24, "job: {"+s.Name+": {…}}", s.Doc+" (weir show "+s.Name+")")
		}
		for _, d := range a.registry.Workloads {
			a.printEntry(24, "sizes: "+d.Name, fmt.Sprintf("flow sizes, mean %.0f bytes", d.MeanSize()))
		}
	case "formats":
		for _, f := range a.registry.Imports {
			a.printEntry(24, "import --format "+f.Name, f.Doc)
		}
		for _, f := range a.registry.Formats {
			a.printEntry(24, "--format "+f.Name, f.Doc)
		}
	case "warnings":
		for _, k := range a.warningKinds() {
			a.printEntry(24, k.ID, k.Condition)
		}
	case "topologies":
		a.printEntry(24, "hosts, switches, links", "listed in the experiment")
		for _, f := range a.registry.Networks {
			a.printEntry(24, "file: …, format: "+f.Name, f.Doc)
		}
		for _, s := range a.registry.Topologies {
			a.printEntry(24, s.Name+": {…}", s.Doc+" (weir show "+s.Name+")")
		}
	}
	return nil
}

// listExperiments prints a table of name, estimated time, whether it needs root, and title.
func (a *app) listExperiments() {
	list := a.registry.Experiments()
	name := len("experiment")
	for _, e := range list {
		name = max(name, utf8.RuneCountInString(e.Name))
	}
	const others, minTitle = 15, 20 // columns
	row := func(cells [4]string) {
		if a.lineWidth() < name+others+minTitle {
			fmt.Fprintln(a.stdout, strings.TrimRight(fmt.Sprintf("%s  %s  %s", cells[0], cells[1], cells[2]), " "))
			fmt.Fprintln(a.stdout, report.WrapHanging("    ", cells[3], "    ", a.lineWidth()))
			return
		}
		a.printEntry(name+others-1, fmt.Sprintf("%-*s %6s  %-4s", name, cells[0], cells[1], cells[2]), cells[3])
	}
	row([4]string{"experiment", "time", "", "title"})
	for _, e := range list {
		cells := [4]string{e.Name, "-", "", e.Title}
		if e.Time > 0 {
			cells[1] = strings.Replace(formatTime(e.Time), "under ", "<", 1)
		}
		if e.Lab {
			cells[2] = "root"
		}
		row(cells)
	}
	fmt.Fprintln(a.stdout)
	fmt.Fprintln(a.stdout, report.WrapText("time: estimate for the simulator on two cores of the reference machine; "+
		"weir check estimates it for this machine. root: designed for the lab (weir run --on lab), which needs root; its "+
		"time is for the lab.", a.lineWidth(), ""))
}

// printEntry prints a name of a list, padded to the given columns, and its description, wrapped at the width of the
// line.
func (a *app) printEntry(columns int, name, doc string) {
	fmt.Fprintln(a.stdout, report.WrapHanging(fmt.Sprintf("%-*s ", columns, name), doc, strings.Repeat(" ", columns+1),
		a.lineWidth()))
}

type kindOf struct {
	kind string
	s    scheme.Scheme
}

// listSchemes returns all schemes, sorted by kind and name.
func (a *app) listSchemes() []kindOf {
	var out []kindOf
	for _, s := range a.registry.Programs {
		out = append(out, kindOf{"program", s.Scheme})
	}
	for _, s := range a.registry.Schedulers {
		out = append(out, kindOf{"scheduler", s.Scheme})
	}
	for _, s := range a.registry.Transports {
		out = append(out, kindOf{"transport", s.Scheme})
	}
	for _, s := range a.registry.Controllers {
		out = append(out, kindOf{"cc", s.Scheme})
	}
	for _, s := range a.registry.Topologies {
		out = append(out, kindOf{"topology", s.Scheme})
	}
	for _, s := range a.registry.Jobs {
		out = append(out, kindOf{"job", s.Scheme})
	}
	for _, s := range a.registry.Ideals {
		out = append(out, kindOf{"network", s.Scheme})
	}
	sort.SliceStable(out, func(i, j int) bool {
		return out[i].kind < out[j].kind || out[i].kind == out[j].kind && out[i].s.Name < out[j].s.Name
	})
	return out
}

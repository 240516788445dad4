package cli

import (
	"fmt"
	"sort"
	"strings"
	"weir/core/scheme"
	"weir/study/report"
)

type listCmd struct {
	What string `arg:"" optional:"" enum:"${listed}" default:"experiments" help:"${listWhat}"`
}

func (l *listCmd) Run(a *app) error {
	switch l.What {
	case "experiments":
		for _, e := range a.registry.Experiments() {
			fmt.Fprintf(a.stdout, "%-24s %s\n", e.Name, report.Wrap(e.Title, report.Width-25, strings.Repeat(" ", 25)))
		}
	case "schemes":
		for _, k := range a.schemes() {
			fmt.Fprintf(a.stdout, "%-10s %-13s %s\n", k.kind, k.s.Name, report.Wrap(k.s.Doc, report.Width-25,
				strings.Repeat(" ", 25)))
		}
	case "measures":
		for _, m := range a.registry.Measures {
			fmt.Fprintf(a.stdout, "%-16s %s\n", m.Name, report.Wrap(m.Doc, report.Width-17, strings.Repeat(" ", 17)))
		}
	case "workloads":
		fmt.Fprintf(a.stdout, "%-24s %s\n", "transport: udp, rate: …",
			"constant rate, bursts, Poisson, on/off (weir show udp)")
		for _, f := range a.registry.Flows {
			fmt.Fprintf(a.stdout, "%-24s %s\n", "file: …, format: "+f.Name, f.Doc)
		}
		for _, w := range [][2]string{
			{"to: random", "another host for every flow"}, {"to: permutation", "every host sends to one and hears from one"},
			{"to: {stride: 8}", "the host eight further on"}, {"from: {random: 60}", "so many hosts begin together: an incast"},
			{"load: 50%", "arrivals that offer this share of links"},
			{"collective: ring", "all-reduce of hosts, in a ring or as a tree"},
		} {
			fmt.Fprintf(a.stdout, "%-24s %s\n", w[0], w[1])
		}
		for _, d := range a.registry.Workloads {
			fmt.Fprintf(a.stdout, "%-24s flow sizes, mean %.0f bytes\n", "sizes: "+d.Name, d.Mean())
		}
	case "formats":
		for _, f := range a.registry.Imports {
			fmt.Fprintf(a.stdout, "%-24s %s\n", "import --format "+f.Name, report.Wrap(f.Doc, report.Width-25,
				strings.Repeat(" ", 25)))
		}
		for _, f := range a.registry.Formats {
			fmt.Fprintf(a.stdout, "%-24s %s\n", "--format "+f.Name, report.Wrap(f.Doc, report.Width-25, strings.Repeat(" ", 25)))
		}
	case "topologies":
		fmt.Fprintf(a.stdout, "%-24s %s\n", "hosts, switches, links", "written out in the experiment")
		for _, f := range a.registry.Networks {
			fmt.Fprintf(a.stdout, "%-24s %s\n", "file: …, format: "+f.Name, f.Doc)
		}
		for _, s := range a.registry.Topologies {
			fmt.Fprintf(a.stdout, "%-24s %s\n", s.Name+": {…}", report.Wrap(s.Doc+" (weir show "+s.Name+")", report.Width-25,
				strings.Repeat(" ", 25)))
		}
	}
	return nil
}

type kindOf struct {
	kind string
	s    scheme.Scheme
}

// schemes lists all that can be named, sorted.
func (a *app) schemes() []kindOf {
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
	sort.SliceStable(out, func(i, j int) bool {
		return out[i].kind < out[j].kind || out[i].kind == out[j].kind && out[i].s.Name < out[j].s.Name
	})
	return out
}

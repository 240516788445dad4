package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/core/dataplane"
	"weir/internal/command"
	"weir/internal/testkit"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/report"
)

var footprintTwoTiers = []string{"--topology", "fat_tree: {k: 8, tiers: 2, rate: 10Gbps, delay: 1us}"}

// needs lists the arguments that programs need beyond the defaults.
var needs = map[string][]string{
	"conga":    footprintTwoTiers,
	"input":    {"--set", "capacity=10kpps"},
	"loss":     {"--set", "probability=1%"},
	"ncf":      {"--set", "queues=3", "--set", "buffer=1MB"},
	"ndp":      {"--set", "queues=2"},
	"trimming": {"--set", "queues=2"},
	"plan":     {"--set", "others=10Mbps"},
	"pfc":      {"--set", "trigger=static", "--set", "xoff=100KB"},
	"dualpi2":  {"--set", "queues=2"},
	"fdpa":     {"--set", "queues=4"},
	"afq":      {"--set", "queues=16", "--set", "scheduler=calendar"},
}

func show(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Run(Registry(), append([]string{"show"}, args...), &out, &errs, false); code != command.Done ||
		errs.Len() > 0 {
		t.Fatalf("show %q: exit code %d, %s", args, code, errs.String())
	}
	for _, l := range strings.Split(out.String(), "\n") {
		if utf8.RuneCountInString(l) > report.DefaultWidth && !strings.HasPrefix(out.String(), "{") {
			t.Errorf("show %q: %q is wider than %d", args, l, report.DefaultWidth)
		}
	}
	return out.String()
}

// footprintCase is a program with parameters in a topology.
type footprintCase struct {
	name, topology string
	set            []string
}

// footprintCases returns all programs of a registry by name, and further parameters and networks of some.
func footprintCases(r *experiment.Registry) (cases []footprintCase) {
	for _, s := range r.Programs {
		c := footprintCase{name: s.Name, topology: standardTopology}
		for i := 0; i+1 < len(needs[s.Name]); i += 2 {
			if x := needs[s.Name][i+1]; needs[s.Name][i] == "--set" {
				c.set = append(c.set, x)
			} else {
				c.topology = x
			}
		}
		cases = append(cases, c)
	}
	slices.SortFunc(cases, func(a, b footprintCase) int { return strings.Compare(a.name, b.name) })
	return append(cases,
		footprintCase{"p4te", footprintTwoTiers[1], nil}, // as in P4TE §7
		footprintCase{"p4te", standardTopology, []string{"rate=enforced"}},
		footprintCase{"p4te", "leaf_spine: {leaves: 2, spines: 2, hosts: 8, rate: 1Gbps, delay: 0s}",
			[]string{"rate=off", "depth_groups=50"}},
		footprintCase{"abc", standardTopology, []string{"arithmetic=integer"}},
		// The paper's form has the footprint that it had before the default counted bytes.
		footprintCase{"abc", standardTopology, []string{"average=packets"}},
		footprintCase{"abc", standardTopology, []string{"arithmetic=integer", "average=packets"}},
		footprintCase{"telemetry", standardTopology, []string{"format=relative", "t=10us"}})
}

// footprintSums returns a line per kind of switch with the total footprint of its programs, and the number of
// violations of each section of P4TE §4. Kinds with the same sums share a line.
func footprintSums(kinds []plan.SwitchFootprint) string {
	switches := map[string][]string{} // kinds by their sums
	var lines []string                // sums in the order of the kinds
	for i := range kinds {
		k := &kinds[i]
		s := k.Sums()
		line := fmt.Sprintf("%d+%d stages; %d entries; SRAM %d, TCAM %d, registers %d bit; %d meters; %d reads, %d writes",
			s.Ingress, s.Egress, s.Entries, s.SRAM, s.TCAM, s.Registers, s.Meters, s.Reads, s.Writes)
		broken := map[string]int{}
		for _, x := range k.Breaks(dataplane.RMT) {
			broken[x.Section]++
		}
		for _, section := range slices.Sorted(maps.Keys(broken)) {
			line += fmt.Sprintf("; §%s × %d", section, broken[section])
		}
		if switches[line] == nil {
			lines = append(lines, line)
		}
		switches[line] = append(switches[line], fmt.Sprintf("%d × %s of %d ports", k.Count, k.Tier, k.Ports))
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "  %s: %s\n", strings.Join(switches[line], ", "), line)
	}
	return b.String()
}

// TestFootprintOfEveryProgram checks that every program of the registry has a footprint in every kind of switch,
// with names, sizes above zero, and stages in a packet's order. The golden file has the sums of each, so that a new
// program adds lines and changes no line.
func TestFootprintOfEveryProgram(t *testing.T) {
	r := Registry()
	var sums strings.Builder
	for _, c := range footprintCases(r) {
		kinds, err := plan.Footprint(r, c.name, c.topology, c.set)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		switches := 0
		for _, k := range kinds {
			if switches += k.Count; len(k.Programs) != 1 || k.Programs[0].Name != c.name {
				t.Errorf("%s: at a %s there are %d programs", c.name, k.Tier, len(k.Programs))
			}
			for _, p := range k.Programs {
				if err := p.Check(); err != nil {
					t.Errorf("%s at a %s: %v", c.name, k.Tier, err)
				}
			}
		}
		args := []string{c.name, "--footprint"}
		if c.topology != standardTopology {
			args = append(args, "--topology", c.topology)
		} else if switches != 80 {
			t.Errorf("%s: %d switches, want 80", c.name, switches)
		}
		if c.topology == footprintTwoTiers[1] && switches != 12 {
			t.Errorf("%s: %d switches, want 12", c.name, switches)
		}
		for _, x := range c.set {
			args = append(args, "--set", x)
		}
		show(t, args...)
		fmt.Fprintf(&sums, "%s\n%s", strings.Join(args, " "), footprintSums(kinds))
	}
	testkit.Golden(t, "footprints.txt", sums.String())
}

// TestFootprintGolden compares whole footprint tables with a golden file: one of a program that violates P4TE §4,
// and one of an experiment with a sweep. An experiment whose switches run several programs fits the width, too.
func TestFootprintGolden(t *testing.T) {
	var b strings.Builder
	for _, args := range [][]string{
		{"p4te", "--topology", "leaf_spine: {leaves: 1, spines: 2, hosts: 2, rate: 1Gbps, delay: 0s}", "--set",
			"flows=1048576"},
		{"p4abc/fig5"},
	} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			fmt.Fprintf(&b, "$ weir show %s --footprint\n%s\n", strings.Join(args, " "), show(t, append(args, "--footprint")...))
		})
	}
	testkit.Golden(t, "footprint.txt", b.String())
	text := show(t, "hpcc/flow-control", "--footprint", "--set", "control=pfc")
	for _, want := range []string{"  pfc\n", "  shared_buffer\n", "total: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestFootprintJSON(t *testing.T) {
	var d struct {
		Name       string
		Topology   string
		Footprints []struct {
			Points   []string
			Switches []struct {
				Tier   string
				Count  int
				Stages []struct {
					Program, Gress string
					Registers      []struct {
						Bits int `json:"cell_bits"`
					}
				}
				Sums struct {
					TCAM int64 `json:"tcam_bits"`
				}
				Breaks []struct{ Section string }
			}
		}
	}
	for _, args := range [][]string{{"p4te", "--footprint", "--json"}, {"p4abc/fig5", "--footprint", "--json"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			text := show(t, args...)
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatal(err)
			}
			if d.Name != args[0] || len(d.Footprints) == 0 || len(d.Footprints[0].Switches) == 0 ||
				len(d.Footprints[0].Switches[0].Stages) == 0 {
				t.Errorf("%v: %s", args, text)
			}
			if p4te := args[0] == "p4te"; p4te && (d.Topology != standardTopology ||
				d.Footprints[0].Switches[0].Sums.TCAM == 0 ||
				len(d.Footprints[0].Switches) != 3) {
				t.Errorf("%v: %s", args, text)
			}
		})
	}
}

// TestFootprintErrors checks that errors have their place and the allowed values.
func TestFootprintErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"cubic is not a switch program (it is a cc)":               {"cubic", "--footprint"},
		"unknown experiment or file":                               {"nonsense", "--footprint"},
		`unknown topology key "fat_tre"; did you mean "fat_tree"?`: {"p4te", "--footprint", "--topology", "fat_tre: {k: 8}"},
		"the topology is not a map":                                {"p4te", "--footprint", "--topology", "fat_tree"},
		`fat_tree needs the parameter "rate"`:                      {"p4te", "--footprint", "--topology", "fat_tree: {k: 8}"},
		`unknown p4te parameter "gp"; did you mean "gap"?`:         {"p4te", "--footprint", "--set", "gp=1ms"},
		"the setting has no value":                                 {"p4te", "--footprint", "--set", "gap"},
		"conga needs a leaf-spine network; this one has 3 tiers":   {"conga", "--footprint"},
		"--topology sets another network":                          {"conga", "--footprint"},
		"p4te needs a fat tree of two or three tiers": {"p4te", "--footprint", "--topology",
			"parking_lot: {hops: 3, rate: 1Gbps, delay: 1us, bottleneck: 1Gbps}"},
		"--topology is for switch programs": {"p4abc/fig5", "--footprint", "--topology",
			"fat_tree: {k: 8, rate: 1Gbps, delay: 1us}"},
		"--seed and --quick are for experiments":  {"p4te", "--footprint", "--quick"},
		"--topology and --json need --footprint":  {"p4te", "--json"},
		"--yaml prints the file":                  {"p4abc/fig5", "--footprint", "--yaml"},
		`loss needs the parameter "probability"`:  {"loss", "--footprint"},
		"put shared_buffer before it in the list": {"pfc", "--footprint"},
	} {
		t.Run(want, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), append([]string{"show"}, args...), &out, &errs, false); code != command.WrongInput ||
				!strings.Contains(errs.String(), want) || out.Len() > 0 {
				t.Errorf("show %q: exit code %d, %s\nwant %q", args, code, errs.String(), want)
			}
		})
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/testutil"
	"weir/study/plan"
	"weir/study/report"
)

var footprintTwoTiers = []string{"--topology", "fat_tree: {k: 8, tiers: 2, rate: 10Gbps, delay: 1us}"}

// needs is what programs need beyond the defaults.
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
	if code := Run(Registry(), append([]string{"show"}, args...), &out, &errs, false); code != Done || errs.Len() > 0 {
		t.Fatalf("show %q: exit code %d, %s", args, code, errs.String())
	}
	for _, l := range strings.Split(out.String(), "\n") {
		if utf8.RuneCountInString(l) > report.Width && !strings.HasPrefix(out.String(), "{") {
			t.Errorf("show %q: %q is wider than %d", args, l, report.Width)
		}
	}
	return out.String()
}

// Every program of the registry tells its footprint, of every kind of switch, and one that
// can be: names, sizes of more than nothing, stages in a packet's order.
func TestFootprintOfEveryProgram(t *testing.T) {
	r := Registry()
	for _, s := range r.Programs {
		topology, set := standardTopology, []string{}
		for i := 0; i+1 < len(needs[s.Name]); i += 2 {
			if x := needs[s.Name][i+1]; needs[s.Name][i] == "--set" {
				set = append(set, x)
			} else {
				topology = x
			}
		}
		kinds, err := plan.Footprint(r, s.Name, topology, set)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		switches := 0
		for _, k := range kinds {
			if switches += k.Count; len(k.Programs) != 1 || k.Programs[0].Name != s.Name {
				t.Errorf("%s: at a %s there are %d programs", s.Name, k.Tier, len(k.Programs))
			}
			for _, p := range k.Programs {
				if err := p.Check(); err != nil {
					t.Errorf("%s at a %s: %v", s.Name, k.Tier, err)
				}
			}
		}
		if want := map[string]int{standardTopology: 80, footprintTwoTiers[1]: 12}[topology]; switches != want {
			t.Errorf("%s: %d switches, want %d", s.Name, switches, want)
		}
		show(t, append([]string{s.Name, "--footprint"}, needs[s.Name]...)...)
	}
}

// The tables as they are: P4TE's on k = 8, in two tiers as in §7 (leaf-spine) and in three, and
// programs that break §4.
func TestFootprintGolden(t *testing.T) {
	var b strings.Builder
	for _, args := range [][]string{
		append([]string{"p4te"}, footprintTwoTiers...),
		{"p4te", "--set", "rate=enforced"}, {"p4te", "--topology",
			"leaf_spine: {leaves: 1, spines: 2, hosts: 2, rate: 1Gbps, delay: 0s}", "--set", "flows=1048576"},
		{"p4te", "--topology", "leaf_spine: {leaves: 2, spines: 2, hosts: 8, rate: 1Gbps, delay: 0s}", "--set", "rate=off",
			"--set", "depth_groups=50"},
		{"abc"}, {"abc", "--set", "arithmetic=integer"}, append([]string{"ncf"}, needs["ncf"]...), append([]string{"conga"},
			footprintTwoTiers...), {"hula"},
		{"telemetry"}, {"telemetry", "--set", "format=relative", "--set", "t=10us"},
		{"codel"}, {"red"}, {"pie"}, append([]string{"dualpi2"}, needs["dualpi2"]...), {"csfq"}, {"ppv"}, {"rainbow"},
		append([]string{"afq"}, needs["afq"]...), append([]string{"fdpa"}, needs["fdpa"]...),
		append([]string{"plan"}, needs["plan"]...), append([]string{"input"}, needs["input"]...),
		{"p4abc/fig5"}, {"hpcc/flow-control", "--set", "control=pfc"},
	} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			fmt.Fprintf(&b, "$ weir show %s --footprint\n%s\n", strings.Join(args, " "), show(t, append(args, "--footprint")...))
		})
	}
	testutil.Golden(t, "footprint.txt", b.String())
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

// What is wrong is said, with where it is, and what is allowed.
func TestFootprintErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"cubic is no program (cc)":                                 {"cubic", "--footprint"},
		"there is no such experiment":                              {"nonsense", "--footprint"},
		`key "fat_tre" is not known; did you mean "fat_tree"?`:     {"p4te", "--footprint", "--topology", "fat_tre: {k: 8}"},
		"a topology is a map":                                      {"p4te", "--footprint", "--topology", "fat_tree"},
		`fat_tree needs the parameter "rate"`:                      {"p4te", "--footprint", "--topology", "fat_tree: {k: 8}"},
		`parameter of p4te "gp" is not known; did you mean "gap"?`: {"p4te", "--footprint", "--set", "gp=1ms"},
		"this sets nothing":                                        {"p4te", "--footprint", "--set", "gap"},
		"conga needs a leaf-spine network; this one has 3 tiers":   {"conga", "--footprint"},
		"--topology gives another one":                             {"conga", "--footprint"},
		"p4te needs a fat tree of two or three tiers": {"p4te", "--footprint", "--topology",
			"parking_lot: {hops: 3, rate: 1Gbps, delay: 1us, bottleneck: 1Gbps}"},
		"--topology is for programs": {"p4abc/fig5", "--footprint", "--topology",
			"fat_tree: {k: 8, rate: 1Gbps, delay: 1us}"},
		"--seed and --quick are for experiments":    {"p4te", "--footprint", "--quick"},
		"--topology and --json are for --footprint": {"p4te", "--json"},
		"--yaml prints a file":                      {"p4abc/fig5", "--footprint", "--yaml"},
		`loss needs the parameter "probability"`:    {"loss", "--footprint"},
		"put shared_buffer before it in the list":   {"pfc", "--footprint"},
	} {
		t.Run(want, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), append([]string{"show"}, args...), &out, &errs, false); code != WrongInput ||
				!strings.Contains(errs.String(), want) || out.Len() > 0 {
				t.Errorf("show %q: exit code %d, %s\nwant %q", args, code, errs.String(), want)
			}
		})
	}
}

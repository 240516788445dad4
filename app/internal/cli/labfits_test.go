package cli

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"weir/core/unit"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab/kernel"
)

// stock returns a usual kernel: the catalogue's verdicts on the lab must not depend on the machine.
func stock() *kernel.Kernel {
	k := &kernel.Kernel{Release: "6.18.0", CPUs: 2, CongestionControls: []string{"reno", "bbr", "cubic"},
		Tick: 4 * unit.Millisecond}
	for _, name := range []string{"tcp_comp_sack_delay_ns", "tcp_comp_sack_nr", "tcp_ecn", "tcp_ecn_fallback",
		"tcp_moderate_rcvbuf", "tcp_rmem", "tcp_rto_min_us", "tcp_wmem"} {
		k.Sysctls = append(k.Sysctls, kernel.Sysctl{Name: name})
	}
	return k
}

var divisor = regexp.MustCompile(`--set rates=/(\d+)`)

// fits applies the settings that the errors of the lab name to an experiment of the catalogue. It returns these
// settings, and the errors that are left.
func fits(t *testing.T, name string, set []string) (with []string, left []string) {
	t.Helper()
	for range 4 {
		s, err := loadQuick(t, name, set)
		if err != nil {
			return set, []string{"cannot be scaled: " + firstLine(err)}
		}
		err = run.CheckLab(s, stock(), false)
		var all document.InputErrors
		if err == nil {
			return set, nil
		}
		if !errors.As(err, &all) {
			t.Fatalf("%s: %v", name, err)
		}
		text := err.Error()
		rates, framing := 0.0, strings.Contains(text, "counts headers that real frames do not have")
		for _, m := range divisor.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.ParseFloat(m[1], 64)
			rates = math.Max(rates, n)
		}
		left = reasons(text)
		if strings.Contains(text, "stack: weir") && !slices.Contains(set, "stack=weir") {
			set = append(set, "stack=weir")
			continue
		}
		if rates == 0 && !framing || len(left) > 0 {
			return set, left
		}
		if rates > 0 {
			set = append(set, fmt.Sprintf("rates=/%.0f", rates))
		}
		if framing {
			set = append(set, "framing=l2")
		}
	}
	return set, append(left, "is still too large")
}

// reasons returns the obstacles that no scale changes, each once.
func reasons(text string) (all []string) {
	seen := map[string]bool{}
	for _, x := range []struct{ said, is string }{
		{"a namespace with its own rings", "more hosts than 128"},
		{"the kernel has no", "a congestion control, or a parameter of one, that the kernel lacks"},
		{"no congestion control equivalent to", "a congestion control, or a parameter of one, that the kernel lacks"},
		{"the kernel does not support", "a parameter of TCP that the kernel lacks"},
		{"does not know packets with telemetry", "telemetry under the kernel's TCP"},
		{"there is no ", "a measure that the lab lacks"},
		{"exceed the limit of interfaces", "frames that are too long"},
		{"the same stack", "flows of both stacks after each other"},
	} {
		if strings.Contains(text, x.said) && !seen[x.is] {
			seen[x.is] = true
			all = append(all, x.is)
		}
	}
	return all
}

func firstLine(err error) string { return strings.SplitN(err.Error(), "\n", 2)[0] }

// loadQuick loads the quick variant of an experiment of the catalogue, with the given changes (KEY=VALUE). The error
// is the loader's; an unknown name ends the test.
func loadQuick(t *testing.T, name string, set []string) (*experiment.Spec, error) {
	t.Helper()
	r := Registry()
	src, err := r.OpenExperiment(name)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Load(r, src, experiment.Options{Quick: true, Set: set})
}

// labLine returns a line with the settings that an experiment needs to run in the lab, and the obstacles that no
// --set of these changes.
func labLine(t *testing.T, name string) string {
	t.Helper()
	set, left := fits(t, name, nil)
	text := name + ":"
	for _, x := range set {
		text += " --set " + x
	}
	if len(left) > 0 {
		text += " (" + strings.Join(left, "; ") + ")"
	}
	return text
}

// TestLabFits checks that an experiment runs in the lab, or that its errors name a --set with which it runs, or an
// obstacle that no scale changes. TestCatalogueInTheLab has all of them.
func TestLabFits(t *testing.T) {
	for _, want := range []string{
		"hpcc/lab:", "p4te/lab:", "p4abc/fig4:",
		"hpcc/joins: --set rates=/45 --set framing=l2",
		"ncf/reaction: --set stack=weir",
		"ncf/bolt: --set rates=/127",
		"p4te/table1: --set stack=weir",
		"p4abc/aggregates: (more hosts than 128)",
	} {
		name, _, _ := strings.Cut(want, ":")
		t.Run(name, func(t *testing.T) {
			if got := labLine(t, name); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestLabExperiments_HaveSpread checks that the quick variant of each experiment that recommends the lab has several
// seeds in the simulator: the difference of two single runs has no interval, and TCP's shares vary by a third between
// seeds (p4abc/domain, IPv6 without ABC: 5.0 and 6.9 Mb/s).
func TestLabExperiments_HaveSpread(t *testing.T) {
	var checked atomic.Int32
	eachExperiment(t, func(t *testing.T, e entry) {
		s := mustLoad(t, e.name, experiment.Options{Quick: true})
		_, text := s.Text()
		if !strings.Contains(string(text), e.name+" --on lab") {
			return
		}
		checked.Add(1)
		if _, byNeed := s.Need(); !byNeed && (s.Repeat() < 8 || s.LabRepeat() > 2) {
			t.Errorf("quick has %d seeds in the simulator, want 8 or more, and %d in the lab, want 1 or 2", s.Repeat(),
				s.LabRepeat())
		}
	})
	t.Cleanup(func() {
		if n := checked.Load(); n < 6 {
			t.Errorf("%d experiments recommend the lab", n)
		}
	})
}

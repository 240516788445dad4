package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/core/trace"
	"weir/internal/command"
	"weir/internal/pcapng"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
)

// TestTraceForms checks that traces are stored in the given forms, and their size is estimated before.
func TestTraceForms(t *testing.T) {
	file, out := write(t, small), t.TempDir()
	of := func() (forms []string) {
		names, _ := filepath.Glob(filepath.Join(out, "*", "traces", "*.*"))
		for _, n := range names {
			if !slices.Contains(forms, filepath.Ext(n)) {
				forms = append(forms, filepath.Ext(n))
			}
		}
		slices.Sort(forms)
		return forms
	}
	for _, x := range []struct {
		name  string
		args  string
		forms string
		found bool // nothing is carried out again
	}{
		{"one", "--trace s->b --trace-format parquet", ".parquet .sha256", false},
		{"the same", "--trace s->b --trace-format parquet", ".parquet .sha256", true},
		{"two others", "--trace s->b --trace-format text,pcapng", ".pcapng .sha256 .txt", false},
		{"one of two", "--trace s->b --trace-format text", ".pcapng .sha256 .txt", true},
		{"all", "--trace s->b", ".parquet .pcapng .sha256 .txt", false},
		{"of all", "--trace s->b --trace-format pcapng", ".parquet .pcapng .sha256 .txt", true},
		{"with another snap", "--trace s->b --trace-format pcapng --trace-snap 30", ".pcapng .sha256", false},
		{"other ports", "--trace a->s --trace-format pcapng --trace-snap 30", ".pcapng .sha256", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, stdout, stderr := weir(append([]string{"run", file, "--out", out}, strings.Fields(x.args)...)...)
			if code != command.Done || strings.Join(of(), " ") != x.forms ||
				strings.Contains(stdout, "2 runs reused from earlier") != x.found {
				t.Errorf("exit code %d, forms %v\n%s", code, of(), stdout)
			}
			said := regexp.MustCompile(`^notice: the traces of all runs take about [0-9.]+k?B of disk space \(.*\) in .*traces`)
			if !said.MatchString(stderr) {
				t.Errorf("no size: %s", stderr)
			}
		})
	}
	names, _ := filepath.Glob(filepath.Join(out, "*", "traces", "*.pcapng"))
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	frames := 0
	_, err = pcapng.Read(bytes.NewReader(data), func(r *trace.Record) error {
		if frames++; len(r.Frame) > 30 || r.FrameBytes < 1000 {
			t.Errorf("a frame of %d bytes, of which %d are there", r.FrameBytes, len(r.Frame))
		}
		return nil
	})
	if err != nil || frames == 0 {
		t.Errorf("%d frames, %v", frames, err)
	}
	for _, x := range []struct{ args, want string }{
		{"--trace s->b --trace-format parket", `did you mean "parquet"?; allowed: pcapng, parquet, text`},
		{"--trace s->b --trace-snap 0", "14 to 65536 bytes are allowed"},
		{"--trace-snap 0", "--trace-format and --trace-snap need --trace"},
		{"--trace s->b --trace-snap 3", "14 to 65536 bytes are allowed"},
		{"--trace s->b --trace-format text --trace-snap 100", "--trace-snap is for pcapng"},
		{"--trace-format text", "need --trace"},
		{"--trace s->d", `unknown port "s->d"`},
	} {
		t.Run(x.args, func(t *testing.T) {
			code, _, stderr := weir(append([]string{"run", file, "--out", t.TempDir()}, strings.Fields(x.args)...)...)
			if code != command.WrongInput || !strings.Contains(stderr, x.want) {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

// TestTraceSize checks that the estimated size of traces is within a factor of two, in every form.
func TestTraceSize(t *testing.T) {
	file, out := write(t, strings.Replace(small, "duration: 200ms", "duration: 5s", 1)), t.TempDir()
	src, err := registry().OpenExperiment(file)
	if err != nil {
		t.Fatal(err)
	}
	s := plantest.LoadSource(t, registry(), src, experiment.Options{})
	said, all, err := run.EstimateTraceSize(s, []string{"*"}, run.Tracing{})
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := weir("run", file, "--out", out, "--trace", "*"); code != command.Done {
		t.Fatal(stderr)
	}
	sum := 0.0
	for k, ext := range []string{"pcapng", "parquet", "txt"} {
		names, _ := filepath.Glob(filepath.Join(out, "*", "traces", "*."+ext))
		real := 0.0
		for _, n := range names {
			info, err := os.Stat(n)
			if err != nil {
				t.Fatal(err)
			}
			real += float64(info.Size())
		}
		if sum += real; said[k] < real/2 || said[k] > 2*real {
			t.Errorf("%s takes %.0f bytes, said were %.0f", ext, real, said[k])
		}
	}
	if all < sum/2 || all > 2*sum {
		t.Errorf("all take %.0f bytes, said were %.0f", sum, all)
	}
}

// TestCheckSummary checks that the summary of check is first, for any number of runs, and names the basis of the time.
func TestCheckSummary(t *testing.T) {
	code, stdout, stderr := weir("check", write(t, small), "--set", "repeat=300")
	lines := strings.Split(stdout, "\n")
	if code != command.Done || stderr != "" || !strings.HasPrefix(stdout, "small is valid: 600 runs, about ") ||
		!strings.Contains(stdout, "calibration just now: this machine is 1 times") || len(lines) > 120 ||
		!strings.Contains(stdout, "\nand 500 more\n") {
		t.Errorf("exit code %d, %d lines\n%.900s%s", code, len(lines), stdout, stderr)
	}
}

// TestNearestNames checks that the error about an unknown name has the nearest names, and not all of them.
func TestNearestNames(t *testing.T) {
	for _, args := range []string{"run p4abc/fig55", "show p4abc/fog5", "check fig44", "report p4abc/fig55"} {
		t.Run(args, func(t *testing.T) {
			code, _, stderr := weir(strings.Fields(args)...)
			if n := strings.Count(stderr, "p4abc/") - strings.Count(args, "p4abc/"); code != command.WrongInput ||
				n < 1 || n > 7 {
				t.Errorf("exit code %d, %d names: %s", code, n, stderr)
			}
		})
	}
}

// TestFirstTraceIsSmall checks that the first command of the page about traces writes some MB, and not the 1.3 GB of an
// earlier version.
func TestFirstTraceIsSmall(t *testing.T) {
	page, err := os.ReadFile("../../../docs/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^    weir run (\S+) --quick --set (\S+) --trace '(\S+)' --trace-format (\S+)$`).
		FindSubmatch(page)
	if m == nil {
		t.Fatal("the page does not begin with a command that this test knows")
	}
	src, err := Registry().OpenExperiment(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	s := plantest.LoadSource(t, Registry(), src, experiment.Options{Quick: true, Set: []string{string(m[2])}})
	_, all, err := run.EstimateTraceSize(s, []string{string(m[3])}, run.Tracing{Forms: []string{string(m[4])}})
	if err != nil || all > 20e6 {
		t.Errorf("%d runs leave %.0f MB, %v", len(plan.ListRuns(s)), all/1e6, err)
	}
}

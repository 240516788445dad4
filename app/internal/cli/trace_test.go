package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/study/results"
)

// traced runs a small experiment with its ports traced; file is the experiment, folder has the
// results, drops is the text of the run that drops.
func traced(t *testing.T) (file, folder, drops string) {
	t.Helper()
	file, folder = write(t, strings.NewReplacer("[1Mbps, 5Mbps]", "[1Mbps, 20Mbps]", "[a, s], rate: 10Mbps",
		"[a, s], rate: 100Mbps").Replace(small)), t.TempDir()
	code, stdout, stderr := weir("run", file, "--out", folder, "--trace", "s->b,a->*")
	if code != 0 || !strings.Contains(stdout, "traces of 2 runs are in ") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, name := range traces(folder) {
		_, text, _ := weir("trace", name)
		if strings.HasSuffix(name, ".txt") && strings.Contains(text, "port_packets") {
			return file, folder, name
		}
	}
	t.Fatal("no run drops")
	return "", "", ""
}

func traces(folder string) []string {
	names, _ := filepath.Glob(filepath.Join(folder, "*", "traces", "*"))
	return slices.DeleteFunc(names, func(name string) bool { return filepath.Ext(name) == results.TraceDigests })
}

// events returns the events of a trace.
func events(t *testing.T, name string, args ...string) (lines []string) {
	t.Helper()
	code, text, stderr := weir(append([]string{"trace", name, "--events"}, args...)...)
	if code != 0 {
		t.Errorf("%v: exit code %d, %s", args, code, stderr)
	}
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		if !strings.HasPrefix(l, "#") {
			lines = append(lines, l)
		}
	}
	return lines
}

// TestTrace_FindsAndSummarizesTraces checks that traces of all runs are found. Their summaries are of the same events,
// in any form and within 80 columns.
func TestTrace_FindsAndSummarizesTraces(t *testing.T) {
	file, out, _ := traced(t)
	if _, stdout, _ := weir("run", file, "--out", out, "--trace", "s->b", "--trace", "a->s"); !strings.Contains(stdout,
		"2 runs reused from earlier") {
		t.Errorf("traces are not found:\n%s", stdout)
	}
	code, _, stderr := weir("run", file, "--out", out, "--trace", "s->bb")
	if code != 2 || !strings.Contains(stderr, `did you mean "s->b"?`) ||
		!strings.Contains(stderr, "allowed: a->s, s->a, s->b, b->s") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	names := traces(out)
	if len(names) != 6 {
		t.Fatalf("files %v", names)
	}
	for _, name := range names {
		t.Run(filepath.Ext(name), func(t *testing.T) {
			code, text, stderr := weir("trace", name)
			if code != 0 || !strings.Contains(text, "\ns->b ") || !strings.Contains(text, "\na->s ") ||
				!strings.Contains(text, "udp") {
				t.Errorf("exit code %d\n%s%s", code, text, stderr)
			}
			for _, l := range strings.Split(text, "\n") {
				if utf8.RuneCountInString(l) > 80 {
					t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
				}
			}
		})
	}
}

// TestTraceFilters checks that filters select events. Parquet has the same ones as text.
func TestTraceFilters(t *testing.T) {
	_, _, txt := traced(t)
	all := events(t, txt)
	if parquet := events(t, strings.TrimSuffix(txt, "txt")+"parquet"); strings.Join(parquet, "\n") != strings.Join(all,
		"\n") {
		t.Error("Parquet has other events than text")
	}
	data, _ := os.ReadFile(txt)
	if !strings.HasSuffix(string(data), "reason\n"+strings.Join(all, "\n")+"\n") {
		t.Error("--events does not print what the text has")
	}
	for _, c := range []struct {
		args string
		word string // all lines have it
	}{
		{"--drops", " drop s s->b "}, {"--kind drop", " drop s s->b "}, {"--kind transmit --port a->*", " transmit a a->s "},
		{"--node b", " arrive b s->b "}, {"--from 100ms --to 101ms", "0.100"}, {"--host a --flow 0 --kind enqueue",
			" enqueue s "},
	} {
		t.Run(c.args, func(t *testing.T) {
			some := events(t, txt, strings.Fields(c.args)...)
			if len(some) == 0 || len(some) >= len(all) {
				t.Errorf("%d of %d events", len(some), len(all))
			}
			for _, l := range some {
				if !strings.Contains(l, c.word) {
					t.Error(l)
				}
			}
		})
	}
	if _, text, _ := weir("trace", txt, "--drops"); !strings.Contains(text, "events match\n") {
		t.Error(text)
	}
	if _, text, _ := weir("trace", txt, "--flow", "7"); !strings.Contains(text, "no events\n") {
		t.Error(text)
	}
}

// TestTraceRefuses checks that wrong input gives exit code 2, with its place.
func TestTraceRefuses(t *testing.T) {
	file, _, txt := traced(t)
	data, _ := os.ReadFile(txt)
	bad := filepath.Join(t.TempDir(), "bad.txt")
	os.WriteFile(bad, []byte(strings.Replace(string(data), "transmit", "submit", 1)), 0o644)
	// the digest detects changes that the remaining lines do not show
	lines := strings.SplitAfter(string(data), "\n")
	if err := os.WriteFile(txt, []byte(strings.Join(lines[:len(lines)/2], "")), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, args, want string }{
		{"cut", txt, ".txt: the file is damaged: it does not match the digest in "},
		{"no file", "nosuch.pcapng", "nosuch.pcapng"},
		{"no trace", file, "offset 0: unknown format; pcapng, Parquet and the text form of a trace are allowed"},
		{"event", bad, `bad.txt: line 4: column 2, event: "submit"`},
		{"kind", txt + " --kind dropp", "allowed: enqueue, transmit, drop, lost, arrive"},
		{"from", txt + " --from soon", "--from"},
		{"to", txt + " --from 2s --to 1s", "--to"},
		{"flow", txt + " --flow x", "--flow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, _, stderr := weir(strings.Fields("trace " + c.args)...); code != 2 || !strings.Contains(stderr, c.want) {
				t.Errorf("weir trace %s: exit code %d, %s", c.args, code, stderr)
			}
		})
	}
}

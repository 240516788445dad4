package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Traces of all runs, found again; their summaries are of the same events, in any
// form and within 80 columns; filters pick; what is wrong is exit code 2.
func TestTrace(t *testing.T) {
	file, out := write(t, strings.NewReplacer("[1Mbps, 5Mbps]", "[1Mbps, 20Mbps]", "[a, s], rate: 10Mbps",
		"[a, s], rate: 100Mbps").Replace(small)), t.TempDir()
	code, stdout, stderr := weir("run", file, "--out", out, "--trace", "s->b,a->*")
	if code != 0 || !strings.Contains(stdout, "2 of the runs have left a trace in ") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, stdout, _ = weir("run", file, "--out", out, "--trace", "s->b", "--trace", "a->s"); !strings.Contains(stdout,
		"2 of the runs were there already") {
		t.Errorf("traces are not found:\n%s", stdout)
	}
	code, _, stderr = weir("run", file, "--out", out, "--trace", "s->bb")
	if code != 2 || !strings.Contains(stderr, `did you mean "s->b"?`) ||
		!strings.Contains(stderr, "allowed: a->s, s->a, s->b, b->s") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	names, _ := filepath.Glob(filepath.Join(out, "*", "traces", "*"))
	if len(names) != 6 {
		t.Fatalf("files %v", names)
	}
	var txt string // of the run that drops
	for _, name := range names {
		code, text, stderr := weir("trace", name)
		if code != 0 || !strings.Contains(text, "\ns->b ") || !strings.Contains(text, "\na->s ") ||
			!strings.Contains(text, "udp") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, text, stderr)
		}
		for _, l := range strings.Split(text, "\n") {
			if utf8.RuneCountInString(l) > 80 {
				t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
			}
		}
		if strings.HasSuffix(name, ".txt") && strings.Contains(text, "port_packets") {
			txt = name
		}
	}
	lines := func(name string, args ...string) []string {
		t.Helper()
		code, text, stderr := weir(append([]string{"trace", name, "--events"}, args...)...)
		if code != 0 {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
		var lines []string
		for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
			if !strings.HasPrefix(l, "#") {
				lines = append(lines, l)
			}
		}
		return lines
	}
	all := lines(txt)
	if parquet := lines(strings.TrimSuffix(txt, "txt") + "parquet"); strings.Join(parquet, "\n") != strings.Join(all,
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
		some := lines(txt, strings.Fields(c.args)...)
		if len(some) == 0 || len(some) >= len(all) {
			t.Errorf("%s: %d of %d events", c.args, len(some), len(all))
		}
		for _, l := range some {
			if !strings.Contains(l, c.word) {
				t.Errorf("%s: %s", c.args, l)
			}
		}
	}
	if _, text, _ := weir("trace", txt, "--drops"); !strings.Contains(text, "events are picked\n") {
		t.Error(text)
	}
	if _, text, _ := weir("trace", txt, "--flow", "7"); !strings.Contains(text, "no events\n") {
		t.Error(text)
	}
	bad := filepath.Join(t.TempDir(), "bad.txt")
	os.WriteFile(bad, []byte(strings.Replace(string(data), "transmit", "submit", 1)), 0o644)
	for _, c := range []struct{ args, want string }{
		{"trace nosuch.pcapng", "nosuch.pcapng"},
		{"trace " + file, "offset 0: this is neither pcapng nor Parquet nor the text form of a trace"},
		{"trace " + bad, `bad.txt: line 4: column 2, event: "submit"`},
		{"trace " + txt + " --kind dropp", "allowed: enqueue, transmit, drop, lost, arrive"},
		{"trace " + txt + " --from soon", "--from"},
		{"trace " + txt + " --from 2s --to 1s", "--to"},
		{"trace " + txt + " --flow x", "--flow"},
	} {
		if code, _, stderr := weir(strings.Fields(c.args)...); code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("weir %s: exit code %d, %s", c.args, code, stderr)
		}
	}
}

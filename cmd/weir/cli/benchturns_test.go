package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is no size, no number of threads and no turn is refused with what is.
func TestBenchTurnsInput(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"bench scale --hosts 100", "allowed: 16, 128, 1024, 8192, 65536"},
		{"bench threads --threads 1", "2 or more is allowed"},
		{"bench scale --time 2s", "--time is for switch"},
		{"bench scale --turn {", "--turn"},
		{"bench scale --docs nowhere.md", "nowhere.md: no such file"},
		{"bench peers --docs benchturns_test.go", "no place for the figures"},
		{`bench scale --turn {"load":"flood","hosts":16,"threads":1}`, "allowed: permutation, websearch"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), strings.Fields(c.args), &out, &errs, false); code == Done ||
				!strings.Contains(errs.String(), c.want) {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
		})
	}
}

// One turn gives its figures, the same packet-hops with several threads.
func TestBenchTurn(t *testing.T) {
	var texts [2]string
	for k, threads := range []string{"1", "3"} {
		var out, errs bytes.Buffer
		if code := Run(Registry(), []string{"bench", "threads", "--turn",
			`{"load":"permutation","hosts":16,"flow_bytes":50000,"threads":` + threads + `}`}, &out, &errs,
			false); code != Done {
			t.Fatal(errs.String())
		}
		_, texts[k], _ = strings.Cut(out.String(), `"packet_hops":`)
		texts[k], _, _ = strings.Cut(texts[k], `"peak`)
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "fct_sha256") {
		t.Errorf("%q, with three threads %q", texts[0], texts[1])
	}
}

// The page of figures has a place for each benchmark.
func TestDocsPerformancePage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scale", "threads", "peers"} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(string(data), "<!-- "+name+" -->\n") || !strings.Contains(string(data), "<!-- /"+
				name+" -->\n") {
				t.Error("it has no place for these figures")
			}
		})
	}
}

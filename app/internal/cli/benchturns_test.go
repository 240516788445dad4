package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/command"
	"weir/study/bench"
)

// TestBenchTurnsInput checks that invalid sizes, numbers of threads and turns are refused with the allowed ones.
func TestBenchTurnsInput(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"bench scale --hosts 100", "allowed: 16, 128, 1024, 8192, 65536"},
		{"bench threads --threads 1", "2 or more is allowed"},
		{"bench scale --time 2s", "--time and --profile do not apply"},
		{"bench scale --turn {", "--turn"},
		{"bench scale --docs nowhere.md", "nowhere.md: no such file"},
		{"bench peers --docs benchturns_test.go", "the marks for the figures are missing"},
		{`bench scale --turn {"load":"flood","hosts":16,"threads":1}`, "allowed: permutation, websearch"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(Registry(), strings.Fields(c.args), &out, &errs, false); code == command.Done ||
				!strings.Contains(errs.String(), c.want) {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
		})
	}
}

// ticks returns the meters of a made-up machine with two cores. Between two readings a second passes on the wall clock;
// this process has 1.25 seconds of CPU, and others have a quarter. The loop runs faster each time.
func ticks() bench.Meters {
	wall, cpu, operations := int64(0), 0.0, 0.0
	return bench.Meters{
		Now: func() time.Time {
			wall++
			return time.Unix(wall, 0)
		},
		CPU: func() (all, own, cores float64) {
			cpu++
			return 1.5 * cpu, 1.25 * cpu, 2
		},
		Calibrate: func() float64 {
			operations += 1e6
			return operations
		},
		Memory: func() uint64 { return 64e6 },
	}
}

// TestBenchTurn checks that one turn gives its figures, with the same packet-hops on several threads.
func TestBenchTurn(t *testing.T) {
	defer func(m func() bench.Meters) { benchMeters = m }(benchMeters)
	benchMeters = ticks
	var texts [2]string
	for k, threads := range []string{"1", "3"} {
		var out, errs bytes.Buffer
		if code := Run(Registry(), []string{"bench", "threads", "--turn",
			`{"load":"permutation","hosts":16,"flow_bytes":50000,"threads":` + threads + `}`}, &out, &errs,
			false); code != command.Done {
			t.Fatal(errs.String())
		}
		var turn bench.Turn
		if err := json.Unmarshal(out.Bytes(), &turn); err != nil {
			t.Fatal(err)
		}
		if turn.SetUp != 1.25 || turn.Wall != 1 || turn.CPU != 1.25 || turn.OthersShare != 0.125 || turn.Calibrated != 1.5e6 {
			t.Errorf("%+v", turn)
		}
		_, texts[k], _ = strings.Cut(out.String(), `"packet_hops":`)
		texts[k], _, _ = strings.Cut(texts[k], `"peak`)
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "fct_sha256") {
		t.Errorf("%q, with three threads %q", texts[0], texts[1])
	}
}

// TestDocsPerformancePage checks that the pages of figures have a place for each benchmark.
func TestDocsPerformancePage(t *testing.T) {
	for name, page := range map[string]string{
		"scale": "performance.md", "threads": "performance.md", "peers": "compare.md",
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), "<!-- "+name+" -->\n") || !strings.Contains(string(data), "<!-- /"+
				name+" -->\n") {
				t.Error("it has no place for these figures")
			}
		})
	}
}

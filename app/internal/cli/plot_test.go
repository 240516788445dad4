package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/study/experiment/plots"
)

// TestPlotFlags checks that weir plot has a flag for every key of a plot.
func TestPlotFlags(t *testing.T) {
	values := (&plotFlags{}).listValues()
	_, help, _ := weir("plot", "--help")
	for _, k := range plots.Keys() {
		if values[k.Name] == nil {
			t.Errorf("the key %s has no flag", k.Name)
		}
		if flag := "--" + strings.ReplaceAll(k.Name, "_", "-") + "="; !strings.Contains(help, flag) {
			t.Errorf("the help does not have %s", flag)
		}
	}
	if len(values) != len(plots.Keys()) {
		t.Errorf("%d flags for %d keys", len(values), len(plots.Keys()))
	}
}

// TestPlot_WritesFiguresOfResults checks that weir plot draws figures of finished results: all plots of the
// experiment, a changed one, or a new one. It writes each format, with the numbers and scripts next to the figure.
// Wrong flags give exit code 2 and an error with the allowed values.
func TestPlot_WritesFiguresOfResults(t *testing.T) {
	out := t.TempDir()
	text := strings.Replace(small, "sweep: {rate: [1Mbps, 5Mbps]}", "sweep: {rate: [1Mbps, 5Mbps], "+
		"u: {v: {switch: [forward]}, w: {switch: [forward]}}}", 1)
	text = strings.Replace(text, "measure: [goodput]", "measure: [{goodput: {every: 50ms}}, delay]", 1)
	text = strings.Replace(text, "plot: [{x: rate, y: goodput}]", "plot: [{x: rate, y: goodput}, {x: u, y: delay}]", 1)
	if code, _, stderr := weir("run", write(t, text), "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	dirs, _ := filepath.Glob(filepath.Join(out, "small-*"))
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args  string
		files string
	}{
		{"", "1-goodput-over-rate.svg 2-delay-over-u.svg"},
		{"--format=pdf --number=2 --width=89mm", "2-delay-over-u.pdf"},
		{"--x=rate --y=goodput.x --lines=u --to=sub/mine.png --width=89mm", "sub/mine.png"},
		{"--kind=series --y=goodput --lines=rate,u --data --title=it's", "it-s.svg it-s.csv it-s.gp it-s.py"},
		{"--kind=heat --x=rate --y=u --z=goodput --to=h.svg", "h.svg"},
		{"--kind=ccdf --x=delay --to=c.svg --log=xy", "c.svg"},
		{"--x=u --y=delay --kind=box --to=b.svg", "b.svg"},
		{"--x=rate --y=goodput --y-range=0..10Mbps --x-ticks=1Mbps,5Mbps --where={u:\u0020v} --to=r.svg", "r.svg"},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := []string{"plot", dirs[0]}
			if c.args != "" {
				args = append(args, strings.Split(strings.ReplaceAll(c.args, "\u0020v", "\x00v"), " ")...)
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "\x00", " ")
			}
			code, stdout, stderr := weir(args...)
			if code != 0 || strings.Join(strings.Fields(stdout), " ") != c.files {
				t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
			}
			for _, f := range strings.Fields(c.files) {
				data, err := os.ReadFile(f)
				begins := map[string]string{".svg": "<?xml", ".pdf": "%PDF", ".png": "\x89PNG", ".csv": "panel,", ".gp": "#",
					".py": "#!"}[filepath.Ext(f)]
				if err != nil || !bytes.HasPrefix(data, []byte(begins)) {
					t.Errorf("%s: %v, it begins %.20q", f, err, data)
				}
			}
		})
	}
	for args, want := range map[string]string{
		"--x=rat --y=goodput":                `--x:1:1: unknown sweep key "rat"; did you mean "rate"?`,
		"--x=rate --y=goodput --width=1mm":   "--width:1:1:",
		"--x=rate --y=goodput.y":             `unknown group of goodput "y"`,
		"--to=a.jpg -n 1":                    `allowed: svg, pdf, png`,
		"--to=a.svg --format=pdf -n 1":       "--to ends in .svg",
		"--to=a.svg":                         "choose one with --number",
		"-n 3":                               "the experiment has plots 1 … 2",
		"-n 1 --height=20mm --width=30mm":    "have no room",
		"--x=rate --y=goodput --y-range=1..": "",
		"--x=rate":                           "the plot needs the key y",
	} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := weir(append([]string{"plot", dirs[0]}, strings.Fields(args)...)...)
			if want == "" && code == 0 {
				return
			}
			if code != 2 || !strings.Contains(stderr, want) || stdout != "" {
				t.Errorf("exit code %d, want %q\n%s%s", code, want, stdout, stderr)
			}
		})
	}
}

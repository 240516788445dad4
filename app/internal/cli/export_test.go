package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/workload"
	"weir/internal/command"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/results"
)

// lines is a user's own format, with an option.
type lines struct {
	Mark string `default:"#" help:"What a line begins with."`
}

func (x *lines) Check() error {
	if x.Mark == "" {
		return fmt.Errorf("--mark is empty")
	}
	return nil
}

func (x *lines) Write(r *experiment.Registry, dir, into string, out io.Writer) error {
	o, err := results.Open(r, dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(into, 0o777); err != nil {
		return err
	}
	file := filepath.Join(into, "lines.txt")
	fmt.Fprintln(out, file)
	return results.WriteFile(file, fmt.Appendf(nil, "%s %d runs\n", x.Mark, len(o.Runs)))
}

// TestExportFormat_HasOwnFlags checks that a registry's own format has its flags, is listed, and writes. A format
// refuses other formats' flags.
func TestExportFormat_HasOwnFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("small.yaml", []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		var out bytes.Buffer
		r := Registry()
		r.Formats = append(r.Formats, experiment.ExportFormat{Name: "lines", Doc: "the number of runs",
			New: func() experiment.Export { return &lines{} }})
		r.Imports = append(r.Imports, experiment.Import{Name: "notes", Doc: "notes of a meeting",
			Make: func(_ *experiment.Registry, config, folder string) ([]byte, []document.Warning, error) {
				return []byte("# of " + config + " for " + folder + "\n"),
					[]document.Warning{{Kind: scheme.WarningKind{ID: "notes-coffee"}, Text: "the coffee"}}, nil
			}})
		r.Networks = append(r.Networks, topology.FileFormat{Name: "drawing", Doc: "a picture of the network"})
		r.Flows = append(r.Flows, workload.FileFormat{Name: "diary", Doc: "what happened"})
		code := Run(r, args, &out, &out, false)
		return code, out.String()
	}
	if code, out := run("run", "small.yaml"); code != command.Done {
		t.Fatal(out)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"list formats", "--format lines           the number of runs", command.Done},
		{"list formats", "import --format notes    notes of a meeting", command.Done},
		{"list topologies", "file: …, format: drawing a picture of the network", command.Done},
		{"list workloads", "file: …, format: diary   what happened", command.Done},
		{"import talk.txt --format notes", "warning: the coffee (notes-coffee)\n# of talk.txt for .\n", command.Done},
		{"import talk.txt --format note", `--format is "note"; allowed: hpcc, notes`, command.WrongInput},
		{"help export results", "--mark", command.Done},
		{"export small.yaml", "hpcc/", command.Done},
		{"export small.yaml --format lines", "lines/lines.txt", command.Done},
		{"export small.yaml --format lines --mark % --into other", "other/lines.txt", command.Done},
		{"export small.yaml --format lines --mark=", "invalid input: --mark is empty", command.WrongInput},
		{"export small.yaml --format lines --bins 3", "--bins is an option of --format hpcc, not of lines",
			command.WrongInput},
		{"export small.yaml --mark %", "--mark is an option of --format lines, not of hpcc", command.WrongInput},
		{"export small.yaml --format line", `--format is "line"; allowed: hpcc, csv, lines`, command.WrongInput},
		{"export small.yaml --bins 0", "--bins is 0; 1 … 1000 are allowed", command.WrongInput},
		{"export small.yaml --offset 2", "--offset is \"2\"; a time from 0s to 1000s is allowed", command.WrongInput},
		{"export smal.yml --format lines", "is not a results folder", command.WrongInput},
	} {
		t.Run(c.args, func(t *testing.T) {
			if code, out := run(strings.Fields(c.args)...); code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
	if text, err := os.ReadFile("other/lines.txt"); err != nil || !strings.HasPrefix(string(text), "% ") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestOwnWorkload checks that a registry's own distribution of sizes is available by its name in files, the list, the
// schema, and errors.
func TestOwnWorkload(t *testing.T) {
	t.Chdir(t.TempDir())
	r := Registry()
	r.Workloads = append(r.Workloads, workload.CDF{Name: "twelves", Points: []workload.Point{
		{Bytes: 12000, Share: 0}, {Bytes: 12000, Share: 1}}})
	run := func(args ...string) string {
		var out bytes.Buffer
		Run(r, args, &out, &out, false)
		return out.String()
	}
	text := "title: x\nduration: 100ms\ntopology: {star: {hosts: 2, rate: 10Mbps, delay: 1ms}}\nswitch: [forward]\n" +
		"traffic: [{name: x, from: h0, to: h1, transport: tcp, cc: reno, sizes: twelves, load: 50%}]\nmeasure: [fct]\n"
	bad := strings.Replace(text, "twelves", "twelve", 1)
	for name, data := range map[string]string{"good.yaml": text, "bad.yaml": bad} {
		if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"list workloads", "sizes: twelves           flow sizes, mean 12000 bytes"},
		{"schema", `"twelves"`},
		{"check good.yaml", "1 run"},
		{"check bad.yaml", `bad.yaml:5:72: unknown distribution of sizes "twelve"; did you mean "twelves"?`},
	} {
		t.Run(c.args, func(t *testing.T) {
			if out := run(strings.Fields(c.args)...); !strings.Contains(out, c.want) {
				t.Errorf("%s", out)
			}
		})
	}
}

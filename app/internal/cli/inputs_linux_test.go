package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/command"
	"weir/study/results"
)

// TestInputsAreRegularFiles checks that every command that reads a file refuses a pipe, a device and a folder at
// once. A pipe in its place would block the test for ever, and /dev/zero would fill the memory.
func TestInputsAreRegularFiles(t *testing.T) {
	for _, x := range []struct {
		name, spoilt string   // which file is no file
		args         []string // in whose folder
	}{
		{"experiment", "x.yaml", []string{"check", "x.yaml"}},
		{"topology", "net.txt", []string{"check", "files.yaml"}},
		{"flows", "list.flow", []string{"check", "files.yaml"}},
		{"sizes", "sizes.cdf", []string{"check", "files.yaml"}},
		{"trace", "x.pcapng", []string{"trace", "x.pcapng"}},
		{"config.txt", "config.txt", []string{"import", "config.txt"}},
		{"results", "results/runs.json", []string{"report", "results"}},
		{"a results folder's spec", "results/spec.yaml", []string{"report", "results"}},
	} {
		for kind, want := range map[string]string{"pipe": "it is a pipe", "device": "it is a device",
			"folder": "it is a folder"} {
			t.Run(x.name+"/"+kind, func(t *testing.T) {
				t.Chdir(t.TempDir())
				for name, text := range files {
					if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				os.WriteFile("files.yaml", []byte(fromFiles), 0o600)
				os.Mkdir("results", 0o700)
				os.WriteFile("results/runs.json", fmt.Appendf(nil, `{"format": %d, "experiment": "x", "runs": []}`,
					results.Format), 0o600)
				os.Remove(x.spoilt)
				var err error
				switch kind {
				case "pipe":
					err = syscall.Mkfifo(x.spoilt, 0o600)
				case "device":
					err = os.Symlink("/dev/zero", x.spoilt)
				default:
					err = os.Mkdir(x.spoilt, 0o700)
				}
				if err != nil {
					t.Fatal(err)
				}
				var stdout, stderr bytes.Buffer
				code := Run(Registry(), x.args, &stdout, &stderr, false)
				said := stderr.String()
				if code != command.WrongInput || !strings.Contains(said, want) || !strings.Contains(said, filepath.Base(x.spoilt)) {
					t.Errorf("exit code %d: %s", code, said)
				}
			})
		}
	}
}

// TestEmptyTargets checks that an empty path to write to is refused, because it would be the current folder.
func TestEmptyTargets(t *testing.T) {
	for _, args := range [][]string{{"run", "x.yaml"}, {"report", "x.yaml"}, {"import", "config.txt"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Chdir(t.TempDir())
			var said bytes.Buffer
			code := Run(Registry(), append(args, "--out", ""), &said, &said, false)
			if code != command.WrongInput || !strings.Contains(said.String(), "--out: the path is empty") {
				t.Errorf("exit code %d: %s", code, said.String())
			}
		})
	}
}

// TestStandardInput checks that - reads standard input, within the same limits.
func TestStandardInput(t *testing.T) {
	for _, x := range []struct {
		name, text string
		args       []string
		code       int
		want       string
	}{
		{"experiment", valid, []string{"check", "-"}, command.Done, "stdin is valid: 2 runs"},
		{"not one", "a: b", []string{"check", "-"}, command.WrongInput, "standard input:1:1: "},
		{"too large", valid + strings.Repeat("# more\n", 150000), []string{"check", "-"}, command.WrongInput,
			"standard input:1:1: the file is larger than 1MB"},
		{"trace", "no trace", []string{"trace", "-"}, command.WrongInput, "standard input: offset 0: unknown format; pcapng"},
		{"Parquet", "PAR1PAR1PAR1", []string{"trace", "-"}, command.WrongInput, "Parquet needs a regular file"},
	} {
		t.Run(x.name, func(t *testing.T) {
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			kept := os.Stdin
			os.Stdin = in
			defer func() { os.Stdin = kept }()
			go func() {
				out.WriteString(x.text)
				out.Close()
			}()
			var said bytes.Buffer
			code := Run(Registry(), x.args, &said, &said, false)
			in.Close() // what is not read ends the writer
			if code != x.code || !strings.Contains(said.String(), x.want) {
				t.Errorf("exit code %d: %s", code, said.String())
			}
		})
	}
}

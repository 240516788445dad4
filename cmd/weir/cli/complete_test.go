package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/revision"
)

// asWeir is set where a test has this program be weir, for shells.
const asWeir = "WEIR_TEST_AS_WEIR"

func init() {
	if os.Getenv(asWeir) != "" {
		os.Exit(Run(registry(), os.Args[1:], os.Stdout, os.Stderr, false))
	}
}

// inShell puts a program weir into a shell's path, and returns what a script there prints.
func inShell(t *testing.T, shell, script string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skipf("%s is not installed", shell)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := "#!/bin/sh\n" + asWeir + "=1 exec " + self + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, revision.Name()), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(shell, append(args, "-c", script)...)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+c.Dir, "XDG_CONFIG_HOME="+c.Dir)
	ran := filepath.Join(c.Dir, "results")
	if code, _, stderr := weir("run", write(t, small), "--out", ran, "--set", "duration=5ms"); code != Done {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "mine.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return string(out)
}

// lines of a command to complete, and what is to be among the answers, and what not.
var completed = []struct{ line, has, not string }{
	{"weir ru", "run", "report"},
	{"weir results mer", "merge", "remove"},
	{"weir run p4abc/fig", "p4abc/fig5", "bench/tcp"},
	{"weir run mi", "mine.yaml", "p4abc/fig5"},
	{"weir run p4abc/fig5 --qui", "--quick", "--json"},
	{"weir run p4abc/fig5 --on l", "lab", "sim"},
	{"weir run p4abc/fig5 --set dur", "duration=", "repeat="},
	{"weir show ecm", "ecmp", "forward"},
	{"weir report sma", "small", "mine.yaml"},
	{"weir report results/sma", "results/small-", "mine.yaml"},
	{"weir results --js", "--json", "--out"},
}

// hasWord reports whether an answer has a word, or one that begins so if that ends with a hyphen.
func hasWord(answer, word string) bool {
	for _, w := range strings.Fields(answer) {
		if w == word || strings.HasSuffix(word, "-") && strings.HasPrefix(w, word) {
			return true
		}
	}
	return false
}

// In bash, words are completed by the program.
func TestCompletionBash(t *testing.T) {
	var script strings.Builder
	script.WriteString("source <(weir completion bash)\ncomplete -p weir\n")
	for _, x := range completed {
		words := strings.Fields(x.line)
		script.WriteString("COMP_LINE='" + x.line + "' COMP_POINT=${#COMP_LINE} COMP_WORDS=(" + strings.Join(words, " ") +
			") COMP_CWORD=" + string(rune('0'+len(words)-1)) + "\n_weir 2>/dev/null\necho \"= ${COMPREPLY[*]}\"\n")
	}
	lines := strings.Split(inShell(t, "bash", script.String()), "\n")
	if !strings.HasPrefix(lines[0], "complete -F _weir weir") {
		t.Fatal(lines)
	}
	answers(t, lines[1:])
}

func answers(t *testing.T, lines []string) {
	t.Helper()
	for i, x := range completed {
		t.Run(x.line, func(t *testing.T) {
			if i >= len(lines) || !hasWord(lines[i], x.has) || hasWord(lines[i], x.not) {
				t.Errorf("completed as %q; want %s, and not %s", lines[min(i, len(lines)-1)], x.has, x.not)
			}
		})
	}
}

// In zsh too.
func TestCompletionZsh(t *testing.T) {
	var script strings.Builder
	script.WriteString("compdef() { : }\ncompadd() { print -rn -- \"$found \" }\n_files() { print -rn -- *(N) }\n" +
		"source <(weir completion zsh)\n")
	for _, x := range completed {
		words := strings.Fields(x.line)
		script.WriteString("words=(" + strings.Join(words, " ") + ") CURRENT=" + string(rune('0'+len(words))) +
			"; print -n '= '; _weir; print\n")
	}
	lines := strings.Split(inShell(t, "zsh", script.String(), "-f"), "\n")
	for i, x := range completed {
		t.Run(x.line, func(t *testing.T) {
			if i >= len(lines) || !hasWord(lines[i], x.has) {
				t.Errorf("completed as %q; want %s", lines[min(i, len(lines)-1)], x.has)
			}
		})
	}
}

// And in fish, which shows what words mean.
func TestCompletionFish(t *testing.T) {
	var script strings.Builder
	script.WriteString("weir completion fish | source\n")
	for _, x := range completed {
		script.WriteString("echo = (complete -C '" + x.line + "' | string split -f1 \\t)\n")
	}
	answers(t, strings.Split(inShell(t, "fish", script.String()), "\n"))
}

// Every command and flag is completed, as the model has them.
func TestCompletesAll(t *testing.T) {
	code, stdout, stderr := weir("complete", "--", "weir ")
	for _, want := range []string{"run\tRun an experiment\n", "results\t", "completion\t", "man\t"} {
		if code != Done || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, no %q\n%s%s", code, want, stdout, stderr)
		}
	}
	if strings.Contains(stdout, "lab-dataplane") || strings.Contains(stdout, "complete\t") {
		t.Error("hidden commands are completed")
	}
	for _, line := range []string{"", "weir", "weir nothing ", "weir run --nothing=", "weir -- -",
		"weir results remove a b c ",
		"weir run 'a", "weir run a --set=", "weir \x1b[31m"} {
		t.Run(line, func(t *testing.T) {
			if code, _, stderr := weir("complete", "--", line); code != Done || stderr != "" {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

// The manual page has every command and flag, and groff finds nothing wrong with it.
func TestManual(t *testing.T) {
	code, page, stderr := weir("man")
	if code != Done || stderr != "" {
		t.Fatal(code, stderr)
	}
	parser, err := newParser(registry(), &command{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Leaves(true) {
		if !strings.Contains(page, "\n.SS "+quoteRoff(n.FullPath())+"\n") {
			t.Errorf("%s is not in it", n.FullPath())
		}
		for _, f := range n.Flags {
			if !f.Hidden && !strings.Contains(page, "\n.B "+quoteRoff(flagTerm(f))+"\n") {
				t.Errorf("%s of %s is not in it", flagTerm(f), n.FullPath())
			}
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not installed")
	}
	c := exec.Command("groff", "-man", "-Tutf8", "-ww", "-b", "-P-cbou", "-rLL=80n")
	c.Stdin = strings.NewReader(page)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil || errs.Len() > 0 || !strings.Contains(out.String(), "SYNOPSIS") {
		t.Errorf("%v\n%s", err, errs.String())
	}
}

//go:build system && !race

// Left out of race: shells run the test binary again, which takes a second each time with the detector.

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/internal/revision"
	"weir/internal/testkit"
)

// asWeir is the environment variable that makes this program weir, for shells.
const asWeir = "WEIR_TEST_AS_WEIR"

func init() {
	if os.Getenv(asWeir) != "" {
		os.Exit(Run(registry(), os.Args[1:], os.Stdout, os.Stderr, false))
	}
}

// inShell puts a program weir into a shell's path, and returns the output of a script.
func inShell(t *testing.T, shell, script string, args ...string) string {
	t.Helper()
	testkit.RequireProgram(t, shell, shell)
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
	c.Dir = completedFolder(t)
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+c.Dir, "XDG_CONFIG_HOME="+c.Dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return string(out)
}

// TestCompletionBash checks that the program completes words in bash.
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

// TestCompletionZsh checks completion in zsh.
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

// TestCompletionFish checks completion in fish, which shows the words' meanings.
func TestCompletionFish(t *testing.T) {
	var script strings.Builder
	script.WriteString("weir completion fish | source\n")
	for _, x := range completed {
		script.WriteString("echo = (complete -C '" + x.line + "' | string split -f1 \\t)\n")
	}
	answers(t, strings.Split(inShell(t, "fish", script.String()), "\n"))
}

// TestManualInGroff checks that groff reports no mistake in the manual page.
func TestManualInGroff(t *testing.T) {
	code, page, stderr := weir("man")
	if code != command.Done || stderr != "" {
		t.Fatal(code, stderr)
	}
	testkit.RequireProgram(t, "groff", "groff-base")
	c := exec.Command("groff", "-man", "-Tutf8", "-ww", "-b", "-P-cbou", "-rLL=80n")
	c.Stdin = strings.NewReader(page)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil || errs.Len() > 0 || !strings.Contains(out.String(), "SYNOPSIS") {
		t.Errorf("%v\n%s", err, errs.String())
	}
}

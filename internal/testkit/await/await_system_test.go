//go:build system

package await

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// role makes this test binary a program under test.
const role = "WEIR_AWAIT_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "print": // lines on both streams, then an exit code
		fmt.Println("one")
		fmt.Fprintln(os.Stderr, "two")
		fmt.Println("three")
		os.Exit(7)
	case "interrupt": // works until a signal, then writes a file
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		fmt.Println("ready")
		<-c
		os.WriteFile(os.Args[1], nil, 0o666)
		fmt.Println("done")
	case "spin":
		fmt.Println("ready")
		for {
			os.Getpid()
		}
	case "parent": // its child spins
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), role+"=spin")
		child.Stdout = os.Stdout
		child.Run()
	}
}

// start runs this binary in a role.
func start(t testing.TB, as string, args ...string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), role+"="+as)
	return Start(t, cmd)
}

func TestLinesAndExit(t *testing.T) {
	p := start(t, "print")
	if got := p.AwaitLine("t"); got != "two" && got != "three" {
		t.Errorf("Line returned %q", got)
	}
	if code := p.AwaitExit(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	if p.Stdout() != "one\nthree\n" || p.Stderr() != "two\n" || strings.Count(p.Output(), "\n") != 2 || p.IsRunning() {
		t.Errorf("stdout %q, stderr %q, both %q", p.Stdout(), p.Stderr(), p.Output())
	}
}

func TestSignalAndFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made")
	p := start(t, "interrupt", file)
	p.AwaitLine("ready")
	p.LimitWork(10 * time.Second).Signal(os.Interrupt)
	p.AwaitCondition("the file", func() bool { _, err := os.Stat(file); return err == nil })
	p.AwaitLine("done")
	if code := p.AwaitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// failure runs a body that must fail, and returns its messages.
func failure(t *testing.T, body func(t testing.TB)) string {
	t.Helper()
	r := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range r.cleanups {
				f()
			}
		}()
		body(r)
	}()
	<-done
	return r.text
}

type failing struct {
	testing.TB
	text     string
	cleanups []func()
}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *failing) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }

func TestExitBeforeTheEvent(t *testing.T) {
	text := failure(t, func(t testing.TB) { start(t, "print").AwaitLine("never") })
	if !strings.Contains(text, "a line with never: the process exited with exit status 7") {
		t.Errorf("it failed with %q", text)
	}
}

// TestWorkBudget checks that the budget limits the work of a process, and that a child's work counts.
func TestWorkBudget(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux counts a process's work")
	}
	for _, as := range []string{"spin", "parent"} {
		t.Run(as, func(t *testing.T) {
			text := failure(t, func(t testing.TB) {
				p := start(t, as)
				p.AwaitLine("ready")
				p.LimitWork(50 * time.Millisecond)
				p.AwaitLine("never")
			})
			if !strings.Contains(text, "the work budget is exhausted") || !strings.Contains(text, "goroutine ") {
				t.Errorf("it failed with %.300q", text)
			}
		})
	}
}

// TestEndsWithTheTest checks that a process and its children end with the test.
func TestEndsWithTheTest(t *testing.T) {
	pid := 0
	t.Run("inner", func(t *testing.T) {
		p := start(t, "parent")
		p.AwaitLine("ready")
		pid = p.PID()
	})
	AwaitCondition(t, "the group's end", func() bool { return syscall.Kill(-pid, 0) == syscall.ESRCH })
}

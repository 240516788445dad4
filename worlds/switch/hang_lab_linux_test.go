//go:build lab

package softswitch_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/testkit/await"
)

// TestSupervisor_EndsHungDataPlane checks that a supervisor ends in time when its data plane hangs, with the error that
// reports it, and has restored the offloads. No part of the data plane remains.
func TestSupervisor_EndsHungDataPlane(t *testing.T) {
	large := plain + strings.Repeat("# a comment, of which a pipe has no room for two thousand\n", 2000)
	for _, x := range []struct {
		name string
		end  func(p *process)
		says string
	}{
		{"stopped", func(p *process) { p.Signal(syscall.SIGTERM) }, "the data plane did not stop within"},
		{"by SIGINT", func(p *process) { p.Signal(syscall.SIGINT) }, "the data plane did not stop within"},
		{"its pipe is full", func(p *process) {
			p.write(large)
			p.Signal(syscall.SIGHUP)
			p.awaits("the data plane did not accept the file within")
			p.Signal(syscall.SIGTERM)
		}, "the data plane did not stop within"},
		{"a second signal", func(p *process) {
			p.write(large)
			p.Signal(syscall.SIGHUP)
			await.AwaitCondition(p.t, "the end", func() bool { // two that come before the supervisor looks are one
				p.Signal(syscall.SIGTERM)
				return p.over()
			})
		}, "killed before its queues were empty"},
		{"a pipe instead of a file", func(p *process) {
			syscall.Kill(p.child(), syscall.SIGCONT)
			os.Remove(p.file)
			if err := unix.Mkfifo(p.file, 0o644); err != nil {
				p.t.Fatal(err)
			}
			p.Signal(syscall.SIGHUP)
			p.Signal(syscall.SIGTERM) // which Linux delivers after it
		}, "0 left in queues"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel() // they only wait
			w := lay(t, 1500, "left", "right")
			before := w.offloads("left")
			p := w.open(plain)
			child := p.suspendChild()
			x.end(p)
			p.AwaitExit()
			if !strings.Contains(p.Stderr()+p.Stdout(), x.says) {
				t.Errorf("it said\n%s%s", p.Stderr(), p.Stdout())
			}
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", child)); err == nil {
				t.Error("the data plane is still there")
			}
			if now := w.offloads("left"); !slices.Equal(now, before) {
				t.Errorf("offloads are %v, before %v", now, before)
			}
		})
	}
}

// TestHangEnds checks that a data plane that hangs delays neither metrics nor, when it continues, the requests made
// meanwhile.
func TestHangEnds(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.loopback()
	p := w.open(fmt.Sprintf(shaped, "50Mbps", 100, "[forward]", "9465"))
	p.suspendChild()
	if m := w.shown(); m["weir_switch_up"] != 0 {
		t.Error("a data plane that hangs is up")
	}
	p.write(fmt.Sprintf(shaped, "20Mbps", 100, "[forward]", "9465"))
	p.Signal(syscall.SIGHUP)
	p.awaits("the data plane did not accept the file within")
	syscall.Kill(p.child(), syscall.SIGCONT)
	p.awaits("port right has another rate")
	if m := w.metrics(); m["weir_switch_up"] != 1 || m[`weir_switch_reloads_total{result="done"}`] != 1 {
		t.Errorf("up %v, reloads %v", m["weir_switch_up"], m[`weir_switch_reloads_total{result="done"}`])
	}
	p.stop()
}

// TestSwitch_RunsWithUnreadOutput checks that a switch with unread output carries frames, reloads its file, and ends.
func TestSwitch_RunsWithUnreadOutput(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.loopback()
	before := w.offloads("left")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	w.prepare = func(c *exec.Cmd) {
		c.Path, c.Args = "/bin/sh", append([]string{"sh", "-c", `exec "$0" "$@" >&3 2>&3 3>&-`}, c.Args...)
		c.ExtraFiles = []*os.File{write}
	}
	file := strings.Replace(fmt.Sprintf(shaped, "50Mbps", 100, "[forward]", "9465"), "interface: left",
		"interface: left, rate: 50Mbps", 1)
	p := w.launch(file)
	await.AwaitCondition(t, "the switch", func() bool {
		text, _, err := w.scrape("text/plain")
		return err == nil &&
			text != ""
	})
	fill(t, write)
	const done = `weir_switch_reloads_total{result="done"}`
	await.AwaitCondition(t, "more reloads than lines that wait", func() bool {
		p.Signal(syscall.SIGHUP)
		return w.metrics()[done] > 300
	})
	p.write("ports: {}\n")
	refused := func() float64 { return w.metrics()[`weir_switch_reloads_total{result="refused"}`] }
	await.AwaitCondition(t, "a refusal", func() bool { p.Signal(syscall.SIGHUP); return refused() > 0 })
	p.Signal(syscall.SIGTERM)
	p.AwaitExit()
	if now := w.offloads("left"); !slices.Equal(now, before) {
		t.Errorf("offloads are %v, before %v", now, before)
	}
}

// fill fills a pipe.
func fill(t testing.TB, pipe *os.File) {
	t.Helper()
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for size := 1 << 16; size > 0; {
		if _, err := unix.Write(fd, make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

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
	"time"

	"golang.org/x/sys/unix"
)

// promised is how long an end may take, whatever the data plane does.
const promised = 10 * time.Second

// A supervisor ends in time when its data plane hangs, with the error that says so, and has restored the offloads;
// nothing of the data plane is left.
func TestHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	large := plain + strings.Repeat("# a comment, of which a pipe has no room for two thousand\n", 2000)
	for _, x := range []struct {
		name string
		end  func(p *process)
		says string
		soon bool // in less than the data plane has to stop
	}{
		{"stopped", func(p *process) { p.signal(syscall.SIGTERM) }, "the data plane did not stop within", false},
		{"by SIGINT", func(p *process) { p.signal(syscall.SIGINT) }, "the data plane did not stop within", false},
		{"its pipe is full", func(p *process) {
			p.write(large)
			for range 20 {
				p.signal(syscall.SIGHUP)
				time.Sleep(20 * time.Millisecond)
			}
			p.awaits("the data plane has not taken it within")
			p.signal(syscall.SIGTERM)
		}, "the data plane did not stop within", false},
		{"a second signal", func(p *process) {
			p.write(large)
			p.signal(syscall.SIGHUP)
			p.signal(syscall.SIGTERM)
			for until := time.Now().Add(promised / 4); !p.over() && time.Now().Before(until); {
				time.Sleep(100 * time.Millisecond) // two that come before the supervisor looks are one
				p.signal(syscall.SIGTERM)
			}
		}, "killed before its queues were empty", true},
		{"a pipe instead of a file", func(p *process) {
			syscall.Kill(p.child(), syscall.SIGCONT)
			os.Remove(p.file)
			if err := unix.Mkfifo(p.file, 0o644); err != nil {
				p.t.Fatal(err)
			}
			p.signal(syscall.SIGHUP)
			time.Sleep(100 * time.Millisecond)
			p.signal(syscall.SIGTERM)
		}, "0 were left in queues", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := lay(t, 1500, "left", "right")
			before := w.offloads("left")
			p := w.open(plain)
			child := p.child()
			syscall.Kill(child, syscall.SIGSTOP)
			x.end(p)
			start := time.Now()
			until(t, "the end", p.over)
			took := time.Since(start)
			if took > promised || x.soon && took > promised/2 || !strings.Contains(p.said.String()+p.out.String(), x.says) {
				t.Errorf("it took %v and said\n%s%s", took, p.said, p.out.String())
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

// A data plane that hangs holds up neither metrics nor, when it goes on, what was asked meanwhile.
func TestHangEnds(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.loopback()
	p := w.open(fmt.Sprintf(shaped, "50Mbps", 100, "[forward]", "9465"))
	syscall.Kill(p.child(), syscall.SIGSTOP)
	if m := w.shown(); m["weir_switch_up"] != 0 {
		t.Error("a data plane that hangs is up")
	}
	p.write(fmt.Sprintf(shaped, "20Mbps", 100, "[forward]", "9465"))
	p.signal(syscall.SIGHUP)
	p.awaits("the data plane has not taken it within")
	syscall.Kill(p.child(), syscall.SIGCONT)
	p.awaits("port right has another rate")
	if m := w.metrics(); m["weir_switch_up"] != 1 || m[`weir_switch_reloads_total{result="done"}`] != 1 {
		t.Errorf("up %v, reloads %v", m["weir_switch_up"], m[`weir_switch_reloads_total{result="done"}`])
	}
	p.stop()
}

// Nobody reads what the switch says: it carries frames, reads its file anew, and ends.
func TestUnread(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.loopback()
	before := w.offloads("left")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	w.prepare = func(c *exec.Cmd) { c.Stdout, c.Stderr = write, write }
	file := strings.Replace(fmt.Sprintf(shaped, "50Mbps", 100, "[forward]", "9465"), "interface: left",
		"interface: left, rate: 50Mbps", 1)
	p := w.launch(file)
	until(t, "the switch", func() bool { text, _, err := w.scrape("text/plain"); return err == nil && text != "" })
	fill(t, write)
	for range 400 { // more than lines that wait
		p.signal(syscall.SIGHUP)
		time.Sleep(5 * time.Millisecond)
	}
	p.write("ports: {}\n")
	refused := func() float64 { return w.metrics()[`weir_switch_reloads_total{result="refused"}`] }
	until(t, "a refusal", func() bool { p.signal(syscall.SIGHUP); return refused() > 0 })
	p.signal(syscall.SIGTERM)
	start := time.Now()
	until(t, "the end", p.over)
	if took := time.Since(start); took > promised {
		t.Errorf("it took %v", took)
	}
	if now := w.offloads("left"); !slices.Equal(now, before) {
		t.Errorf("offloads are %v, before %v", now, before)
	}
}

// fill fills a pipe.
func fill(t *testing.T, pipe *os.File) {
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

func (p *process) signal(s syscall.Signal) { p.cmd.Process.Signal(s) }

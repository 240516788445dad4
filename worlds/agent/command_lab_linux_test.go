//go:build lab

package agent_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"weir/internal/testkit/await"
)

// command is weir in a separate process.
type command struct{ *await.Process }

// command starts weir agent at a host, or the program in its place, and waits until it runs.
func (r *rig) command(host string, args ...string) *command {
	r.t.Helper()
	if r.binary != "" {
		return r.launch(host, "press Ctrl-C to stop", r.binary, args...)
	}
	return r.start(host, "press Ctrl-C to stop", append([]string{"agent"}, args...)...)
}

// start starts weir in a namespace, and waits for a line that contains the given text.
func (r *rig) start(host, says string, args ...string) *command {
	r.t.Helper()
	return r.launch(host, says, await.RequireProgram(r.t, "cmd/weir"), args...)
}

// launch is like start for any program.
func (r *rig) launch(host, says, program string, args ...string) *command {
	r.t.Helper()
	cmd := exec.Command(program, args...)
	c := &command{}
	r.in(host, func() error { c.Process = await.Start(r.t, cmd); return nil })
	c.AwaitLine(says)
	return c
}

// end sends a signal and returns the exit code.
func (c *command) end(s syscall.Signal) int {
	c.Signal(s)
	return c.AwaitExit()
}

// held are the BPF objects that a process has open, by kind and number.
type held map[string][]uint32

func (c *command) held(t testing.TB) held {
	t.Helper()
	return c.heldAtLeast(t, 7, 4, 4)
}

func (c *command) heldAtLeast(t testing.TB, programs, maps, links int) held {
	t.Helper()
	h := held{}
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", c.PID()))
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`(?m)^(prog|map|link)_id:\s*(\d+)$`)
	for _, name := range names {
		b, _ := os.ReadFile(name)
		for _, m := range kinds.FindAllSubmatch(b, -1) {
			var id uint32
			fmt.Sscan(string(m[2]), &id)
			h[string(m[1])] = append(h[string(m[1])], id)
		}
	}
	if len(h["prog"]) < programs || len(h["map"]) < maps || len(h["link"]) < links {
		t.Fatalf("it holds %v", h)
	}
	return h
}

// left returns the objects that still exist.
func (h held) left() (ids []string) {
	there := func(kind string, id uint32, c io.Closer, err error) {
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, os.ErrNotExist) {
			ids = append(ids, fmt.Sprint(kind, " ", id))
		}
	}
	for _, id := range h["prog"] {
		p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
		there("program", id, p, err)
	}
	for _, id := range h["map"] {
		m, err := ebpf.NewMapFromID(ebpf.MapID(id))
		there("map", id, m, err)
	}
	for _, id := range h["link"] {
		l, err := link.NewFromID(link.ID(id))
		there("link", id, l, err)
	}
	return ids
}

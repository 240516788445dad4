package agent_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"weir/internal/rtnl"
	"weir/worlds/agent"
)

// said is what a process says.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// command is weir in a process of its own.
type command struct {
	cmd  *exec.Cmd
	out  said
	done chan error
}

// weir builds the program.
var weir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "weir")
	if out, err := exec.Command("go", "build", "-o", name, "weir/cmd/weir").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return name, nil
})

func TestMain(m *testing.M) {
	if to := os.Getenv(sendsTo); to != "" {
		sendAll(to)
	}
	if is, err := serveStar(); is {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if name, err := weir(); weirUsed && err == nil {
		os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

// weirUsed says that weir was built.
var weirUsed bool

// command starts weir agent at a host, and waits until it is there.
func (r *rig) command(host string, args ...string) *command {
	r.t.Helper()
	return r.start(host, "Ctrl-C ends it", append([]string{"agent"}, args...)...)
}

// start starts weir in a namespace, and waits until it has said that it is there.
func (r *rig) start(host, says string, args ...string) *command {
	r.t.Helper()
	weirUsed = true
	name, err := weir()
	if err != nil {
		r.t.Fatal(err)
	}
	c := &command{cmd: exec.Command(name, args...), done: make(chan error, 1)}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	r.in(host, c.cmd.Start)
	go func() { c.done <- c.cmd.Wait() }()
	r.t.Cleanup(func() { c.cmd.Process.Kill() })
	until(r.t, "its beginning", func() bool {
		select {
		case err := <-c.done:
			r.t.Fatalf("%v: %s", err, &c.out)
		default:
		}
		return strings.Contains(c.out.String(), says)
	})
	return c
}

// end sends it a signal and waits for its end.
func (c *command) end(t *testing.T, s syscall.Signal) error {
	t.Helper()
	c.cmd.Process.Signal(s)
	select {
	case err := <-c.done:
		return err
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	return nil
}

// held are the BPF objects that a process has open, by kind and number.
type held map[string][]uint32

func (c *command) held(t *testing.T) held {
	t.Helper()
	return c.heldAtLeast(t, 7, 4, 4)
}

func (c *command) heldAtLeast(t *testing.T, programs, maps, links int) held {
	t.Helper()
	h := held{}
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", c.cmd.Process.Pid))
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

// left are those that there still are.
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

// However an agent ends, its connections go on as CUBIC by themselves, no new one is its own, and no BPF object is
// left: at once if the connection sends, and else with the connection.
func TestEnds(t *testing.T) {
	for _, x := range []struct {
		name   string
		signal syscall.Signal
		sends  bool
	}{{"killed, a connection sends", syscall.SIGKILL, true}, {"killed, a connection is silent", syscall.SIGKILL, false},
		{"interrupted, a connection sends", syscall.SIGINT, true}} {
		t.Run(x.name, func(t *testing.T) {
			r := lay(t, short, 1)
			r.agent("b", agent.Defaults())
			c := r.command("a1", "--interface", "eth0")
			holds := c.held(t)
			f := r.open("a1")
			if x.sends {
				f.send()
			} else {
				go f.drain()
				f.write(t, 1<<21)
			}
			until(t, "HPCC++", func() bool {
				is := strings.HasPrefix(r.controllerOf("a1"), agent.Controller)
				if !is && !x.sends {
					f.write(t, 1<<16) // it may have fallen silent as CUBIC, where the machine stood still
				}
				return is
			})
			at := time.Now()
			err := c.end(t, x.signal)
			if (err == nil) != (x.signal == syscall.SIGINT) {
				t.Errorf("it ends with %v: %s", err, &c.out)
			}
			if x.sends {
				until(t, "CUBIC", func() bool { return r.controllerOf("a1") == "cubic" })
				t.Logf("CUBIC %v after the signal", time.Since(at).Round(time.Millisecond))
				came := f.came.Load()
				until(t, "data", func() bool { return f.came.Load() > came+1<<20 })
			} else {
				time.Sleep(200 * time.Millisecond)
				if left := holds.left(); len(left) == 0 || !strings.HasPrefix(r.controllerOf("a1"), agent.Controller) {
					t.Errorf("a silent connection has %s and holds %v", r.controllerOf("a1"), left)
				}
				f.write(t, 1<<21) // and it can still send
				if c := r.controllerOf("a1"); c != "cubic" {
					t.Errorf("it has sent, and is %s", c)
				}
			}
			until(t, "the end of all BPF objects", func() bool { return len(holds.left()) == 0 })
			f.from.Close()
			f.to.Close()
			seen := capture(r.node)
			g := r.open("a1")
			g.send()
			until(t, "data", func() bool { return g.came.Load() > 1<<20 })
			if c := r.controllerOf("a1"); c != "cubic" {
				t.Errorf("a new connection is %s", c)
			}
			if b := seen.last(func(s *segment) bool { return s.trace != nil }); b != nil {
				t.Errorf("a trace: % x", b)
			}
		})
	}
}

// loopback switches on that of a host, for metrics.
func (r *rig) loopback(host string) {
	r.t.Helper()
	r.in(host, func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		return c.Up(1)
	})
}

// metrics is what a command at a host answers who asks for OpenMetrics, with the header.
func (r *rig) metrics(host string, c *command) (page []byte) {
	r.t.Helper()
	at := regexp.MustCompile(`http://(\S+)/metrics`).FindStringSubmatch(c.out.String())
	if at == nil {
		r.t.Fatal(c.out.String())
	}
	r.in(host, func() error {
		n, err := net.Dial("tcp", at[1])
		if err != nil {
			return err
		}
		defer n.Close()
		fmt.Fprintf(n, "GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text\r\n\r\n")
		page, err = io.ReadAll(n)
		return err
	})
	return page
}

// The command shows each connection with its window, U and bottleneck, in a table and as OpenMetrics.
func TestCommand(t *testing.T) {
	r := lay(t, short, 1)
	r.agent("b", agent.Defaults())
	r.loopback("a1")
	c := r.command("a1", "--interface", "eth0", "--metrics", "[::1]:0", "--every", "50ms", "--eta", "90%", "--rtt", "4ms")
	f := r.open("a1")
	f.send()
	row := regexp.MustCompile(`\[fd09::2\]:\d+ +\[fd09::1\]:\d+ +weir_hpcc\d* +sender +[\d.]+k?B +\d\.\d{3} +1 of 3 `)
	until(t, "a row", func() bool { return row.MatchString(c.out.String()) })
	page := r.metrics("a1", c)
	for _, want := range []string{`application/openmetrics-text`, `weir_agent_window_bytes{local="[fd09::2]:`,
		`side="sender"} `, `weir_agent_load_ratio{`, `weir_agent_bottleneck_hop{`, `weir_agent_traced_total{`, `# EOF`} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("metrics lack %s:\n%s", want, page)
		}
	}
	if err := c.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("%v: %s", err, &c.out)
	}
}

// Weir's own switch between the hosts writes what the agents read.
func TestSwitch(t *testing.T) {
	r := place(t, 1)
	file := filepath.Join(t.TempDir(), "switch.yaml")
	for dir := filepath.Dir(file); dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755) // whom the switch runs as reads it
	}
	if err := os.WriteFile(file, []byte(`ports:
  b: {interface: b, rate: 50Mbps, buffer: 300 packets}
  a1: {interface: a1, rate: 1Gbps}
switch: [forward, {telemetry: {format: ioam}}]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	s := r.start("mid", "switching between", "switch", "-c", file)
	b, a := r.agent("b", agent.Defaults()), r.agent("a1", agent.Defaults())
	f := r.open("a1")
	f.send()
	following(t, a)
	until(t, "a load", func() bool {
		c := connections(t, b)[0]
		return c.Tell.Hops == 1 && c.Tell.Load > 0.5 && c.Tell.Load < 1.5 && c.Measured > 500
	})
	if c := connections(t, a)[0]; c.Told.Hops != 1 || c.Told.Bottleneck != 1 || c.Refused > 0 {
		t.Errorf("%+v", c)
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("%v: %s", err, &s.out)
	}
}

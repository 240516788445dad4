//go:build lab

package agent_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"weir/internal/sockdiag"
	"weir/internal/testkit/await"
	"weir/worlds/agent"
)

// cgroup makes one below the unified hierarchy's root, until the test ends.
func cgroup(t testing.TB, name ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{agent.ProbeMachine().Cgroup}, name...)...)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Skipf("no cgroup can be made: %v", err)
	}
	t.Cleanup(func() {
		if err := removed(t, path); err != nil {
			t.Error(err)
		}
	})
	return path
}

// removed removes a cgroup. A process leaves its cgroup some time after it has ended.
func removed(t testing.TB, path string) (err error) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	await.AwaitCondition(t, "an empty cgroup", func() bool { err = unix.Rmdir(path); return err != unix.EBUSY })
	return err
}

// program is a sender in a separate process and cgroup.
type program struct {
	command *exec.Cmd
	local   netip.AddrPort
}

// program starts one in a namespace and a cgroup, which sends to b until the test ends.
func (r *rig) program(host, cgroup string) *program {
	r.t.Helper()
	folder, err := os.Open(cgroup)
	if err != nil {
		r.t.Fatal(err)
	}
	defer folder.Close()
	var l net.Listener
	r.in("b", func() (err error) { l, err = net.Listen("tcp6", net.JoinHostPort(host0, "0")); return err })
	p := &program{command: exec.Command("/proc/self/exe")}
	p.command.Env = append(os.Environ(), sendsTo+"="+l.Addr().String())
	p.command.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(folder.Fd()), Setpgid: true}
	p.command.Stderr = os.Stderr
	out, err := p.command.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	r.in(host, p.command.Start)
	r.t.Cleanup(p.end)
	go func() { // until it is ended
		defer l.Close()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.Copy(io.Discard, c)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		p.local, err = netip.ParseAddrPort(strings.TrimSpace(line))
	}
	if err != nil {
		r.t.Fatalf("%s%v", line, err)
	}
	return p
}

// host0 is b's address.
var host0 = host(0).String()

func (p *program) end() {
	if p.command.ProcessState == nil {
		p.command.Process.Kill()
		p.command.Wait()
	}
}

// known returns the agent's record of a program's connection.
func (p *program) known(t testing.TB, a *agent.Agent) (c agent.Connection, ok bool) {
	t.Helper()
	for _, c := range connections(t, a) {
		if c.Local == p.local {
			return c, true
		}
	}
	return c, false
}

// of returns the kernel's socket of a program's connection.
func (r *rig) of(host string, p *program) (s sockdiag.Socket) {
	r.t.Helper()
	r.in(host, func() error {
		c, err := sockdiag.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		all, err := c.Dump(unix.AF_INET6, sockdiag.Filter{States: []sockdiag.TCPState{sockdiag.Established}})
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].Local == p.local {
				s = all[i]
				return nil
			}
		}
		return fmt.Errorf("no connection from %v", p.local)
	})
	return s
}

// attached returns the number of socket programs that a cgroup has.
func attached(t testing.TB, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := link.QueryPrograms(link.QueryOptions{Target: int(f.Fd()), Attach: ebpf.AttachCGroupSockOps})
	if err != nil {
		t.Fatal(err)
	}
	return len(all.Programs)
}

// TestAgent_FollowsOnlyItsCgroup checks that only programs in the cgroup, or in one below it, follow HPCC++. Others
// stay CUBIC's, put no traces into their segments and are not listed. After the agent's end no program is attached,
// new connections of the cgroup are CUBIC's, and the folder can be removed.
func TestAgent_FollowsOnlyItsCgroup(t *testing.T) {
	r := lay(t, short, 1)
	in := cgroup(t, fmt.Sprintf("weir-test-%d", os.Getpid()))
	below := cgroup(t, filepath.Base(in), "below")
	beside := cgroup(t, fmt.Sprintf("weir-test-beside-%d", os.Getpid()))
	r.agent("b", agent.DefaultConfig())
	config := agent.DefaultConfig()
	config.Cgroup = in
	a := r.agent("a1", config)
	if n := attached(t, in); n != 1 {
		t.Errorf("%d programs are attached", n)
	}
	taken := map[string]*program{"in it": r.program("a1", in), "below it": r.program("a1", below)}
	other := r.program("a1", beside)
	for name, p := range taken {
		await.AwaitCondition(t, name+" a connection that follows", func() bool {
			c, ok := p.known(t, a)
			return ok && c.Following && c.SenderFeedback.Hops > 0 && c.Controller == a.Controller
		})
	}
	await.AwaitCondition(t, "beside it data", func() bool { return r.of("a1", other).Info.BytesAcked > 1<<20 })
	if c, ok := other.known(t, a); ok || len(connections(t, a)) != 2 {
		t.Errorf("beside it: %+v; it knows %d", c, len(connections(t, a)))
	}
	if s := r.of("a1", other); strings.HasPrefix(s.CongestionControl.String(), agent.Controller) {
		t.Errorf("beside it there is %v", s.CongestionControl)
	}
	seen := capture(r.node)
	await.AwaitCondition(t, "both kinds of segments", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		with, without := 0, 0
		for _, b := range seen.frames {
			s, ok := segmentOf(b)
			if !ok || len(s.data) == 0 {
				continue
			}
			if s.from == other.local.Port() {
				if without++; s.trace != nil {
					t.Fatal("beside it there is a trace")
				}
			} else if with++; s.trace == nil {
				t.Fatal("in it there is no trace")
			}
		}
		return with > 20 && without > 20
	})
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if n := attached(t, in); n != 0 {
		t.Errorf("%d programs are attached after its end", n)
	}
	later := r.program("a1", in)
	await.AwaitCondition(t, "data", func() bool { return r.of("a1", later).Info.BytesAcked > 1<<20 })
	if s := r.of("a1", later); strings.HasPrefix(s.CongestionControl.String(), agent.Controller) {
		t.Errorf("after its end there is %v", s.CongestionControl)
	}
	for _, p := range []*program{taken["in it"], taken["below it"], later} {
		p.end()
	}
	for _, path := range []string{below, in} {
		if err := removed(t, path); err != nil {
			t.Errorf("after its end %s cannot be removed: %v", path, err)
		}
	}
}

// TestCgroupEnds checks that a killed agent leaves no program at its cgroup, and its connections continue. An agent of
// a removed cgroup ends in order.
func TestCgroupEnds(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		r := lay(t, short, 1)
		in := cgroup(t, fmt.Sprintf("weir-test-%d", os.Getpid()))
		r.agent("b", agent.DefaultConfig())
		c := r.command("a1", "--interface", "eth0", "--cgroup", in)
		holds := c.held(t)
		p := r.program("a1", in)
		await.AwaitCondition(t, "HPCC++", func() bool {
			return strings.HasPrefix(r.of("a1", p).CongestionControl.String(), agent.Controller)
		})
		if n := attached(t, in); n != 1 {
			t.Errorf("%d programs are attached", n)
		}
		c.end(syscall.SIGKILL)
		await.AwaitCondition(t, "the end of what is attached", func() bool { return attached(t, in) == 0 })
		await.AwaitCondition(t, "CUBIC", func() bool { return r.of("a1", p).CongestionControl.String() == "cubic" })
		await.AwaitCondition(t, "the end of all BPF objects", func() bool { return len(holds.left()) == 0 })
		p.end()
		if err := removed(t, in); err != nil {
			t.Error(err)
		}
	})
	t.Run("its cgroup is removed", func(t *testing.T) {
		r := lay(t, short, 1)
		in := cgroup(t, fmt.Sprintf("weir-test-%d", os.Getpid()))
		c := r.command("a1", "--interface", "eth0", "--cgroup", in)
		holds := c.held(t)
		if err := removed(t, in); err != nil {
			t.Fatal(err)
		}
		if code := c.end(syscall.SIGINT); code != 0 {
			t.Errorf("exit code %d: %s", code, c.Output())
		}
		await.AwaitCondition(t, "the end of all BPF objects", func() bool { return len(holds.left()) == 0 })
	})
}

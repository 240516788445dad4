//go:build lab

package agent_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"weir/internal/netns"
	"weir/internal/rtnl"
	"weir/worlds/agent"
)

// TestOneAgent checks that a network namespace has one agent, for any connections and cgroups. The refusal names the
// running process. Another namespace has its own, and when an agent has ended, or is killed, the next can start at
// once.
func TestOneAgent(t *testing.T) {
	r := place(t, 1)
	first := cgroup(t, fmt.Sprintf("weir-test-%d", os.Getpid()))
	second := cgroup(t, fmt.Sprintf("weir-test-beside-%d", os.Getpid()))
	configs := map[string]agent.Config{"NCF": followNCF(agent.NacksLoss), "HPCC++": agent.DefaultConfig()}
	cgroups := agent.DefaultConfig()
	cgroups.Cgroup = second
	configs["another cgroup"] = cgroups
	for _, args := range [][]string{{"--interface", "eth0"}, {"--interface", "eth0", "--follow", "ncf"},
		{"--cgroup", first}} {
		c := r.command("a1", args...)
		for name, config := range configs {
			err := netns.Do(r.set.Name("a1"), func() error {
				a, err := agent.Start(config)
				if err == nil {
					a.Close()
				}
				return err
			})
			want := fmt.Sprintf("process %d (weir) uses this network namespace", c.PID())
			if !errors.Is(err, agent.ErrRunning) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q, and %s: %v, want %s", args, name, err, want)
			}
		}
		r.in("b", func() error {
			a, err := agent.Start(agent.DefaultConfig())
			if err == nil {
				err = a.Close()
			}
			return err
		})
		c.end(syscall.SIGKILL)
	}
	r.agent("a1", agent.DefaultConfig()) // and nothing is left of those that were killed
}

// TestOneAgentOfMany checks that only one of several agents that start at the same time in a namespace runs.
func TestOneAgentOfMany(t *testing.T) {
	r := place(t, 1)
	for range 3 {
		var started [6]*agent.Agent
		var errs [len(started)]error
		var all sync.WaitGroup
		for i := range started {
			all.Go(func() {
				errs[i] = netns.Do(r.set.Name("a1"), func() (err error) {
					started[i], err = agent.Start(followNCF(agent.NacksLoss))
					return err
				})
			})
		}
		all.Wait()
		n := 0
		for i, a := range started {
			if a != nil {
				n++
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			} else if !errors.Is(errs[i], agent.ErrRunning) {
				t.Error(errs[i])
			}
		}
		if n != 1 {
			t.Fatalf("%d agents started: %v", n, errs)
		}
	}
}

// remove deletes an interface.
func (r *rig) remove(host, name string) {
	r.t.Helper()
	r.in(host, func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		x, err := c.InterfaceByName(name)
		if err != nil {
			return err
		}
		return c.RemoveInterface(x.Index)
	})
}

// ends waits until a command has ended with an error that contains the given text.
func (c *command) ends(t testing.TB, says string) {
	t.Helper()
	if code := c.AwaitExit(); code == 0 || !strings.Contains(c.Output(), says) {
		t.Fatalf("exit code %d, want another one and %q: %s", code, says, c.Output())
	}
}

// TestInterfaceGone checks that an agent with a deleted interface ends with an error that names it. An agent of a
// cgroup continues with the remaining interfaces, reports that, and ends with the last.
func TestInterfaceGone(t *testing.T) {
	for _, follow := range []string{"hpcc", "ncf"} {
		t.Run(follow, func(t *testing.T) {
			r := place(t, 1)
			c := r.command("a1", "--interface", "eth0", "--follow", follow, "--every", "0s")
			r.remove("a1", "eth0")
			c.ends(t, "the interface has disappeared: eth0")
		})
	}
	t.Run("of a cgroup", func(t *testing.T) {
		r := place(t, 1)
		there, err := os.Open(netns.Path(r.set.Name("a1")))
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		r.in("a1", func() error {
			c, err := rtnl.Open()
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.AddVeth(rtnl.End{Name: "x0", MAC: mac(10)}, rtnl.End{Name: "x1", MAC: mac(11)}, int(there.Fd()),
				1500); err != nil {
				return err
			}
			x, err := c.InterfaceByName("x0")
			if err != nil {
				return err
			}
			return c.SetUp(x.Index)
		})
		c := r.command("a1", "--cgroup", cgroup(t, fmt.Sprintf("weir-test-%d", os.Getpid())))
		said := c.Output()
		if !strings.Contains(said, "at eth0, x0") && !strings.Contains(said, "at x0, eth0") {
			t.Errorf("it says %s", said)
		}
		r.remove("a1", "x0")
		c.AwaitLine("interface x0 has disappeared; remaining interfaces: eth0")
		r.remove("a1", "eth0")
		c.ends(t, "the interface has disappeared: eth0")
	})
}

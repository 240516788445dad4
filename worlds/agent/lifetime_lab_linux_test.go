//go:build lab

package agent_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/rtnl"
	"weir/internal/testkit/await"
	"weir/worlds/agent"
)

// TestAgent_LeavesCUBICAtItsEnd checks that for any end of an agent, its connections continue as CUBIC by themselves,
// it controls no new one, and no BPF object remains: at once if the connection sends, and else with the connection.
func TestAgent_LeavesCUBICAtItsEnd(t *testing.T) {
	for _, x := range []struct {
		name   string
		signal syscall.Signal
		sends  bool
	}{{"killed, a connection sends", syscall.SIGKILL, true}, {"killed, a connection is silent", syscall.SIGKILL, false},
		{"interrupted, a connection sends", syscall.SIGINT, true}} {
		t.Run(x.name, func(t *testing.T) {
			r := lay(t, short, 1)
			r.agent("b", agent.DefaultConfig())
			c := r.command("a1", "--interface", "eth0")
			holds := c.held(t)
			f := r.open("a1")
			if x.sends {
				f.send()
			} else {
				go f.drain()
				f.write(t, 1<<21)
			}
			await.AwaitCondition(t, "HPCC++", func() bool {
				is := strings.HasPrefix(r.controllerOf("a1"), agent.Controller)
				if !is && !x.sends {
					f.write(t, 1<<16) // it may have fallen silent as CUBIC, where the machine stood still
				}
				return is
			})
			at := time.Now()
			code := c.end(x.signal)
			if (code == 0) != (x.signal == syscall.SIGINT) {
				t.Errorf("exit code %d: %s", code, c.Output())
			}
			if x.sends {
				await.AwaitCondition(t, "CUBIC", func() bool { return r.controllerOf("a1") == "cubic" })
				t.Logf("CUBIC %v after the signal", time.Since(at).Round(time.Millisecond))
				came := f.came.Load()
				await.AwaitCondition(t, "data", func() bool { return f.came.Load() > came+1<<20 })
			} else {
				all := len(holds["prog"]) + len(holds["map"]) + len(holds["link"])
				await.AwaitCondition(t, "the end of what no connection holds", func() bool { return len(holds.left()) < all })
				if left := holds.left(); len(left) == 0 || !strings.HasPrefix(r.controllerOf("a1"), agent.Controller) {
					t.Errorf("a silent connection has %s and holds %v", r.controllerOf("a1"), left)
				}
				f.write(t, 1<<21) // and it can still send
				if c := r.controllerOf("a1"); c != "cubic" {
					t.Errorf("it has sent, and is %s", c)
				}
			}
			await.AwaitCondition(t, "the end of all BPF objects", func() bool { return len(holds.left()) == 0 })
			f.from.Close()
			f.to.Close()
			seen := capture(r.node)
			g := r.open("a1")
			g.send()
			await.AwaitCondition(t, "data", func() bool { return g.came.Load() > 1<<20 })
			if c := r.controllerOf("a1"); c != "cubic" {
				t.Errorf("a new connection is %s", c)
			}
			if b := seen.last(func(s *segment) bool { return s.trace != nil }); b != nil {
				t.Errorf("a trace: % x", b)
			}
		})
	}
}

// loopback enables the loopback interface of a host, for metrics.
func (r *rig) loopback(host string) {
	r.t.Helper()
	r.in(host, func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		return c.SetUp(1)
	})
}

// metrics returns the OpenMetrics response of a command at a host, with the header.
func (r *rig) metrics(host string, c *command) (page []byte) {
	r.t.Helper()
	at := regexp.MustCompile(`http://(\S+)/metrics`).FindStringSubmatch(c.Output())
	if at == nil {
		r.t.Fatal(c.Output())
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

// TestCommand_ShowsConnections checks that the command shows each connection with its window, U and bottleneck, in
// a table and as OpenMetrics.
func TestCommand_ShowsConnections(t *testing.T) {
	t.Run("weir agent", func(t *testing.T) { showsConnections(t, "") })
	t.Run("weir-agent", func(t *testing.T) {
		needAgent(t)
		showsConnections(t, await.RequireProgram(t, "cmd/weir-agent"))
	})
}

func showsConnections(t *testing.T, program string) {
	r := lay(t, short, 1)
	r.binary = program
	r.agent("b", agent.DefaultConfig())
	r.loopback("a1")
	c := r.command("a1", "--interface", "eth0", "--metrics", "[::1]:0", "--every", "50ms", "--eta", "90%", "--rtt", "4ms")
	f := r.open("a1")
	f.send()
	row := regexp.MustCompile(`\[fd09::2\]:\d+ +\[fd09::1\]:\d+ +weir_hpcc\d* +sender +[\d.]+k?B +[\d.]+[mu]?s +` +
		`\d\.\d{3} +1 of 3 `)
	await.AwaitCondition(t, "a row", func() bool { return row.MatchString(c.Output()) })
	page := r.metrics("a1", c)
	for _, want := range []string{`application/openmetrics-text`, `weir_agent_window_bytes{local="[fd09::2]:`,
		`side="sender"} `, `weir_agent_load_ratio{`, `weir_agent_bottleneck_hop{`, `weir_agent_traced_total{`, `# EOF`} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("metrics lack %s:\n%s", want, page)
		}
	}
	if code := c.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, c.Output())
	}
}

// TestAgent_ReadsTelemetryOfOwnSwitch checks that Weir's switch between the hosts writes telemetry that the agents
// read.
func TestAgent_ReadsTelemetryOfOwnSwitch(t *testing.T) {
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
	b, a := r.agent("b", agent.DefaultConfig()), r.agent("a1", agent.DefaultConfig())
	f := r.open("a1")
	f.send()
	following(t, a)
	await.AwaitCondition(t, "a load", func() bool {
		c := connections(t, b)[0]
		return c.ReceiverFeedback.Hops == 1 && c.ReceiverFeedback.Load > 0.5 && c.ReceiverFeedback.Load < 1.5 &&
			c.Measured > 500
	})
	if c := connections(t, a)[0]; c.SenderFeedback.Hops != 1 || c.SenderFeedback.Bottleneck != 1 || c.Refused > 0 {
		t.Errorf("%+v", c)
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s.Output())
	}
}

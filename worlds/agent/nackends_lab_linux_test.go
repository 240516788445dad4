//go:build lab

package agent_test

import (
	"bytes"
	"maps"
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
	"weir/worlds/agent"
)

// control gives a connection's sender a congestion control.
func (f *flow) control(t testing.TB, name string) {
	t.Helper()
	c, err := f.from.(*net.TCPConn).SyscallConn()
	if err == nil {
		c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) })
	}
	if err != nil {
		t.Skipf("no %s: %v", name, err)
	}
}

// TestNCFEnds checks that for any end of an agent while a connection is bounded, no part of it remains, though the
// connection is open. The connection has its own window again with the next arriving segment.
func TestNCFEnds(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			r := lay(t, path{Rate: 50e6, Back: 1e9, Delay: 5 * time.Millisecond, Buffer: 100}, 1)
			f := r.open("a1") // before the agent
			f.send()
			c := r.command("a1", "--interface", "eth0", "--follow", "ncf", "--nacks", "supply")
			holds := c.heldAtLeast(t, 1, 3, 1)
			await.AwaitCondition(t, "a window", func() bool { return f.came.Load() > 4<<20 })
			r.everyOne(unit.Kbps)
			await.AwaitCondition(t, "two segments", func() bool { return f.inFlight(t) <= 2 })
			at := time.Now()
			if code := c.end(signal); (code == 0) != (signal == syscall.SIGINT) {
				t.Errorf("exit code %d: %s", code, c.Output())
			}
			await.AwaitCondition(t, "a window of its own", func() bool { return f.inFlight(t) > 4 })
			t.Logf("a window of its own %v after the signal", time.Since(at))
			await.AwaitCondition(t, "the end of all BPF objects", func() bool { return len(holds.left()) == 0 })
			if name := r.controllerOf("a1"); name != "cubic" {
				t.Errorf("it has %s", name)
			}
			came := f.came.Load()
			await.AwaitCondition(t, "data", func() bool { return f.came.Load() > came+4<<20 })
		})
	}
}

// TestNCFCommand checks that the command shows NACKs and their bounds, in a table and as OpenMetrics, together with
// HPCC++.
func TestNCFCommand(t *testing.T) {
	r := lay(t, path{Rate: 50e6, Back: 1e9, Delay: 2 * time.Millisecond, Buffer: 100}, 1)
	r.loopback("a1")
	for _, follow := range []string{"ncf", "both"} {
		c := r.command("a1", "--interface", "eth0", "--follow", follow, "--nacks", "supply", "--metrics", "[::1]:0",
			"--every", "20ms")
		f := r.open("a1")
		f.send()
		r.everyOne(20 * unit.Mbps)
		row := regexp.MustCompile(`\[fd09::2\]:\d+ +\[fd09::1\]:\d+ +cubic +\d+ .* trimmed +[\d.]+[um]s +20Mbps +` +
			`[\d.]+k?B `)
		await.AwaitCondition(t, "a row", func() bool { return row.MatchString(c.Output()) })
		if has := strings.Contains(c.Output(), "bottleneck"); has != (follow == "both") {
			t.Errorf("--follow %s: %.2000s", follow, c.Output())
		}
		page := r.metrics("a1", c)
		for _, want := range []string{"weir_agent_stray_nacks_total 0", `weir_agent_nacks_taken_total{local="[fd09::2]:`,
			"weir_agent_nacks_refused_total{", "weir_agent_nacks_repeated_total{", "weir_agent_reductions_total{",
			"weir_agent_bounds_expired_total{", "weir_agent_windows_lowered_total{", "weir_agent_bound_bytes{",
			"weir_agent_supply_bits_per_second{", "weir_agent_rtt_seconds{", "# EOF"} {
			if !bytes.Contains(page, []byte(want)) {
				t.Errorf("metrics lack %s:\n%s", want, page)
			}
		}
		if code := c.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d: %s", code, c.Output())
		}
		f.from.Close()
	}
}

func (r *rig) counters(host string) (all map[string]int) {
	r.t.Helper()
	r.in(host, func() error { all = counters(r.t); return nil })
	return all
}

// TestNacksInTheKernel checks that a host without an agent discards a NACK as an old acknowledgement, without another
// effect. With an agent, an accepted NACK does not reach the kernel, and a refused one does.
func TestNacksInTheKernel(t *testing.T) {
	for _, x := range []struct {
		name    string
		agent   bool
		genuine bool
		old     int
	}{{"without an agent", false, true, 1}, {"taken", true, true, 0}, {"refused", true, false, 1}} {
		t.Run(x.name, func(t *testing.T) {
			realtime.Test(t, func(try *realtime.Try) {
				s := newStuck(try, agent.NacksLoss)
				if !x.agent {
					s.agent.Close()
				}
				// After the first timeout, state changes only at the next ones, each after twice the time.
				await.AwaitCondition(try, "a timeout", func() bool { return s.flow.info(try).Backoff > 0 })
				want := map[string]int{}
				if x.old > 0 {
					want["PAWSOldAck"], want["InSegs"] = 1, 1
				}
				b := nack(try, s.book, s.data[0], asItIs)
				if !x.genuine {
					b[notice(b)+6]++ // how much is gone
					sum(b)
				}
				info := s.flow.info(try)
				moved := s.moves(b, x.old > 0)
				is := s.flow.info(try)
				if is.Backoff != info.Backoff {
					try.NoteDisturbed("a timeout of the connection")
				}
				if !maps.Equal(moved, want) {
					try.Errorf("%v move, want %v", moved, want)
				}
				if is.Window != info.Window || is.Unacked != info.Unacked || is.Lost != info.Lost ||
					is.CAState != info.CAState || is.TotalRetrans != info.TotalRetrans {
					try.Errorf("the connection\n%+v\nbecomes\n%+v", info, is)
				}
			})
		})
	}
}

// moves makes a NACK arrive, and returns the counters of the kernel's TCP that change with it. Either the kernel
// gets the NACK, or it counts and ends at the agent.
func (s *stuck) moves(b []byte, kernel bool) map[string]int {
	s.t.Helper()
	counted := func() int { return s.counters("a1")["PAWSOldAck"] }
	if !kernel {
		counted = func() int { return int(s.state().Taken) }
	}
	before, known := s.counters("a1"), counted()
	s.pass(1, b)
	await.AwaitCondition(s.t, "its count", func() bool { return counted() > known })
	moved := map[string]int{}
	for name, v := range s.counters("a1") {
		if d := v - before[name]; d != 0 {
			moved[name] = d
		}
	}
	return moved
}

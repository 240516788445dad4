//go:build lab

package agent_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/sockdiag"
	"weir/internal/testkit/await"
	"weir/worlds/agent"
)

// resetLate restarts the measurement of the lateness of departing frames; maxLateness returns the result.
func (n *node) resetLate() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.late = 0
}

func (n *node) maxLateness() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.late)
}

// inject has frames leave by a port at once, in this order, ahead of all others.
func (n *node) inject(port int, frames ...[]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.injected[port] = append(n.injected[port], frames...)
}

// write writes n bytes and waits until they have arrived.
func (f *flow) write(t testing.TB, n int64) {
	t.Helper()
	want := f.came.Load() + n
	if _, err := f.from.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	await.AwaitCondition(t, "all data", func() bool { return f.came.Load() == want })
}

// connections returns the connections of an agent.
func connections(t testing.TB, a *agent.Agent) []agent.Connection {
	t.Helper()
	c, err := a.AppendConnections(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// following waits until a connection's sender follows the window that it receives.
func following(t testing.TB, a *agent.Agent) (c agent.Connection) {
	t.Helper()
	await.AwaitCondition(t, "a connection that follows", func() bool {
		for _, c = range connections(t, a) {
			if c.Following && c.SenderFeedback.Hops > 0 && c.SenderFeedback.Load > 0 {
				return true
			}
		}
		return false
	})
	return c
}

// controllerOf returns the congestion control of the single connection from a host.
func (r *rig) controllerOf(host string) (name string) {
	r.t.Helper()
	r.in(host, func() error {
		c, err := sockdiag.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		all, err := c.Dump(unix.AF_INET6, sockdiag.Filter{States: []sockdiag.TCPState{sockdiag.Established}})
		if err != nil || len(all) != 1 {
			return fmt.Errorf("%d connections: %w", len(all), err)
		}
		name = all[0].CongestionControl.String()
		return nil
	})
	return name
}

//go:build lab

package agent_test

import (
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
	"weir/worlds/agent"
)

// wire records the times of the last acknowledgement with a window that passed the node, and of the last one of any
// kind.
type wire struct {
	mu        sync.Mutex
	told, any time.Time
	gap       time.Duration // the longest between two since noted
}

func listen(n *node) *wire {
	w := &wire{}
	take := func(b []byte) {
		s, ok := segmentOf(b)
		if !ok || len(s.data) > 0 || s.flags&16 == 0 {
			return
		}
		now := time.Now()
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.any.IsZero() {
			w.gap = max(w.gap, now.Sub(w.any))
		}
		w.any = now
		if s.option(253) != nil {
			w.told = now
		}
	}
	n.watch.Store(&take)
	return w
}

// controller returns the kernel's congestion control of a connection's sender.
func (f *flow) controller(t testing.TB) (name string) {
	t.Helper()
	c, err := f.from.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	e := c.Control(func(fd uintptr) { name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION) })
	if e != nil || err != nil {
		t.Fatal(e, err)
	}
	return name
}

// fallen has the measured times of one fallback.
type fallen struct {
	after time.Duration // from the last telemetry at the sender until it was seen to be HPCC++'s the last time
	until time.Duration // and until CUBIC was seen; negative: before its agent was dead, and so could hear nothing
	hold  time.Duration // two round trips, 5 ms at the least and 100 ms at most
	late  time.Duration // how long the machine kept acknowledgements
}

// ending is a way in which telemetry ends.
type ending struct {
	name string
	host string // whose agent is killed; "": the switch is mute
}

// fall has telemetry end, and watches the connection until it is CUBIC's.
func fall(t testing.TB, p path, e ending) (x fallen) {
	r := lay(t, p, 1)
	var killed *command
	for _, host := range []string{"b", "a1"} {
		if host == e.host {
			killed = r.command(host, "--interface", "eth0", "--every", "0s")
		} else {
			r.agent(host, agent.DefaultConfig())
		}
	}
	w := listen(r.node)
	f := r.open("a1")
	f.send()
	controller := agent.Controller
	await.AwaitCondition(t, "HPCC++", func() bool {
		controller = f.controller(t)
		return len(controller) >= len(agent.Controller) && controller[:len(agent.Controller)] == agent.Controller
	})
	// Ten delays and 100 ms of the path's rate, with telemetry all the while.
	enough := f.came.Load() + int64((10*p.Delay+100*time.Millisecond).Seconds()*float64(p.Rate)/8)
	await.AwaitCondition(t, "data with telemetry", func() bool { return f.came.Load() > enough })
	if now := f.controller(t); now != controller {
		return fallen{late: time.Hour, after: 2 * time.Hour} // it fell already: telemetry stood still
	}
	r.node.resetLate()
	w.mu.Lock()
	w.gap = 0
	w.mu.Unlock()
	rtt := f.info(t).RTT
	if killed == nil {
		r.node.mute.Store(true)
	} else {
		killed.Signal(syscall.SIGKILL)
	}
	var hpcc, cubic, dead time.Time // when it was last seen as the one, first as the other, and the agent's end
	for end := time.Now().Add(await.HangLimit); cubic.IsZero(); time.Sleep(100 * time.Microsecond) {
		at := time.Now()
		if killed != nil && dead.IsZero() && !killed.IsRunning() {
			dead = at
		}
		switch now := f.controller(t); {
		case now == "cubic":
			cubic = time.Now()
		case at.After(end):
			t.Fatalf("%s: CUBIC does not come", e.name)
		default:
			hpcc, rtt = at, max(rtt, f.info(t).RTT)
		}
	}
	came := f.came.Load()
	x.late = r.node.maxLateness()
	w.mu.Lock()
	last := w.told.Add(p.Delay) // when it was at the sender
	x.late += w.gap
	w.mu.Unlock()
	if e.host == "a1" {
		killed.AwaitExit()
		if last = dead; dead.IsZero() { // it heard nothing later
			last = time.Now()
		}
	}
	x.hold = min(max(2*time.Duration(rtt/unit.Nanosecond), 5*time.Millisecond), 100*time.Millisecond)
	x.after, x.until = max(hpcc.Sub(last), 0), cubic.Sub(last)
	await.AwaitCondition(t, "data", func() bool { return f.came.Load() > came+1<<19 })
	return x
}

// TestFallbackInTime checks that without telemetry a connection continues as CUBIC: two round trips after the last at
// the sender, at least 5 ms and at most 100 ms, for silent switches and for a killed agent of either end. It measures
// the machine's share: how late frames are sent, and how long no acknowledgement arrives that could give the kernel the
// time.
func TestFallbackInTime(t *testing.T) {
	for _, delay := range []time.Duration{500 * time.Microsecond, 5 * time.Millisecond, 35 * time.Millisecond} {
		p := short
		p.Delay = delay
		for _, e := range []ending{{name: "mute switches"}, {name: "receiver's agent killed", host: "b"},
			{name: "sender's agent killed", host: "a1"}} {
			t.Run(fmt.Sprintf("%v %s", 2*delay, e.name), func(t *testing.T) {
				realtime.Test(t, func(try *realtime.Try) {
					x := fall(try, p, e)
					disturbing := max(3*time.Millisecond, x.hold/4)
					if x.late > disturbing {
						try.NoteDisturbed(fmt.Sprintf("frames or acknowledgements %v late", x.late))
					}
					if x.after > x.hold+min(x.late, disturbing) {
						try.Errorf("HPCC++ until %v, CUBIC by %v after the last telemetry; at most %v are allowed, and %v that the "+
							"machine was late", x.after.Round(10*time.Microsecond), x.until.Round(10*time.Microsecond), x.hold, x.late)
					}
				})
			})
		}
	}
}

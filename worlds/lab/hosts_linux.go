package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/ring"
	"weir/worlds/live"
)

// hostsStart is the first input line of the process of Weir's own hosts.
type hostsStart struct {
	Namespaces []string // by node; "" without an own host
	Epoch      int64    // CLOCK_MONOTONIC of time 0, in ns
	Duty       live.Duty
}

// hostsEnd is the last output line of that process.
type hostsEnd struct {
	HostsReport
	Result any
}

// ServeHosts runs the process of Weir's own hosts. It reads a hostsStart line from control, writes a line when it is
// ready, and runs until the flows end or the other end closes control. Then it writes a HostsReport with the flows'
// results to out, and the capture to its file. It locks the calling thread permanently, and switches off regular
// garbage collection. Network.StartHosts starts it.
func ServeHosts(c *HostsConfig, control *os.File, out io.Writer) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	var w hostsStart
	if err := readLine(control, &w); err != nil {
		return fmt.Errorf("lab: hosts: %w", err)
	}
	clock := &live.Clock{}
	gates := make([]live.Gate, len(w.Namespaces))
	var rings []*live.RingGate
	mtu := c.MTU
	if mtu == 0 {
		mtu = DefaultMTU
	}
	for node, name := range w.Namespaces {
		if name == "" {
			continue
		}
		var socket *ring.Socket
		err := netns.Do(name, func() (err error) {
			socket, err = ring.Open(ring.Config{Interface: NIC, MaxFrame: mtu + packet.EthernetHeader, Rx: live.RxSlots,
				Tx: live.TxSlots})
			return err
		})
		if err != nil {
			return fmt.Errorf("lab: hosts: %w", err)
		}
		defer socket.Close()
		g := live.NewRingGate(socket, c.Network.Nodes[node].Name, clock)
		gates[node], rings = g, append(rings, g)
	}
	s, result, err := c.newHostIO(gates, clock.Now)
	if err != nil {
		return fmt.Errorf("lab: hosts: %w", err)
	}
	if c.Capture != nil { // fail now if the capture cannot be written
		if err := c.Capture.createFile(); err != nil {
			return fmt.Errorf("lab: hosts: %w", err)
		}
	}
	granted := w.Duty.Apply()
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_THREAD, &before)
	waited := runDelay()
	if err := clock.Start(); err != nil {
		return fmt.Errorf("lab: hosts: %w", err)
	}
	began := time.Now()
	clock.Shift(w.Epoch)
	if err := json.NewEncoder(out).Encode(ready{clock.Epoch()}); err != nil {
		return fmt.Errorf("lab: hosts: %w", err)
	}
	if err := s.drive(clock, rings, int(control.Fd())); err != nil {
		return fmt.Errorf("lab: hosts: %w", err)
	}
	r := s.buildReport(unit.Time(time.Since(began)) * unit.Nanosecond)
	unix.Getrusage(unix.RUSAGE_THREAD, &after)
	r.Waited = runDelay() - waited
	r.Steps, r.Scheduling = clock.StepCount(), granted
	r.CPU = float64(after.Utime.Nano()+
		after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / (r.Wall.Seconds() * 1e9)
	for _, g := range rings {
		if err := g.CountErr(); err != nil {
			return fmt.Errorf("lab: hosts: %w", err)
		}
	}
	r.Captured, _ = s.saveCapture(c) // the error is in the report
	return json.NewEncoder(out).Encode(hostsEnd{r, result()})
}

// drive runs the hosts in real time until they are done, fail, or control is closed, and returns their error.
func (s *hostIO) drive(clock *live.Clock, rings []*live.RingGate, control int) error {
	poller := live.NewPoller(clock, rings, control, -1)
	for {
		if now := clock.Read(); now >= 0 && !s.step(now) {
			return s.Err
		}
		if _, closed, err := poller.Wait(max(s.nextStep(), 0)); closed || err != nil {
			return err
		}
	}
}

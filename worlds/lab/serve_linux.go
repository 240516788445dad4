package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/ring"
)

// places is where the data plane finds its hosts: the first line that it reads.
type places struct {
	Namespace  string
	Interfaces []string // by node; none for switches
	Cables     []cable
	Duty       duty
}

// ready is the first line that the data plane writes, when its rings are open.
type ready struct {
	Epoch int64 // CLOCK_MONOTONIC of event time 0, in ns
}

// Slots of rings: 4096 frames are 50 ms of a gigabit.
const (
	rxSlots = 4096
	txSlots = batch
)

// memoryLimit is when the data plane collects garbage all the same.
const memoryLimit = 1 << 30

// Serve is the data plane's process: it reads from control where its hosts are, runs
// until control is closed at the other end, and writes its Report. It never returns the
// thread that it runs on. Whoever made the network (Open) starts it (Network.Start).
func Serve(c *Config, control *os.File, out io.Writer) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	var w places
	if err := readLine(control, &w); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	if len(w.Interfaces) != len(c.Network.Nodes) {
		return fmt.Errorf("lab: data plane: interfaces of %d nodes for %d", len(w.Interfaces), len(c.Network.Nodes))
	}
	if err := netns.Enter(w.Namespace); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	clock := &wallClock{}
	gates, rings, err := w.open(c, clock)
	for _, g := range rings {
		defer g.Close()
	}
	if err != nil {
		return err
	}
	d, err := c.build(gates, clock.now)
	if err != nil {
		return err
	}
	cables, err := watch(w.Cables)
	if err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	defer cables.close()
	for _, x := range w.Cables {
		d.carried(x.Link)
	}
	var captured *os.File
	if c.Capture != nil {
		if captured, err = os.Create(c.Capture.File); err != nil {
			return fmt.Errorf("lab: capture: %w", err)
		}
		defer captured.Close()
	}
	got := w.Duty.take()
	stolen, all := cpuTimes()
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_THREAD, &before)
	waited := runDelay()
	if err := clock.start(); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	if err := json.NewEncoder(out).Encode(ready{clock.epoch}); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	if err := d.run(clock, rings, cables, int32(control.Fd())); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	r := d.report(clock.now())
	unix.Getrusage(unix.RUSAGE_THREAD, &after)
	r.Waited = runDelay() - waited
	r.Epoch, r.Steps, r.Scheduling = clock.epoch, clock.steps, got
	r.CPU = float64(after.Utime.Nano()+
		after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / (r.Wall.Seconds() * 1e9)
	if s, a := cpuTimes(); a > all {
		r.Steal = float64(s-stolen) / float64(a-all)
	}
	for _, g := range rings {
		if g.failed != nil {
			return fmt.Errorf("lab: data plane: %w", g.failed)
		}
	}
	if captured != nil {
		if r.Captured, err = d.writeCapture(captured, d.done); err == nil {
			err = captured.Close()
		}
		if err != nil { // the run is a measurement all the same
			r.Captured.Error = err.Error()
		}
	}
	return json.NewEncoder(out).Encode(r)
}

// open opens the rings of the hosts' gates, by node.
func (w *places) open(c *Config, clock *wallClock) (gates []Gate, rings []*ringGate, err error) {
	gates = make([]Gate, len(w.Interfaces))
	for i, name := range w.Interfaces {
		if c.Network.Nodes[i].Switch {
			continue
		}
		s, err := ring.Open(ring.Config{Interface: name, MaxFrame: c.mtu() + packet.EthernetHeader, Rx: rxSlots, Tx: txSlots})
		if err != nil {
			return nil, rings, fmt.Errorf("lab: host %s: %w", c.Network.Nodes[i].Name, err)
		}
		g := &ringGate{Socket: s, host: c.Network.Nodes[i].Name, clock: clock}
		gates[i], rings = g, append(rings, g)
	}
	return gates, rings, nil
}

// readLine reads one line of JSON, byte by byte: what follows it is for others.
func readLine(f *os.File, to any) error {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(f, b); err != nil {
			return err
		}
		if b[0] == '\n' {
			return json.Unmarshal(line, to)
		}
		line = append(line, b[0])
	}
}

// run drives the plane as time goes by, until control is closed.
func (d *plane) run(clock *wallClock, rings []*ringGate, cables *carriers, control int32) error {
	rest := newRest(clock, rings, control, cables.fd())
	for look := true; ; {
		if err := d.step(clock.read()); err != nil {
			return err
		}
		if look {
			if err := cables.look(d); err != nil {
				return err
			}
		}
		more, closed, err := rest.until(d.next())
		if closed || err != nil {
			return err
		}
		look = more
	}
}

// ringGate is a socket as the plane's gate.
type ringGate struct {
	*ring.Socket
	host   string // whose frames come by it
	clock  *wallClock
	failed error
}

// Stamp translates the kernel's stamp into event time.
func (g *ringGate) Stamp() unit.Time {
	ns, ok := g.Socket.Stamp()
	if !ok {
		return unit.Never
	}
	return g.clock.event(ns)
}

// Counts adds what the socket has counted.
func (g *ringGate) Counts() GateCounts {
	c, err := g.Socket.Counts()
	if err != nil {
		g.failed = errors.Join(g.failed, err)
	}
	return GateCounts{Received: c.Received, RingLost: c.Lost, TooLong: c.TooLong, Partial: c.Partial, Tagged: c.Tagged}
}

// wallClock is event time by CLOCK_MONOTONIC, and what CLOCK_REALTIME, by which the kernel
// stamps frames, is ahead of it. That changes only when somebody sets the clock: both are
// slewed alike.
type wallClock struct {
	base  time.Time
	epoch int64     // CLOCK_MONOTONIC at base
	ahead int64     // ns
	last  unit.Time // of read
	steps int
}

// stepFrom is the least jump of the clock that counts as one: less may be the time
// between two readings.
const stepFrom = 100_000 // ns

func (w *wallClock) start() error {
	var t unix.Timespec
	for try := 0; ; try++ {
		w.base = time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
			return os.NewSyscallError("clock_gettime", err)
		}
		if time.Since(w.base) < 5*time.Microsecond || try == 100 { // else something came in between
			break
		}
	}
	w.epoch = t.Nano()
	w.ahead = w.measure()
	return nil
}

// now is the event time.
func (w *wallClock) now() unit.Time { return unit.Time(time.Since(w.base)) * unit.Nanosecond }

func (w *wallClock) measure() int64 {
	t := time.Now()
	return t.UnixNano() - int64(t.Sub(w.base))
}

// read is now, and looks whether the clock was set since the last time.
func (w *wallClock) read() unit.Time {
	t := time.Now()
	mono := t.Sub(w.base)
	if jump := t.UnixNano() - int64(mono) - w.ahead; jump > stepFrom || jump < -stepFrom {
		w.step()
	}
	w.last = unit.Time(mono) * unit.Nanosecond
	return w.last
}

// step counts a step of the clock, if there was one: two readings with no frame between them must agree.
func (w *wallClock) step() {
	a := w.measure()
	for range 10 {
		b := w.measure()
		if d := a - b; d < stepFrom && -d < stepFrom {
			if d := b - w.ahead; d > stepFrom || d < -stepFrom {
				w.ahead = b
				w.steps++
			}
			return
		}
		a = b
	}
}

// future is how much later than now a frame can have come in: one with a later stamp has it
// from before the clock was set back.
const future = 10 * unit.Millisecond

// event translates a stamp. What was before event time 0 is 0, and what is in the future is the
// last reading; which is looked at anew, since the thread may have stood still after it.
func (w *wallClock) event(realtime int64) unit.Time {
	at := realtime - w.ahead
	if at < 0 {
		return 0
	}
	if at > int64((w.last+future)/unit.Nanosecond) && at > int64((w.now()+future)/unit.Nanosecond) {
		return w.last
	}
	return unit.Time(at) * unit.Nanosecond
}

// cpuTimes is the stolen time, and all time, of all cores so far (proc(5)); 0 if the kernel does not
// report it.
func cpuTimes() (stolen, all uint64) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return parseCPU(line)
}

func parseCPU(line string) (stolen, all uint64) {
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, 0
	}
	for i, s := range f[1:9] { // what follows is within user and nice
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, 0
		}
		if all += n; i == 7 {
			stolen = n
		}
	}
	return stolen, all
}

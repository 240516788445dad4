package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/internal/netns"
	"weir/internal/ring"
	"weir/worlds/live"
)

// places is where the data plane finds its hosts: the first line that it reads.
type places struct {
	Namespace  string
	Interfaces []string // by node; none for switches
	Cables     []cable
	Duty       live.Duty
}

// ready is the first line that the data plane writes, when its rings are open.
type ready struct {
	Epoch int64 // CLOCK_MONOTONIC of event time 0, in ns
}

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
	if len(w.Interfaces) != len(c.Wiring.Network.Nodes) {
		return fmt.Errorf("lab: data plane: interfaces of %d nodes for %d", len(w.Interfaces), len(c.Wiring.Network.Nodes))
	}
	if err := netns.Enter(w.Namespace); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	clock := &live.Clock{}
	gates, rings, err := w.open(c, clock)
	for _, g := range rings {
		defer g.Close()
	}
	if err != nil {
		return err
	}
	d, err := c.build(gates, clock.Now)
	if err != nil {
		return err
	}
	cables, err := watch(w.Cables)
	if err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	defer cables.close()
	for _, x := range w.Cables {
		d.followCarrier(x.Link)
	}
	var captured *os.File
	if c.Capture != nil {
		if captured, err = os.Create(c.Capture.File); err != nil {
			return fmt.Errorf("lab: capture: %w", err)
		}
		defer captured.Close()
	}
	got := w.Duty.Take()
	stolen, all := cpuTimes()
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_THREAD, &before)
	waited := runDelay()
	if err := clock.Start(); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	if err := json.NewEncoder(out).Encode(ready{clock.Epoch()}); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	read := func() error { return cables.read(d) }
	if err := d.Drive(clock, rings, int(control.Fd()), cables.fd(), read); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	r := d.report(clock.Now())
	unix.Getrusage(unix.RUSAGE_THREAD, &after)
	r.Waited = runDelay() - waited
	r.Epoch, r.Steps, r.Scheduling = clock.Epoch(), clock.Steps(), got
	r.CPU = float64(after.Utime.Nano()+
		after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / (r.Wall.Seconds() * 1e9)
	if s, a := cpuTimes(); a > all {
		r.Steal = float64(s-stolen) / float64(a-all)
	}
	for _, g := range rings {
		if err := g.CountErr(); err != nil {
			return fmt.Errorf("lab: data plane: %w", err)
		}
	}
	if captured != nil {
		if r.Captured, err = d.writeCapture(captured, d.Done()); err == nil {
			err = captured.Close()
		}
		if err != nil { // the run is a measurement all the same
			r.Captured.Error = err.Error()
		}
	}
	return json.NewEncoder(out).Encode(r)
}

// open opens the rings of the hosts' gates, by node.
func (w *places) open(c *Config, clock *live.Clock) (gates []live.Gate, rings []*live.RingGate, err error) {
	gates = make([]live.Gate, len(w.Interfaces))
	for i, name := range w.Interfaces {
		if c.Wiring.Network.Nodes[i].Switch {
			continue
		}
		s, err := ring.Open(ring.Config{Interface: name, MaxFrame: c.mtu() + packet.EthernetHeader, Rx: live.RxSlots,
			Tx: live.TxSlots})
		if err != nil {
			return nil, rings, fmt.Errorf("lab: host %s: %w", c.Wiring.Network.Nodes[i].Name, err)
		}
		g := live.NewRingGate(s, c.Wiring.Network.Nodes[i].Name, clock)
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

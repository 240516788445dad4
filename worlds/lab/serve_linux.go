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

// planeStart is the first input line of the data plane's process.
type planeStart struct {
	Namespace  string
	Interfaces []string // by node; "" for switches
	Cables     []cable
	Duty       live.Duty
}

// ready is the first output line of the data plane, sent when its rings are open.
type ready struct {
	Epoch int64 // CLOCK_MONOTONIC of event time 0, in ns
}

// memoryLimit is the heap size in bytes at which the data plane collects garbage.
const memoryLimit = 1 << 30

// Serve runs the data plane's process. It reads a planeStart line from control, writes a line when it is ready, and
// runs until the other end closes control. Then it writes its Report to out, and the capture to its file. It locks the
// calling thread permanently in the data plane's namespace, and switches off regular garbage collection. Network.Start
// starts it.
func Serve(c *Config, control *os.File, out io.Writer) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	var w planeStart
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
	gates, rings, err := w.openRings(c, clock)
	for _, g := range rings {
		defer g.Close()
	}
	if err != nil {
		return err
	}
	d, err := c.buildPlane(gates, clock.Now)
	if err != nil {
		return err
	}
	cables, err := watchCables(w.Cables)
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
	granted := w.Duty.Apply()
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
	read := func() error { return cables.applyChanges(d) }
	if err := d.Drive(clock, rings, int(control.Fd()), cables.descriptor(), read); err != nil {
		return fmt.Errorf("lab: data plane: %w", err)
	}
	r := d.buildReport(clock.Now())
	unix.Getrusage(unix.RUSAGE_THREAD, &after)
	r.Waited = runDelay() - waited
	r.Epoch, r.Steps, r.Scheduling = clock.Epoch(), clock.StepCount(), granted
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
		if err != nil { // the run is still a valid measurement
			r.Captured.Error = err.Error()
		}
	}
	return json.NewEncoder(out).Encode(r)
}

// openRings opens the rings of the hosts' gates, by node. rings holds the opened ones, also after an error; the
// caller closes them.
func (w *planeStart) openRings(c *Config, clock *live.Clock) (gates []live.Gate, rings []*live.RingGate, err error) {
	gates = make([]live.Gate, len(w.Interfaces))
	for i, name := range w.Interfaces {
		if c.Wiring.Network.Nodes[i].Switch {
			continue
		}
		s, err := ring.Open(ring.Config{Interface: name, MaxFrame: c.effectiveMTU() + packet.EthernetHeader, Rx: live.RxSlots,
			Tx: live.TxSlots})
		if err != nil {
			return nil, rings, fmt.Errorf("lab: host %s: %w", c.Wiring.Network.Nodes[i].Name, err)
		}
		g := live.NewRingGate(s, c.Wiring.Network.Nodes[i].Name, clock)
		gates[i], rings = g, append(rings, g)
	}
	return gates, rings, nil
}

// readLine decodes one line of JSON into value. It reads byte by byte, so that later data stays in the file.
func readLine(f *os.File, value any) error {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(f, b); err != nil {
			return err
		}
		if b[0] == '\n' {
			return json.Unmarshal(line, value)
		}
		line = append(line, b[0])
	}
}

// cpuTimes returns the stolen and total time of all cores since boot (proc(5)), in the kernel's ticks for users; 0 if
// the kernel does not report them.
func cpuTimes() (stolen, all uint64) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return parseCPU(line)
}

// parseCPU parses the line cpu of /proc/stat; 0 if it is malformed.
func parseCPU(line string) (stolen, all uint64) {
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, 0
	}
	for i, s := range f[1:9] { // later fields are included in user and nice
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

package softswitch

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/ring"
	"weir/worlds/live"
	"weir/worlds/switch/control"
	"weir/worlds/switch/frames"
)

// ringConfig returns the configuration of the rings of a port's socket.
func ringConfig(name string, maxFrame int) ring.Config {
	return ring.Config{Interface: name, MaxFrame: maxFrame, Rx: live.RxSlots, Tx: live.TxSlots, Tags: true,
		Promiscuous: true}
}

// memoryLimit is the heap size in bytes at which the data plane collects garbage. It allocates hardly any.
const memoryLimit = 512 << 20

// drainFor limits the time for waiting frames to depart when the switch stops.
const drainFor = unit.Second

// bypassDrain is drainFor with a bypass, since its traffic waits for the end of the switch.
const bypassDrain = 400 * unit.Millisecond

// Niceness is the data plane's niceness if permitted.
const Niceness = -10

// loop is the running data plane. Only the driver's thread may use its non-atomic fields.
type loop struct {
	driver *live.BridgeDriver
	plane
	ports        []*tm.Port
	shared       *control.SharedCounters
	out          *json.Encoder
	samples      sampler
	reloads      uint64
	drain        unit.Time // time for waiting frames to depart at the end
	reportedDown bool      // a port's interface was down at the last check

	event   int // eventfd by which the other goroutine wakes the thread
	next    atomic.Pointer[decoded]
	publish atomic.Bool
	stop    atomic.Bool
}

// decoded is the result of decoding the file again.
type decoded struct {
	config *Config
	err    error
}

// Serve runs the data plane's process. The supervisor's first request on requests names its sockets. Serve carries
// frames until a request stops it or requests ends, and writes replies to out. It needs no capability and locks
// its thread permanently.
func Serve(known Schemes, requests io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(requests, 1<<16)
	first, err := control.ReadRequest(lines)
	if err == nil && first.Do != control.DoBegin {
		err = fmt.Errorf("the first request is %q", first.Do)
	}
	if err != nil {
		return fmt.Errorf("data plane: %w", err)
	}
	l := &loop{out: json.NewEncoder(out), drain: drainFor}
	if first.Bypass {
		l.drain = bypassDrain
	}
	if l.config, err = Decode(known, first.File, first.Data); err != nil {
		return err
	}
	memory, err := unix.Mmap(first.Page, 0, int(control.SharedBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("data plane: shared page: %w", err)
	}
	l.shared = control.MapCounters(memory)
	var sockets []*ring.Socket
	maxFrame := 0
	for _, x := range first.Sockets {
		s, err := ring.Attach(ringConfig(x.Port, x.MaxFrame), x.FD)
		if err != nil {
			return fmt.Errorf("data plane: %w", err)
		}
		sockets, maxFrame = append(sockets, s), max(maxFrame, x.MaxFrame)
		l.config.mtus = append(l.config.mtus, x.MaxFrame-packet.EthernetHeader)
	}
	var seed [8]byte
	if _, err := unix.Getrandom(seed[:], 0); err != nil {
		return fmt.Errorf("data plane: %w", err)
	}
	l.users = frames.NewUsers(&l.config.Users, binary.BigEndian.Uint64(seed[:]))
	l.refusals = frames.NewRefusals(l.config.Framing, len(l.config.Ports))
	l.users.OnReassign = func(a packet.Addr) { evictAddress(l.running, l.ports, a) }
	if l.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("data plane: %w", err)
	}
	unix.Setpriority(unix.PRIO_PROCESS, 0, Niceness) // without permission, the lateness shows it
	c := l.config.bridgeConfig(binary.BigEndian.Uint64(seed[:]), maxFrame+frames.MaxTagged, l.users,
		func(site *dataplane.Site) (all []dataplane.Program, err error) {
			l.ports = site.At
			l.running, _, err = replacePrograms(0, site, nil, l.config.Programs)
			return listPrograms(l.running, l.refusals), err
		})
	if l.driver, err = live.OpenBridge(c, sockets, memoryLimit); err != nil {
		return fmt.Errorf("data plane: %w", err)
	}
	l.bridge = l.driver.Bridge
	unconfined := control.ConfineDataPlane()
	if err := l.out.Encode(control.Reply{Is: control.IsBegun}); err != nil {
		return fmt.Errorf("data plane: %w", err)
	}
	for _, w := range control.FilterWarnings("data plane", unconfined) {
		l.out.Encode(control.Reply{Is: control.IsNote, Text: w.Line()})
	}
	go l.receiveRequests(known, lines)
	return l.carryFrames()
}

// receiveRequests receives requests in its own goroutine, decodes them, and passes them to the data plane's thread.
// The end of the requests stops the data plane.
func (l *loop) receiveRequests(known Schemes, lines *bufio.Reader) {
	for {
		o, err := control.ReadRequest(lines)
		switch {
		case err != nil || o.Do == control.DoStop:
			l.stop.Store(true)
		case o.Do == control.DoPublish:
			l.publish.Store(true)
		case o.Do == control.DoReload:
			c, err := Decode(known, o.File, o.Data)
			l.next.Store(&decoded{c, err})
		}
		wake := [8]byte{7: 1}
		unix.Write(l.event, wake[:])
		if err != nil {
			return
		}
	}
}

// carryFrames carries frames and handles requests until the switch must stop, and then drains the queues. While an
// interface is down it waits; other failures of sockets are errors.
func (l *loop) carryFrames() error {
	for {
		err := l.driver.Run(l.event)
		if err != nil {
			switch {
			case errors.Is(err, unix.ENXIO): // error of a frame that was to depart there
				return fmt.Errorf("data plane: the interface of a port has disappeared: %w", err)
			case !errors.Is(err, unix.ENETDOWN):
				return fmt.Errorf("data plane: %w", err)
			}
			if !l.reportedDown { // report it once
				l.reportedDown = true
				l.out.Encode(control.Reply{Is: control.IsNote, Text: fmt.Sprintf("the interface of a port is down: %v", err)})
			}
			// Until it is up again, only requests can arrive.
			timeout := unix.NsecToTimespec(1e6)
			unix.Ppoll(nil, &timeout, nil)
		} else {
			l.reportedDown = false
		}
		var count [8]byte
		unix.Read(l.event, count[:])
		if x := l.next.Swap(nil); x != nil {
			l.applyReload(x)
		}
		if l.publish.Swap(false) {
			l.publishCounters()
		}
		if l.stop.Load() {
			remaining, err := l.driver.Drain(l.drain)
			l.publishCounters()
			if err != nil {
				return fmt.Errorf("data plane: %w", err)
			}
			return l.out.Encode(control.Reply{Is: control.IsStopped, Left: remaining})
		}
	}
}

// applyReload changes to the configuration of a decoded file and replies with the result. After an error the old
// configuration remains. It counts successful reloads.
func (l *loop) applyReload(x *decoded) {
	var notes []string
	err := x.err // the supervisor has decoded the same file
	if err == nil {
		notes, err = l.plane.reload(l.driver.Now(), x.config)
	}
	if err != nil {
		l.out.Encode(control.Reply{Is: control.IsRefused, Text: err.Error()}.Shorten())
		return
	}
	l.reloads++
	l.out.Encode(control.Reply{Is: control.IsReloaded, Notes: notes}.Shorten())
}

// publishCounters writes the counters to the shared memory without allocation. Only the driver's thread may call it.
func (l *loop) publishCounters() {
	b, c := l.driver, l.shared.Begin()
	defer l.shared.End()
	c.At, c.Reloads = b.Now(), l.reloads
	for i := range l.config.Ports {
		to, port, gate := &c.Ports[i], b.Port(i), b.GateCounts(i)
		to.In, to.InBytes = b.Received(i)
		to.Out, to.OutBytes = port.TxPackets(), port.TxBytes()
		to.Drops = b.PortDrops(i)
		to.Queue, to.QueueBytes = uint64(port.Packets()), uint64(port.Bytes())
		to.Ring, to.RingLost, to.TooLong, to.Partial = gate.Received, gate.RingLost, gate.TooLong, gate.Partial
	}
	c.Drops = b.Drops()
	n := b.Counts()
	c.Unsent, c.Unwritable, c.Runts = n.SendLost, n.Unwritable, n.NonIP
	c.Waiting, c.Stall = uint64(b.WaitingPackets()), b.Stall()
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &usage) == nil {
		c.CPU = unit.Time(usage.Utime.Nano()+usage.Stime.Nano()) * unit.Nanosecond
	}
	late := b.LatenessHistogram()
	c.Late, c.LateSum = late.Count(), late.Sum()
	late.CountUpTo(control.LatenessBounds[:], c.LateTo[:])
	c.Known, c.Forgotten, c.Samples = l.users.Known, l.users.Forgotten, 0
	for i := range l.running {
		l.samples.addSamples(c.At, &l.running[i], c)
	}
}

// OpenSocket opens a port's packet socket for the data plane, at interface name and for frames of up to maxFrame
// bytes without tags. It requires CAP_NET_RAW.
func OpenSocket(name string, maxFrame int) (*ring.Socket, error) {
	return ring.Open(ringConfig(name, maxFrame))
}

//go:build lab || slow

package agent_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/ring"
)

// path is the network between hosts: a switch with a port for each, where port 0 is the receiver's. It is written
// for these tests from RFC 9197 and draft-miao §6.1, and shares no code with the programs or with Weir's switch.
type path struct {
	Rate      int64         // bit/s of the receiver's port
	Back      int64         // and of the others
	Delay     time.Duration // of every frame, behind its port
	Buffer    int           // frames at the receiver's port
	Lossy     int           // of so many frames every other of the first three is lost; 0: none
	Telemetry int           // how many hops write a record: the port is the first, the others have twice its rate
}

// node is a running path.
type node struct {
	path
	mute    atomic.Bool                  // it writes no records
	cut     atomic.Bool                  // nothing reaches the receiver
	watch   atomic.Pointer[func([]byte)] // sees every frame that comes in
	ports   []*outlet
	sockets []*ring.Socket
	stop    [2]int
	done    chan error
	mu      sync.Mutex
	spare   [][]byte

	injected map[int][][]byte
	passed   int   // to the receiver
	late     int64 // the most that a frame has left late, ns
}

// outlet is an egress port: a queue, and the frames in flight behind it.
type outlet struct {
	rate, free   int64 // bit/s; when the last frame has left, ns
	buffer       int
	waiting, out []frame
	sent         uint64
	drops        int
	samples      []int32 // frames that wait, each ms
	bytes        []uint64
	next         int64
}

type frame struct {
	b  []byte
	at int64 // arrival at the queue; or when it is at the other end
}

const everyMS = 1_000_000

// newNode opens sockets on the interfaces of the calling thread's namespace.
func newNode(p path, interfaces ...string) (*node, error) {
	n := &node{path: p, done: make(chan error, 1), injected: map[int][][]byte{}}
	for i, name := range interfaces {
		s, err := ring.Open(ring.Config{Interface: name, MaxFrame: 1514, Rx: 4096, Tx: 256, Promiscuous: true})
		if err != nil {
			return nil, err
		}
		n.sockets = append(n.sockets, s)
		o := &outlet{rate: p.Back, buffer: 1 << 20}
		if i == 0 {
			o.rate, o.buffer = p.Rate, p.Buffer
		}
		n.ports = append(n.ports, o)
	}
	return n, unix.Pipe2(n.stop[:], unix.O_CLOEXEC)
}

// forwardPackets forwards packets until a byte arrives on the stop pipe.
func (n *node) forwardPackets() error {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	unix.Setpriority(unix.PRIO_PROCESS, 0, -19) // of this thread
	polled := []unix.PollFd{{Fd: int32(n.stop[0]), Events: unix.POLLIN}}
	for _, s := range n.sockets {
		polled = append(polled, unix.PollFd{Fd: int32(s.FD()), Events: unix.POLLIN})
	}
	for {
		var ts unix.Timespec
		unix.ClockGettime(unix.CLOCK_REALTIME, &ts)
		now := ts.Nano()
		n.mu.Lock()
		next, err := n.step(now)
		n.mu.Unlock()
		if err != nil {
			return err
		}
		wait := unix.NsecToTimespec(min(max(next-now, 1), 20*everyMS))
		if _, err := unix.Ppoll(polled, &wait, nil); err != nil && err != unix.EINTR {
			return err
		}
		if polled[0].Revents != 0 {
			return nil
		}
	}
}

// step executes all events that are due at now, in the order of time, and returns the time of the next one.
func (n *node) step(now int64) (next int64, err error) {
	for port, frames := range n.injected {
		for _, b := range slices.Backward(frames) {
			n.ports[port].out = slices.Insert(n.ports[port].out, 0, frame{b, now})
		}
		n.injected[port] = nil
	}
	for {
		first, at := -1, now
		for i, s := range n.sockets {
			if stamp, ok := s.NextArrival(); ok && stamp <= at {
				first, at = i, stamp
			}
		}
		if first < 0 {
			break
		}
		var b []byte
		if k := len(n.spare); k > 0 {
			b, n.spare = n.spare[k-1][:0], n.spare[:k-1]
		}
		n.came(first, n.sockets[first].Take(b), at)
	}
	next = now + 100*everyMS
	for i, o := range n.ports {
		n.serve(i, now)
		s, due := n.sockets[i], 0
		if len(o.out) > 0 {
			n.late = max(n.late, now-o.out[0].at)
		}
		for due < len(o.out) && o.out[due].at <= now && s.Put(o.out[due].b) {
			due++
		}
		for err := s.Flush(); err != nil; err = s.Flush() {
			if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.ENOBUFS) {
				return 0, err
			}
		}
		for _, f := range o.out[:due] {
			n.spare = append(n.spare, f.b)
		}
		if o.out = o.out[due:]; len(o.out) > 0 {
			next = min(next, o.out[0].at)
		}
		if len(o.waiting) > 0 {
			next = min(next, o.free)
		}
	}
	return next, nil
}

// came puts a frame into the queue of its egress port: the receiver's, or by the address's last byte.
func (n *node) came(from int, b []byte, at int64) {
	if w := n.watch.Load(); w != nil {
		(*w)(b)
	}
	to := 0
	if from == 0 {
		to = int(b[14+39]) - 1
	}
	if len(b) < 54 || b[12] != 0x86 || b[13] != 0xdd || to < 0 || to >= len(n.ports) || to == from {
		return
	}
	n.serve(to, at)
	o := n.ports[to]
	if to == 0 {
		n.passed++
	}
	if to == 0 && n.cut.Load() || len(o.waiting) >= o.buffer ||
		to == 0 && n.Lossy > 0 && n.passed%n.Lossy < 3 && n.passed%2 == 0 {
		o.drops++
		return
	}
	o.sample(at)
	o.waiting = append(o.waiting, frame{b, at})
}

// sample notes how much has waited until t.
func (o *outlet) sample(t int64) {
	if o.next == 0 {
		o.next = t
	}
	for ; o.next < t; o.next += everyMS {
		o.samples, o.bytes = append(o.samples, int32(len(o.waiting))), append(o.bytes, o.sent)
	}
}

// serve sends the frames whose transmission can start at now.
func (n *node) serve(port int, now int64) {
	o := n.ports[port]
	for len(o.waiting) > 0 {
		f := o.waiting[0]
		start := max(o.free, f.at)
		if start > now {
			return
		}
		o.sample(start)
		o.waiting = o.waiting[1:]
		o.sent += uint64(len(f.b))
		o.free = start + int64(len(f.b))*8e9/o.rate
		if port == 0 && !n.mute.Load() {
			queue := 0
			for _, w := range o.waiting {
				if w.at <= start {
					queue += len(w.b)
				}
			}
			for hop := range n.Telemetry {
				write(f.b, record{hop: hop, at: start, queue: queue * (1 - min(hop, 1)), sent: o.sent,
					rate: o.rate << min(hop, 1)})
			}
		}
		o.out = append(o.out, frame{f.b, o.free + int64(n.Delay)})
	}
	o.sample(now)
}

// record has the values that a hop writes.
type record struct {
	hop, queue int
	at, rate   int64
	sent       uint64
}

// write fills the next record of a trace (RFC 9197 §4.4.1): node 100 and up, port 7, time and queue. The
// namespace's wide data have the byte count and the rate in the format of core/telemetry.
func write(f []byte, r record) {
	be := binary.BigEndian
	h := f[54:]
	if f[20] != 0 || h[4] != 0x31 || be.Uint16(h[8:]) != 0x57 {
		return
	}
	left := int(h[11] & 127)
	if left < 7 {
		h[10] |= 4 // overflow
		return
	}
	left -= 7
	h[11] = h[11]&128 | byte(left)
	m, e := uint64(r.rate), uint64(0)
	for ; m > 65535; e++ {
		m /= 10
	}
	x := h[16+4*left:]
	be.PutUint32(x, uint32(f[21])<<24|uint32(100+r.hop))
	be.PutUint32(x[4:], 7)
	be.PutUint32(x[8:], uint32(r.at/1e9))
	be.PutUint32(x[12:], uint32(r.at%1e9))
	be.PutUint32(x[16:], uint32(r.queue))
	be.PutUint64(x[20:], r.sent<<20|e<<16|m)
}

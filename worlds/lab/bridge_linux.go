package lab

import (
	"errors"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/ring"
)

// Sizes of a bridge's rings.
const (
	BridgeRx = rxSlots
	BridgeTx = txSlots
)

// OpenBridge makes a bridge whose gates are these sockets, by port, and locks the calling
// goroutine to its thread, on which alone the bridge may be used from then on. Garbage is
// collected only above limit bytes.
func OpenBridge(c BridgeConfig, sockets []*ring.Socket, limit int64) (*LiveBridge, error) {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(limit)
	l := &LiveBridge{}
	var gates []Gate
	for _, s := range sockets {
		g := &ringGate{Socket: s, clock: &l.clock}
		gates, l.rings = append(gates, g), append(l.rings, g)
	}
	var err error
	if l.Bridge, err = NewBridge(c, gates, l.clock.now); err != nil {
		return nil, err
	}
	for i, g := range l.rings {
		g.host = l.gated[i].name
	}
	// Without it the bridge still runs, but later; its lateness shows that.
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return l, l.clock.start()
}

// LiveBridge is a bridge with the wall clock.
type LiveBridge struct {
	*Bridge
	clock wallClock
	rings []*ringGate
}

// Now is the event time.
func (l *LiveBridge) Now() unit.Time { return l.clock.now() }

// Run runs until control is readable. Its error is a socket's: ENETDOWN if the interface is down, after
// which Run may be called again.
func (l *LiveBridge) Run(control int) error {
	err := l.run(&l.clock, l.rings, nil, int32(control))
	l.failed = nil
	return err
}

// Drain lets waiting packets leave for at most this long, and receives nothing more. It returns how many
// are left.
func (l *LiveBridge) Drain(most unit.Time) (left int, err error) {
	l.Shut()
	for end := l.Now() + most; ; {
		now := l.Now()
		if err := l.Step(now); err != nil && !errors.Is(err, unix.ENETDOWN) {
			return l.Waiting(), err
		}
		l.failed = nil
		if left = l.Waiting(); left == 0 || now >= end {
			return left, nil
		}
		timeout := unix.NsecToTimespec(int64(max(min(l.next(), end)-now, 0)/unit.Nanosecond) + 1)
		if _, err := unix.Ppoll(nil, &timeout, nil); err != nil && err != unix.EINTR {
			return left, err
		}
	}
}

package live

import (
	"errors"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/ring"
)

// BridgeDriver drives a Bridge by the wall clock.
type BridgeDriver struct {
	*Bridge
	clock Clock
	rings []*RingGate
}

// OpenBridge creates a bridge with these sockets as gates, by port, and locks the calling goroutine to its thread,
// permanently. Only that thread may use the bridge. Garbage of the whole process is collected only above limit bytes.
// Event time 0 is the end of the call.
func OpenBridge(c BridgeConfig, sockets []*ring.Socket, limit int64) (*BridgeDriver, error) {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(limit)
	b := &BridgeDriver{}
	var gates []Gate
	for i, s := range sockets {
		name := ""
		if i < len(c.Ports) {
			name = c.Ports[i].Name
		}
		g := NewRingGate(s, name, &b.clock)
		gates, b.rings = append(gates, g), append(b.rings, g)
	}
	var err error
	if b.Bridge, err = NewBridge(c, gates, b.clock.Now); err != nil {
		return nil, err
	}
	// Without permission the bridge still runs, but later, which its lateness shows.
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return b, b.clock.Start()
}

// Now returns the event time.
func (b *BridgeDriver) Now() unit.Time { return b.clock.Now() }

// Run runs the bridge until the descriptor control is readable. The error is a socket's: ENETDOWN if the interface is
// down, after which Run may be called again.
func (b *BridgeDriver) Run(control int) error {
	err := b.plane.Drive(&b.clock, b.rings, control, -1, nil)
	b.plane.Err = nil
	return err
}

// Drain sends waiting packets for at most limit. The bridge receives no more frames from then on. It returns the number
// of remaining packets. Interfaces that are down are no error.
func (b *BridgeDriver) Drain(limit unit.Time) (remaining int, err error) {
	b.StopReceiving()
	for end := b.Now() + limit; ; {
		now := b.Now()
		if err := b.Step(now); err != nil && !errors.Is(err, unix.ENETDOWN) {
			return b.WaitingPackets(), err
		}
		b.plane.Err = nil
		if remaining = b.WaitingPackets(); remaining == 0 || now >= end {
			return remaining, nil
		}
		timeout := unix.NsecToTimespec(int64(max(min(b.plane.Next(), end)-now, 0)/unit.Nanosecond) + 1)
		if _, err := unix.Ppoll(nil, &timeout, nil); err != nil && err != unix.EINTR {
			return remaining, err
		}
	}
}

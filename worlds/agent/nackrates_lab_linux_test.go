//go:build lab

package agent_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/rtnl"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
	"weir/worlds/agent"
)

// TestSupplyIsHad checks that a connection with a constant offer gets that rate: the window that fills the minimum
// round trip, in whole segments and one more, a round trip. Its own congestion control does not change.
func TestSupplyIsHad(t *testing.T) {
	const (
		base     = 10 * time.Millisecond
		inFlight = 500 // segments at most: a full buffer of 300, and 83 on the way at 100 Mb/s
	)
	for _, supply := range []unit.Rate{30 * unit.Mbps, 10 * unit.Mbps, 5 * unit.Mbps, 20 * unit.Mbps} {
		t.Run(supply.String(), func(t *testing.T) {
			realtime.Test(t, func(try *realtime.Try) {
				r := lay(try, path{Rate: 100e6, Back: 1e9, Delay: base / 2, Buffer: 300}, 1)
				a := r.agent("a1", followNCF(agent.NacksSupply))
				f := r.open("a1")
				f.send()
				await.AwaitCondition(try, "a window", func() bool { return f.came.Load() > 4<<20 })
				before := f.info(try)
				r.everyOne(supply)
				await.AwaitCondition(try, "the bound", func() bool {
					c := connections(try, a)
					return len(c) == 1 && c[0].Nacks != nil && c[0].Nacks.Supply == supply && c[0].Nacks.Bound > 0
				})
				came := f.came.Load()
				await.AwaitCondition(try, "what was in flight", func() bool { return f.came.Load() > came+inFlight*1428 })
				r.node.resetLate()
				had := f.rate(500 * time.Millisecond)
				if late := r.node.maxLateness(); late >= base/4 {
					try.NoteDisturbed(fmt.Sprintf("frames left %v late", late))
				}
				least := float64(supply) * 1428 / 1514
				most := least + 2*1428*8/base.Seconds() // rounded up, and one more
				try.Logf("of %v it has %.2f Mb/s of payload; %.2f to %.2f fill the round trip", supply, had/1e6, least/1e6,
					most/1e6)
				if had > 1.1*most || had < 0.85*least {
					try.Errorf("of %v it has %.2f Mb/s", supply, had/1e6)
				}
				// The kernel has its own reason for a smaller window if a packet was lost, or seemed lost on a busy machine.
				if after := f.info(try); after.Window < before.Window && after.TotalRetrans == before.TotalRetrans {
					try.Errorf("its congestion window was %d, and is %d", before.Window, after.Window)
				}
			})
		})
	}
}

// TestBoundExpires checks that one NACK bounds for two round trips, at most 100 ms. Then the connection has its
// previous window.
func TestBoundExpires(t *testing.T) {
	realtime.Test(t, func(try *realtime.Try) {
		s := newStuck(try, agent.NacksSupply)
		before := s.flow.info(try)
		s.node.inject(1, nack(try, s.book, s.data[3], asItIs))
		await.AwaitCondition(try, "the NACK", func() bool { return s.state().Taken == 1 })
		taken := s.state()
		await.AwaitCondition(try, "the end of the bound", func() bool { return s.state().Expired == 1 })
		expired, after := s.state(), s.flow.info(try)
		if after.Backoff > 0 {
			try.NoteDisturbed("the connection's timeout") // it changes the connection as well
		}
		if taken.Reductions != 1 || expired.Bound != 0 {
			try.Errorf("%+v\nis after its end %+v", taken, expired)
		}
		if after.Ssthresh != before.Ssthresh || after.MaxPacingRate != before.MaxPacingRate ||
			after.CAState != before.CAState || after.SendWindow != before.SendWindow {
			try.Errorf("%+v\nbecomes %+v", before, after)
		}
	})
}

// ethtool switches an offload of an interface on.
func ethtool(name string, what uint32) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	value := [2]uint32{what, 1}
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(request.name[:], name)
	request.data = unsafe.Pointer(&value)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(&value)
	if errno != 0 {
		return os.NewSyscallError("SIOCETHTOOL", errno)
	}
	return nil
}

// largeSegments has a host's interface take up to limit segments in one piece.
func (r *rig) largeSegments(name string, limit int) {
	r.t.Helper()
	r.in(name, func() error {
		for _, what := range []uint32{unix.ETHTOOL_SSG, unix.ETHTOOL_SGSO} {
			if err := ethtool("eth0", what); err != nil {
				return err
			}
		}
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		i, err := c.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		return c.LimitSegments(i.Index, limit)
	})
}

// TestNacksOfLargeSegments checks that where Linux keeps many segments in one, a NACK about any of them is found: at
// their places, of their length, with the time stamp of all.
func TestNacksOfLargeSegments(t *testing.T) {
	r := lay(t, path{Rate: 100e6, Back: 1e9, Delay: 5 * time.Millisecond, Buffer: 300}, 1)
	r.largeSegments("a1", 16)
	a := r.agent("a1", followNCF(agent.NacksLoss))
	f := r.open("a1")
	r.everyOne(50 * unit.Mbps)
	f.send()
	await.AwaitCondition(t, "NACKs", func() bool {
		c := connections(t, a)
		return len(c) == 1 && c[0].Nacks != nil && c[0].Nacks.Taken > 300
	})
	n, sent := connections(t, a)[0].Nacks, f.info(t)
	t.Logf("%+v; %d segments sent", n, sent.SegmentsOut)
	if n.Refused > n.Taken/50 {
		t.Errorf("%d of %d are refused", n.Refused, n.Taken+n.Refused)
	}
}

// TestNCFOfCgroup checks that with a cgroup only connections of its programs are bounded.
func TestNCFOfCgroup(t *testing.T) {
	r := lay(t, path{Rate: 50e6, Back: 1e9, Delay: 2 * time.Millisecond, Buffer: 100}, 1)
	group := cgroup(t, "weir-test-nacks")
	config := followNCF(agent.NacksLoss)
	config.Cgroup = group
	a := r.agent("a1", config)
	f := r.open("a1")
	f.send()
	r.everyOne(10 * unit.Mbps)
	await.AwaitCondition(t, "strays", func() bool { n, err := a.CountStrays(); return err == nil && n > 20 })
	if c := connections(t, a); len(c) > 0 {
		t.Errorf("it knows %+v", c)
	}
	p := r.program("a1", group)
	defer p.end()
	await.AwaitCondition(t, "NACKs of the cgroup's", func() bool {
		c, ok := p.known(t, a)
		return ok && c.Nacks != nil && c.Nacks.Reductions > 2
	})
	if c := connections(t, a); len(c) != 1 {
		t.Errorf("it knows %+v", c)
	}
}

//go:build lab

package softswitch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/ring"
	"weir/internal/rtnl"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// stream sends numbered frames from one host to another, one about every millisecond, and records their arrival.
type stream struct {
	from, to *ring.Socket
	head     []byte
	sent     int
	count    []int // by number
	back     int   // that came back to their sender
	last     time.Time
	looked   time.Time
	stood    time.Duration // the longest for which nobody looked
	still    time.Duration // for which nobody looked, since last
	gap      time.Duration // longest between two arrivals, but for that
	came     atomic.Int64
}

// stands is the maximum time of a step of both streams; a longer one counts as a stall of this process.
const stands = 20 * time.Millisecond

const numbered = 500 // bytes of a frame

func (w *wire) stream(from, to int) *stream {
	s := &stream{from: w.socket(w.hosts[from], 1500), to: w.socket(w.hosts[to], 1500)}
	s.head = append(append(append(s.head, mac(to)...), mac(from)...), 0x88, 0xb5)
	s.head = binary.BigEndian.AppendUint32(s.head, streams.Add(1))
	return s
}

// streams numbers them: a frame of an earlier stream, which waited somewhere, is not of the next.
var streams atomic.Uint32

// step sends the next frame and receives the available ones.
func (s *stream) step(send bool) {
	if send {
		f := binary.BigEndian.AppendUint64(slices.Clone(s.head), uint64(s.sent))
		if s.sent++; s.from.Put(append(f, make([]byte, numbered-len(f))...)) {
			s.from.Flush()
		}
		s.count = append(s.count, 0)
	}
	now := time.Now()
	if pause := now.Sub(s.looked); !s.looked.IsZero() && pause > stands {
		s.still += pause - stands
		s.stood = max(s.stood, pause)
	}
	s.looked = now
	for {
		if _, ok := s.from.NextArrival(); !ok {
			break
		}
		if f := s.from.Take(nil); bytes.HasPrefix(f, s.head) {
			s.back++
		}
	}
	for {
		if _, ok := s.to.NextArrival(); !ok {
			return
		}
		f := s.to.Take(nil)
		if !bytes.HasPrefix(f, s.head) {
			continue
		}
		if !s.last.IsZero() {
			s.gap = max(s.gap, now.Sub(s.last)-s.still)
		}
		s.last, s.still = now, 0
		s.count[binary.BigEndian.Uint64(f[len(s.head):])]++
		s.came.Add(1)
	}
}

// both are streams in both directions that run until stop.
type both struct {
	t      testing.TB
	ways   [2]*stream
	halt   chan bool
	halted chan bool
}

func (w *wire) both() *both {
	b := &both{t: w.t, ways: [2]*stream{w.stream(0, 1), w.stream(1, 0)}, halt: make(chan bool), halted: make(chan bool)}
	go func() {
		defer close(b.halted)
		for {
			select {
			case <-b.halt:
				return
			default:
			}
			for _, s := range b.ways {
				s.step(true)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return b
}

// more waits until n more frames have arrived in both directions.
func (b *both) more(n int64) {
	b.t.Helper()
	for _, s := range b.ways {
		least := s.came.Load() + n
		await.AwaitCondition(b.t, "a frame", func() bool { return s.came.Load() >= least })
	}
}

// stop returns the longest gap of both directions, and fails the test if a frame arrived twice or came back.
func (b *both) stop(what string) (gap time.Duration) {
	b.t.Helper()
	close(b.halt)
	<-b.halted
	for _, s := range b.ways { // until one that is sent now has come, all others have
		first := s.sent
		await.AwaitCondition(b.t, "a last frame", func() bool {
			s.step(true)
			return slices.Max(s.count[first:]) > 0
		})
	}
	for i, s := range b.ways {
		lost, twice := 0, 0
		for _, n := range s.count {
			if n == 0 {
				lost++
			} else if n > 1 {
				twice++
			}
		}
		if try, is := b.t.(*realtime.Try); is && s.stood > 5*stands {
			try.NoteDisturbed(fmt.Sprintf("this process stood still for %v", s.stood))
		}
		b.t.Logf("%s, direction %d: %d frames, %d lost, %d doubled, longest gap %v", what, i, s.sent, lost, twice, s.gap)
		if twice > 0 || s.back > 0 {
			b.t.Errorf("%s, direction %d: %d frames came twice, %d came back to their sender", what, i, twice, s.back)
		}
		gap = max(gap, s.gap)
	}
	return gap
}

const bypassed = `
ports:
  left: {interface: left}
  right: {interface: right, rate: 3Mbps, buffer: 20 packets}   # less than comes: frames wait at any time
switch: [forward]
metrics: none
`

// bypassSpan is the time within which the bridge must take over.
const bypassSpan = time.Second

// TestBypass_CarriesFramesWithoutSwitch checks that with --bypass a bridge of the kernel takes over within a second
// when the switch ends in order or any of its processes is killed, also all at once. No frame uses both paths, then
// or when the switch restarts next to the bridge, and no frame loops. Offloads are as without a bypass.
func TestBypass_CarriesFramesWithoutSwitch(t *testing.T) { realtime.Test(t, bypass) }

func bypass(t *realtime.Try) {
	defer t.WatchIdle()()
	w := lay(t, 1500, "left", "right")
	w.prepare = func(c *exec.Cmd) { c.Args = append(c.Args, "--bypass") }
	before := w.offloads("left")
	for i, x := range []struct {
		name     string
		end      func(p *process, child int)
		restored bool // offloads are on again without anybody's help
	}{
		{"kill the data plane", func(_ *process, child int) { syscall.Kill(child, syscall.SIGKILL) }, true},
		{"kill the supervisor", func(p *process, _ int) { p.Signal(syscall.SIGKILL) }, false},
		{"kill both", func(p *process, child int) { p.Signal(syscall.SIGKILL); syscall.Kill(child, syscall.SIGKILL) }, false},
		{"kill both, the data plane first", func(p *process, child int) {
			syscall.Kill(child, syscall.SIGKILL)
			p.Signal(syscall.SIGKILL)
		}, false},
		{"end in order", func(p *process, _ int) { p.Signal(syscall.SIGTERM) }, true},
		{"end of one that hangs", func(p *process, _ int) {
			p.suspendChild()
			p.Signal(syscall.SIGTERM)
		}, true},
	} {
		var b *both
		if i > 0 { // the bridge of the case before carries
			b = w.both()
			b.more(50)
		}
		p := w.open(bypassed)
		if b != nil {
			b.more(50)
			b.stop("from the bridge to the switch")
		}
		if on := w.offloads("left"); len(on) > 0 {
			t.Errorf("while the switch runs there are the offloads %v", on)
		}
		w.bridged(t)
		b = w.both()
		b.more(100)
		child := p.child()
		x.end(p, child)
		p.AwaitExit()
		await.AwaitCondition(t, "the data plane's end", func() bool { return syscall.Kill(child, 0) == unix.ESRCH })
		b.more(100)
		if gap := b.stop(x.name); gap > bypassSpan {
			t.Errorf("the bridge took over after %v: %s", gap, x.name)
		}
		now := w.offloads("left")
		if want := before; x.restored && !slices.Equal(now, want) || !x.restored && len(now) > 0 {
			t.Errorf("offloads are %v, before the switch %v: %s", now, before, x.name)
		}
		w.bridged(t)
	}
}

// bridged requires that the ports, and no other interface, belong to one bridge.
func (w *wire) bridged(t testing.TB) {
	t.Helper()
	w.in(middle, func(c *rtnl.Conn) error {
		l, err := c.InterfaceByName("left")
		if err != nil {
			return err
		}
		r, err := c.InterfaceByName("right")
		if err != nil {
			return err
		}
		b, err := c.InterfaceByIndex(l.Master)
		if err == nil && (l.Master != r.Master || b.Name != "weir-bypass1" || !b.IsBridge() || !b.Up) {
			err = fmt.Errorf("the ports belong to interfaces %d and %d: %+v", l.Master, r.Master, b)
		}
		return err
	})
}

// TestBypassForwards checks that every frame that passes the switch passes the bypass, too, except those that no bridge
// forwards: pauses, and frames only for the neighbour (LACP).
func TestBypassForwards(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.prepare = func(c *exec.Cmd) { c.Args = append(c.Args, "--bypass") }
	p := w.open(plain)
	if s := p.Stderr(); !strings.Contains(s, "bridge weir-bypass1 takes over at the end") {
		t.Errorf("the start says\n%s", s)
	}
	in, out := w.socket("left", 1500), w.socket("right", 1500)
	asks := func(through string) {
		t.Helper()
		for _, to := range [][]byte{mac(1), {255, 255, 255, 255, 255, 255}, {1, 0x80, 0xc2, 0, 0, 0},
			{1, 0x80, 0xc2, 0, 0, 14}, {1, 0, 0x5e, 0, 0, 99}} {
			kind := []byte{0x81, 0x00, 0x20, 0x05, 0x88, 0xb5} // a tag
			if to[0] == 1 && to[5] == 0 {
				kind = []byte{0, 83, 0x42, 0x42, 3} // a BPDU
			}
			frame := append(append(append(slices.Clone(to), mac(0)...), kind...), make([]byte, 80)...)
			if got := pass(t, in, out, frame); !bytes.Equal(got, frame) {
				t.Errorf("through the %s: to %x came\n%x", through, to, got)
			}
		}
	}
	asks("switch")
	p.Signal(syscall.SIGTERM) // on a slow machine it kills the data plane, and says so
	p.AwaitExit()
	asks("bridge")
}

// TestBypassRefused checks that impossible bypasses are refused, and a start that fails leaves no bridge.
func TestBypassRefused(t *testing.T) {
	w := lay(t, 1500, "left", "right", "third")
	none := func(name string) {
		t.Helper()
		w.in(middle, func(c *rtnl.Conn) error {
			if _, err := c.InterfaceByName("weir-bypass1"); !errors.Is(err, unix.ENODEV) {
				t.Errorf("%s: the bridge: %v", name, err)
			}
			if i, err := c.InterfaceByName("left"); err != nil || i.Master != 0 {
				t.Errorf("%s: left: %+v, %v", name, i, err)
			}
			return nil
		})
	}
	w.loopback() // without an address every one can be bound
	if code, said := w.ends(plain, 0, "--check", "--bypass"); code != 0 ||
		!strings.Contains(said, "bypass: a bridge weir-bypassN, which remains") {
		t.Errorf("--check: %d\n%s", code, said)
	}
	elsewhere := strings.Replace(plain, "metrics: none", "metrics: 192.0.2.77:9465", 1)
	if code, said := w.ends(elsewhere, 0, "--bypass"); code != 2 {
		t.Errorf("a start without a place for metrics: %d\n%s", code, said)
	}
	none("after a start that failed")
	var index [3]int
	w.in(middle, func(c *rtnl.Conn) error {
		for i, name := range w.hosts {
			x, err := c.InterfaceByName(name)
			if err != nil {
				return err
			}
			index[i] = x.Index
		}
		if err := c.AddBridge("own"); err != nil {
			return err
		}
		own, err := c.InterfaceByName("own")
		if err != nil {
			return err
		}
		return errors.Join(c.SetMaster(index[0], own.Index), c.SetMaster(index[2], own.Index))
	})
	for _, x := range []struct {
		args []string
		says string
	}{
		{nil, "interface left belongs to a bridge or a bond, which would forward its frames as well"},
		{[]string{"--bypass"}, "bridge own also has interface third, which is not a port"},
	} {
		if code, said := w.ends(plain, 0, x.args...); code != 2 || !strings.Contains(said, x.says) {
			t.Errorf("%v: %d, want %q\n%s", x.args, code, x.says, said)
		}
	}
	w.in(middle, func(c *rtnl.Conn) error { return c.SetMaster(index[2], 0) })
	if code, said := w.ends(plain, 0, "--bypass", "--check"); code != 0 || !strings.Contains(said, "bypass: bridge own") ||
		!strings.Contains(said, "warning: bridge own is down") {
		t.Errorf("--check with a bridge of its own: %d\n%s", code, said)
	}
}

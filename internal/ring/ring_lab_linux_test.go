//go:build lab

package ring_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/netns"
	"weir/internal/ring"
	"weir/internal/rtnl"
)

// pair makes two interfaces that are joined, a and b with an MTU of 1500 bytes, in a separate namespace. It runs a
// function there.
func pair(t *testing.T, what func() error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces and packet sockets")
	}
	set, _, err := netns.NewSet()
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := set.Add("ring"); errors.Is(err, unix.EPERM) {
		t.Skipf("no network namespaces here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	err = netns.Do(set.Name("ring"), func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		here, err := os.Open(netns.Path(set.Name("ring")))
		if err != nil {
			return err
		}
		defer here.Close()
		mac := [6]byte{2, 0, 0, 0, 0, 1}
		if err := c.AddVeth(rtnl.End{Name: "a", MAC: mac}, rtnl.End{Name: "b", MAC: mac}, int(here.Fd()), 9000); err != nil {
			return err
		}
		if err := c.AddVeth(rtnl.End{Name: "a", MAC: mac}, rtnl.End{Name: "c", MAC: mac}, int(here.Fd()),
			1500); !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("a name that is taken: %v", err)
		}
		for _, name := range []string{"a", "b"} {
			i, err := c.InterfaceByName(name)
			if err != nil {
				return err
			}
			if _, err := rtnl.DisableOffloads(name); err != nil {
				return err
			}
			if err := c.SetUpQuiet(i.Index); err != nil {
				return err
			}
		}
		return what()
	})
	if err != nil {
		t.Fatal(err)
	}
}

func frame(n int, tag byte) []byte {
	f := make([]byte, n)
	copy(f, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}) // local experimental type (IEEE 802)
	f[n-1] = tag
	return f
}

// TestRing_CarriesFramesInOrder checks that frames arrive unchanged, in order, with a current timestamp, and that a
// socket does not receive the frames that it sent. Frames that are too long are counted and skipped. The kernel
// counts frames that find the ring full.
func TestRing_CarriesFramesInOrder(t *testing.T) {
	pair(t, func() error {
		a, err := ring.Open(ring.Config{Interface: "a", MaxFrame: 9014, Rx: 8, Tx: 64})
		if err != nil {
			return err
		}
		defer a.Close()
		b, err := ring.Open(ring.Config{Interface: "b", MaxFrame: 1514, Rx: 32, Tx: 8})
		if err != nil {
			return err
		}
		defer b.Close()
		sizes := []int{60, 1514, 3000, 61}
		var frames [][]byte
		for i, n := range sizes {
			frames = append(frames, frame(n, 0))
			if !a.Put(frames[i]) {
				return fmt.Errorf("no room for frame %d", i)
			}
		}
		for i, n := range sizes { // what leaves is what is there when it does: no copy is made
			frames[i][n-1] = byte(i)
		}
		before := time.Now().UnixNano()
		if err := a.Flush(); err != nil {
			return err
		}
		for i, n := range sizes {
			if n > 1514 {
				continue
			}
			stamp, ok := b.NextArrival()
			if !ok || stamp < before || stamp > time.Now().UnixNano() {
				return fmt.Errorf("frame %d: stamp %d, sent at %d: %v", i, stamp, before, ok)
			}
			if got := b.Take([]byte("x")); len(got) != n+1 || got[n] != byte(i) || got[0] != 'x' || got[1] != 2 {
				return fmt.Errorf("frame %d came as %d bytes", i, len(got)-1)
			}
		}
		if _, ok := b.NextArrival(); ok {
			t.Error("a frame too much")
		}
		if _, ok := a.NextArrival(); ok {
			t.Error("the socket sees what it sent")
		}
		for i := range 100 {
			if !a.Put(frame(100, byte(i))) {
				return fmt.Errorf("no room for frame %d", i)
			}
			if err := a.Flush(); err != nil {
				return err
			}
		}
		if !b.Put(make([]byte, 1515)) { // is counted, and not sent
			t.Error("no room")
		}
		got := 0
		for _, ok := b.NextArrival(); ok; _, ok = b.NextArrival() {
			b.Take(nil)
			got++
		}
		c, err := b.Counts()
		if err != nil {
			return err
		}
		if want := (ring.SocketCounters{Received: 104, Lost: uint64(100 - got),
			TooLong: 2}); c != want || got < 8 || got >= 100 {
			t.Errorf("%d frames taken; counted %+v, want %+v", got, c, want)
		}
		return nil
	})
}

// TestFlush_CountsFramesAboveMTU checks that the configured number of frames can wait for Flush. Frames above the
// interface's MTU are counted, and the others are sent in order. With the interface down, all frames stay.
func TestFlush_CountsFramesAboveMTU(t *testing.T) {
	pair(t, func() error {
		a, err := ring.Open(ring.Config{Interface: "a", MaxFrame: 9100, Rx: 8, Tx: 5})
		if err != nil {
			return err
		}
		defer a.Close()
		b, err := ring.Open(ring.Config{Interface: "b", MaxFrame: 9014, Rx: 32, Tx: 1})
		if err != nil {
			return err
		}
		defer b.Close()
		for round := range 3 {
			for i, n := range []int{9100, 60, 9050, 9014, 9015} {
				if !a.Put(frame(n, byte(i))) {
					return fmt.Errorf("no room for frame %d", i)
				}
			}
			if a.Put(frame(60, 0)) {
				t.Error("there is room for 6 frames")
			}
			if err := a.Flush(); err != nil {
				return err
			}
			for _, want := range []int{60, 9014} {
				if _, ok := b.NextArrival(); !ok {
					return fmt.Errorf("no frame of %d bytes", want)
				}
				if got := len(b.Take(nil)); got != want {
					t.Errorf("%d bytes, not %d", got, want)
				}
			}
			if _, ok := b.NextArrival(); ok {
				t.Error("a frame too much")
			}
			if c, err := a.Counts(); err != nil || c.TooLong != uint64(3*(round+1)) {
				t.Errorf("%+v, %v", c, err)
			}
		}
		return flushDown(t, a, b)
	})
}

// flushDown sets a's interface down and up again. Waiting frames stay meanwhile, and Drop discards them.
func flushDown(t *testing.T, a, b *ring.Socket) error {
	a.Put(frame(60, 1))
	c, err := rtnl.Open()
	if err != nil {
		return err
	}
	defer c.Close()
	i, err := c.InterfaceByName("a")
	if err != nil {
		return err
	}
	if err := c.SetDown(i.Index); err != nil {
		return err
	}
	for range 2 {
		if err := a.Flush(); !errors.Is(err, unix.ENETDOWN) {
			t.Errorf("with the interface down: %v", err)
		}
	}
	if err := c.SetUp(i.Index); err != nil {
		return err
	}
	if err := a.TakeError(); !errors.Is(err, unix.ENETDOWN) {
		t.Errorf("what went wrong: %v", err)
	}
	if err := a.Flush(); err != nil {
		t.Errorf("with the interface up again: %v", err)
	}
	if _, ok := b.NextArrival(); !ok {
		t.Error("what was kept while it was down has not left")
	}
	a.Put(frame(60, 2))
	a.Put(frame(60, 3))
	if n := a.Drop(); n != 2 {
		t.Errorf("%d frames given up, want 2", n)
	}
	a.Put(frame(60, 4))
	if err := a.Flush(); err != nil {
		t.Error(err)
	}
	for _, want := range []byte{1, 4} {
		if _, ok := b.NextArrival(); !ok {
			return fmt.Errorf("frame %d has not come", want)
		}
		if got := b.Take(nil); got[len(got)-1] != want {
			t.Errorf("frame %d instead of %d", got[len(got)-1], want)
		}
	}
	return nil
}

// TestPartialChecksum checks that a kernel's datagrams without a checksum, which checksum offload causes, are
// counted and not passed on.
func TestPartialChecksum(t *testing.T) {
	pair(t, func() error {
		b, err := ring.Open(ring.Config{Interface: "b", MaxFrame: 9014, Rx: 32, Tx: 8})
		if err != nil {
			return err
		}
		defer b.Close()
		// A packet socket can send the same frames as a kernel with the offload on: a header before the frame has the
		// place of the checksum to fill in (PACKET_VNET_HDR, struct virtio_net_hdr with VIRTIO_NET_HDR_F_NEEDS_CSUM).
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
			return err
		}
		f := append([]byte{1, 0, 0, 0, 0, 0, 34, 0, 6, 0}, frame(100, 0)...)
		f[10+12], f[10+13] = 8, 0
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		i, err := c.InterfaceByName("a")
		if err != nil {
			return err
		}
		if err := rtnl.SetOffload("a", "tx", true); err != nil {
			return err
		}
		if err := unix.Sendto(fd, f, 0, &unix.SockaddrLinklayer{Ifindex: i.Index}); err != nil {
			return err
		}
		if _, ok := b.NextArrival(); ok {
			t.Error("a frame without a checksum is passed on")
		}
		if n, err := b.Counts(); err != nil || n.Partial != 1 {
			t.Errorf("counted %+v, %v", n, err)
		}
		were, err := rtnl.DisableOffloads("a")
		if err != nil || len(were) == 0 {
			return fmt.Errorf("offloads that were on: %v, %v", were, err)
		}
		return nil
	})
}

// TestOpenRefuses checks that impossible ring sizes and missing interfaces are errors.
func TestOpenRefuses(t *testing.T) {
	if _, err := ring.Open(ring.Config{Interface: "weir-none", MaxFrame: 1514, Rx: 8, Tx: 8}); !errors.Is(err,
		unix.ENODEV) {
		t.Errorf("no interface: %v", err)
	}
	if _, err := ring.Open(ring.Config{Interface: "lo", MaxFrame: 1514, Rx: 9, Tx: 8}); err == nil {
		t.Error("9 slots are possible")
	}
}

// TestRing_RestoresOuterTags checks that a socket with Tags restores the outer tag that the kernel removes from
// arriving frames, for any tag. A full frame may carry one 802.1Q tag when it is sent. Without Tags, tagged frames
// are counted. A socket that another process opened continues with its rings.
func TestRing_RestoresOuterTags(t *testing.T) {
	pair(t, func() error {
		c := ring.Config{Interface: "a", MaxFrame: 1514, Rx: 32, Tx: 32, Tags: true}
		opened, err := ring.Open(c)
		if err != nil {
			return err
		}
		fd, err := unix.Dup(opened.FD())
		if err != nil {
			return err
		}
		opened.Close()
		a, err := ring.Attach(c, fd)
		if err != nil {
			return err
		}
		defer a.Close()
		c.Interface = "b"
		b, err := ring.Open(c)
		if err != nil {
			return err
		}
		defer b.Close()
		c.Tags = false
		without, err := ring.Open(c)
		if err != nil {
			return err
		}
		defer without.Close()
		tagged := func(n int, tag ...byte) []byte {
			f := frame(n, 7)
			return append(append(append([]byte{}, f[:12]...), tag...), f[12:]...)
		}
		all := [][]byte{
			tagged(60, 0x81, 0, 0xef, 0xfe), tagged(60, 0x81, 0, 0, 0), tagged(1514, 0x81, 0, 0, 5),
			tagged(60, 0x88, 0xa8, 0, 100, 0x81, 0, 0, 200), frame(60, 7),
		}
		for _, f := range append(all, tagged(1514, 0x88, 0xa8, 0, 5), tagged(1515, 0x81, 0, 0, 5)) {
			if !a.Put(f) {
				return fmt.Errorf("no room")
			}
		}
		if err := a.Flush(); err != nil {
			return err
		}
		for i, f := range all {
			if _, ok := b.NextArrival(); !ok {
				return fmt.Errorf("frame %d did not come", i)
			}
			if got := b.Take(nil); string(got) != string(f) {
				t.Errorf("frame %d\n%x\ncame as\n%x", i, f, got)
			}
		}
		if counts, err := a.Counts(); err != nil || counts.TooLong != 2 {
			t.Errorf("%d frames were too long to leave, want 2; %v", counts.TooLong, err)
		}
		if _, ok := without.NextArrival(); !ok || len(without.Take(nil)) != 60 {
			t.Error("the frame without a tag did not come")
		}
		if counts, err := without.Counts(); err != nil || counts.Tagged != 4 {
			t.Errorf("%d frames had a tag, want 4; %v", counts.Tagged, err)
		}
		return nil
	})
}

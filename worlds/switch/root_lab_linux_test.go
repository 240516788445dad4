//go:build lab

package softswitch_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/ring"
	"weir/internal/testkit/await"
	"weir/internal/testkit/frametest"
	"weir/internal/testkit/realtime"
)

// TestSwitch_CarriesTrafficOfKernels checks that kernels find each other through the switch by ARP and neighbour
// discovery, and that their datagrams arrive. The switch ends in order, and reports its work. The offloads of its
// interfaces are off meanwhile and on again afterwards; those of others never change.
func TestSwitch_CarriesTrafficOfKernels(t *testing.T) { programs(t, carries) }

func carries(t *testing.T, program string) {
	w := lay(t, 1500, "left", "right", "other")
	w.program = program
	before, was := map[string][]string{}, w.settled()
	for _, name := range w.hosts {
		if before[name] = w.offloads(name); len(before[name]) == 0 {
			t.Fatalf("%s has no offloads on from the start", name)
		}
	}
	p := w.open(plain)
	if l, r, o := w.offloads("left"), w.offloads("right"), w.offloads("other"); len(l) > 0 || len(r) > 0 ||
		!slices.Equal(o, before["other"]) {
		t.Errorf("offloads while the switch runs: %v, %v; of another interface %v, before %v", l, r, o, before["other"])
	}
	for name, is := range w.links() {
		if own := name == "left" || name == "right"; is.text != was[name].text || is.promiscuity > 0 != own {
			t.Errorf("interface %s is promiscuous %d times; it was\n%s\nand is, while the switch runs,\n%s", name,
				is.promiscuity, was[name].text, is.text)
		}
	}
	for _, to := range []string{"10.9.0.2:7", "[fd09::2]:7"} {
		t.Run(to, func(t *testing.T) {
			w.echo("right", netip.MustParseAddrPort(to))
			for _, size := range []int{8, 1400, 4000} { // the last in fragments
				if _, err := w.ask("left", netip.MustParseAddrPort(to), size, 1); err != nil {
					t.Errorf("%s: %d bytes: %v", to, size, err)
				}
			}
		})
	}
	w.separate("other", "right") // a host at another interface
	summary := p.stop()
	if !strings.Contains(summary, "port left: ") || !strings.Contains(summary, "0 left in queues") ||
		strings.Contains(summary, "port left: 0 frames") {
		t.Errorf("the summary is\n%s", summary)
	}
	for _, name := range w.hosts {
		if now := w.offloads(name); !slices.Equal(now, before[name]) {
			t.Errorf("offloads of %s are %v now, and were %v", name, now, before[name])
		}
	}
	var said []byte
	c := w.command("--restore")
	if err := w.do(middle, func() (err error) { said, err = c.CombinedOutput(); return err }); err != nil ||
		string(said) != "there are no records to restore\n" {
		t.Errorf("after an orderly end --restore says %v: %s", err, said)
	}
	if is := w.links(); !maps.Equal(is, was) {
		t.Errorf("the interfaces were\n%v\nand are\n%v", was, is)
	}
	w.separate("left", "right")
}

// link is the kernel's report of an interface and its addresses, without counters.
type link struct {
	text        string
	promiscuity uint32
}

// settled returns the links once the kernel has detected that all are up (IFLA_OPERSTATE is IF_OPER_UP), which
// takes it a moment.
func (w *wire) settled() (all map[string]link) {
	w.t.Helper()
	await.AwaitCondition(w.t, "all interfaces that are up", func() bool {
		up := true
		all = w.links()
		for _, name := range w.hosts {
			up = up && strings.Contains(all[name].text, fmt.Sprintf(" %d=06 ", unix.IFLA_OPERSTATE))
		}
		return up
	})
	return all
}

// links returns the interfaces of the switch's namespace.
func (w *wire) links() map[string]link {
	w.t.Helper()
	all, names := map[string]link{}, map[int32]string{}
	each := func(about int, take func(m syscall.NetlinkMessage, attributes []syscall.NetlinkRouteAttr)) error {
		b, err := syscall.NetlinkRIB(about, unix.AF_UNSPEC)
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(b)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Header.Type == unix.NLMSG_DONE {
				break
			}
			attributes, err := syscall.ParseNetlinkRouteAttr(&m)
			if err != nil {
				return err
			}
			take(m, attributes)
		}
		return nil
	}
	err := w.do(middle, func() error {
		err := each(unix.RTM_GETLINK, func(m syscall.NetlinkMessage, attributes []syscall.NetlinkRouteAttr) {
			var l link
			var name string
			text := fmt.Sprintf("%x", m.Data[:unix.SizeofIfInfomsg])
			for _, a := range attributes {
				switch a.Attr.Type {
				case unix.IFLA_IFNAME:
					name = strings.TrimRight(string(a.Value), "\x00")
				case unix.IFLA_PROMISCUITY:
					l.promiscuity = binary.NativeEndian.Uint32(a.Value)
				case unix.IFLA_STATS, unix.IFLA_STATS64, unix.IFLA_AF_SPEC:
				default:
					text += fmt.Sprintf(" %d=%x", a.Attr.Type, a.Value)
				}
			}
			l.text = text
			all[name], names[int32(binary.NativeEndian.Uint32(m.Data[4:]))] = l, name
		})
		if err != nil {
			return err
		}
		return each(unix.RTM_GETADDR, func(m syscall.NetlinkMessage, _ []syscall.NetlinkRouteAttr) {
			name := names[int32(binary.NativeEndian.Uint32(m.Data[4:]))]
			l := all[name]
			l.text += fmt.Sprintf("\naddress %x", m.Data)
			all[name] = l
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// TestSwitch_DrainsQueuesAtStop checks that waiting packets are sent first when the switch stops, for up to a second,
// and the remaining ones are counted.
func TestSwitch_DrainsQueuesAtStop(t *testing.T) {
	lab := lay(t, 1500, "left", "right")
	for _, x := range []struct {
		rate   string
		frames int
		all    bool
		by     syscall.Signal
	}{{"2Mbps", 50, true, syscall.SIGINT}, {"5kbps", 5, false, syscall.SIGTERM}} { // a frame in 4 ms, in 1.6 s
		t.Run(x.rate, func(t *testing.T) {
			realtime.Test(t, func(t *realtime.Try) {
				defer t.WatchIdle()()
				w := lab.on(t)
				p := w.open(strings.Replace(plain, "right}", "right, rate: "+x.rate+"}", 1))
				in, out := w.socket("left", 1500), w.socket("right", 1500)
				for range x.frames {
					in.Put(append(append(mac(1), mac(0)...), make([]byte, 988)...))
				}
				if err := in.Flush(); err != nil {
					t.Fatal(err)
				}
				n := 0
				count := func() int {
					for {
						if _, ok := out.NextArrival(); !ok {
							return n
						}
						if f := out.Take(nil); len(f) == 1000 {
							n++
						}
					}
				}
				await.AwaitCondition(t, "the first frame", func() bool { return count() > 0 })
				start := time.Now()
				summary := p.stopBy(x.by)
				took := time.Since(start)
				if count(); x.all && (n != x.frames || !strings.Contains(summary, " 0 left in queues")) {
					t.Errorf("%d of %d frames came out\n%s", n, x.frames, summary)
				}
				left := 0
				if at := strings.LastIndex(summary, ", "); at > 0 {
					fmt.Sscanf(summary[at:], ", %d left in queues", &left)
				}
				if !x.all && (n > 3 || left < x.frames-n || took < time.Second) { // more is left if the hosts sent by themselves
					t.Errorf("%d of %d frames came out, within %v\n%s", n, x.frames, took, summary)
				}
			})
		})
	}
}

// TestOwnTraffic checks that the switch ignores frames that its own machine sends at an interface, also to listeners
// there: the frame is sent once, and not by the other port.
func TestOwnTraffic(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.open(plain)
	left, right := w.socket("left", 1500), w.socket("right", 1500)
	frame := append(append(append([]byte{}, mac(0)...), 2, 0, 0, 0, 9, 9, 0x88, 0xb5), make([]byte, 46)...)
	err := w.do(middle, func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		i, err := net.InterfaceByName("left")
		if err != nil {
			return err
		}
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: i.Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	// After it, one that passes.
	after := append(append(append([]byte{}, mac(1)...), mac(0)...), frame[12:]...)
	left.Put(after)
	if err := left.Flush(); err != nil {
		t.Fatal(err)
	}
	seen := func(s *ring.Socket) (own, passed int) {
		for {
			if _, ok := s.NextArrival(); !ok {
				return own, passed
			}
			switch f := s.Take(nil); {
			case bytes.Equal(f, frame):
				own++
			case bytes.Equal(f, after):
				passed++
			}
		}
	}
	through := 0
	await.AwaitCondition(t, "the frame that passes", func() bool {
		own, passed := seen(right)
		through += own
		return passed > 0
	})
	if n, _ := seen(left); n != 1 {
		t.Errorf("the machine's own frame left %d times", n)
	}
	if through > 0 {
		t.Errorf("the machine's own frame left %d times by the other port", through)
	}
}

// TestByteForByte checks that every kind of frame departs with the bytes of its arrival, with and without programs
// that read it: tags, link-local frames of bridges, damaged frames.
func TestByteForByte(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.open(`
ports:
  left: {interface: left, rate: 1Gbps}
  right: {interface: right, rate: 1Gbps}
switch: [forward, {abc: {}}, {ecn: {kmin: 100KB, kmax: 200KB, pmax: 10%}}]
metrics: none
`)
	in, out := w.socket("left", 1500), w.socket("right", 1500)
	for _, f := range frametest.AllFrames() {
		for _, way := range [][2]*ring.Socket{{in, out}, {out, in}} {
			if got := pass(t, way[0], way[1], f.Bytes); !bytes.Equal(got, f.Bytes) {
				t.Errorf("%s: %d bytes\n%x\ncame out as %d\n%x", f.Name, len(f.Bytes), f.Bytes, len(got), got)
			}
		}
	}
}

// TestTooLong checks that a frame longer than the other port allows is dropped and counted. One of 1500 bytes with a
// tag is not too long.
func TestTooLong(t *testing.T) {
	w := lay(t, 9000, "left", "right")
	if err := w.do(middle, func() error { return setMTU("right", 1500) }); err != nil {
		t.Fatal(err)
	}
	p := w.open(plain)
	in, out := w.socket("left", 9000), w.socket("right", 9000)
	long := append(append(mac(1), mac(0)...), 0x88, 0xb5)
	if !in.Put(append(long, make([]byte, 3000)...)) { // it would come out first
		t.Fatal("no room in the ring")
	}
	tagged := append(append(mac(1), mac(0)...), 0x81, 0x00, 0x20, 0x05, 0x88, 0xb5)
	if got := pass(t, in, out, append(tagged, make([]byte, 1500)...)); len(got) != 1518 {
		t.Errorf("%d bytes came out, want only the full frame with a tag, where 1514 and a tag are possible", len(got))
	}
	if s := p.stop(); !strings.Contains(s, "port right: ") || !strings.Contains(s, ", 1 too long") {
		t.Errorf("the summary is\n%s", s)
	}
}

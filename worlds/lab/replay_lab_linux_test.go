//go:build lab

package lab_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/dataplane"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit/realtime"
	"weir/worlds/lab"
)

// The test binary as a data plane: of figure 5 with ABC, captured into a file; of a link that
// things happen to.
func init() {
	lab.Roles["figure5"] = func(file string) error {
		c, err := figure5("")
		if err != nil {
			return err
		}
		c.Capture = &lab.Capture{Switches: []string{"s1"}, File: file}
		return lab.Serve(c, os.Stdin, os.Stdout)
	}
	lab.Roles["happening"] = func(string) error { return lab.Serve(happening(), os.Stdin, os.Stdout) }
}

// role returns a command that runs this binary as a data plane.
func role(as string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), lab.Role+"="+as)
	return c
}

// start makes a lab and starts its data plane.
func start(t testing.TB, c *lab.Config, as string) (*lab.Network, *lab.DataPlane) {
	t.Helper()
	l, err := lab.Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := l.Start(role(as))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return l, p
}

// send sends by TCP connections with the ports of flows, which have one destination, until the
// time is over, and returns how many bytes of each arrived.
func send(l *lab.Network, c *lab.Config, flows []lab.Flow, length time.Duration) ([]int64, error) {
	control := func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.SetsockoptString(int(fd),
				unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic"))
		})
		return err
	}
	at := func(node int, port uint16) netip.AddrPort {
		return netip.AddrPortFrom(c.Wiring.Hosts.V4(packet.Addr(node+1)), port)
	}
	var listener net.Listener
	err := l.Do(flows[0].Dst, func() (err error) {
		n := net.ListenConfig{Control: control}
		listener, err = n.Listen(context.Background(), "tcp", at(flows[0].Dst, flows[0].DstPort).String())
		return err
	})
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	end := time.Now().Add(length)
	sums, errs := make([]int64, len(flows)), make([]error, len(flows))
	var wait sync.WaitGroup
	for i, f := range flows {
		var out net.Conn
		err := l.Do(f.Src, func() (err error) {
			d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: net.TCPAddrFromAddrPort(at(f.Src, f.SrcPort)), Control: control}
			out, err = d.Dial("tcp", listener.Addr().String())
			return err
		})
		if err != nil {
			return nil, err
		}
		defer out.Close()
		in, err := listener.Accept()
		if err != nil {
			return nil, err
		}
		defer in.Close()
		out.SetDeadline(end)
		in.SetDeadline(end)
		go func() {
			for b := make([]byte, 1<<16); ; {
				if _, err := out.Write(b); err != nil {
					return
				}
			}
		}()
		wait.Go(func() {
			if sums[i], errs[i] = io.Copy(io.Discard, in); errors.Is(errs[i], os.ErrDeadlineExceeded) {
				errs[i] = nil
			}
		})
	}
	wait.Wait()
	return sums, errors.Join(errs...)
}

// TestReplayTCP replays figure 5's switch with ABC, under real TCP of both clients, through the simulator's switch.
// It gives the same frames: tens of thousands, byte for byte. A switch whose q_base is one packet smaller does not.
// The kernel's frames identify the flows' packets.
func TestReplayTCP(t *testing.T) { realtime.Test(t, replayTCP) }

func replayTCP(t *realtime.Try) {
	lab.NeedRoot(t)
	c, err := figure5("")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "s1.pcapng")
	l, p := start(t, c, "figure5 "+file)
	sent, err := send(l, c, c.Flows, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	t.NoteDisturbed(r.DisturbedStrictly(nil, 10*unit.Millisecond)...)
	x := r.Captured
	if len(r.Errors()) > 0 || x == nil || x.Error != "" || x.Cut != unit.Never {
		t.Fatalf("%v, %+v", r.Errors(), x)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := replay(t, c, "s1", b)
	t.Logf("%d frames in, %d out, %d bytes", got.In, got.Out, len(b))
	if got.First != nil || got.In != x.In || got.Out != x.Out {
		t.Errorf("%+v of %+v: %v", got, x, got.First)
	}
	if got.In+got.Out < 10_000 || got.Out < 5_000 {
		t.Fatalf("only %d frames came in and %d went out", got.In, got.Out)
	}
	mutant, err := figure5("19 packets")
	if err != nil {
		t.Fatal(err)
	}
	if m := replay(t, mutant, "s1", b); m.First == nil {
		t.Error("a q_base of one packet less gives the same")
	} else {
		t.Logf("with a q_base of one packet less, of %d frames %d are the same, and then %.200s…", got.Out, m.Out, m.First)
	}
	less, gone := without(t, b, "s1", 1000)
	if m := replay(t, c, "s1", less); !gone || m.First == nil {
		t.Error("nobody sees that a frame did not come in")
	}
	for i, f := range r.Flows {
		payload := float64(f.Bytes)
		if f.Packets < 100 || payload > 1.2*float64(sent[i])+1e6 || f.DelaySum/unit.Time(f.Packets) < 10*unit.Millisecond ||
			f.DelayMin < 10*unit.Millisecond || f.DelayMax > unit.Second {
			t.Errorf("flow %d: %+v; %d bytes arrived", i, f, sent[i])
		}
	}
}

// happening has two hosts at a switch with a link that is slow at first, then fast, then down.
func happening() *lab.Config {
	c, err := figure5("")
	if err != nil {
		panic(err)
	}
	c.Lead, c.Warmup, c.Duration = 0, 100*unit.Millisecond, 4*unit.Second
	c.Flows = c.Flows[:1]
	c.Wiring.Events = []wiring.Event{
		{At: 0, Link: 2, Rate: unit.LinkRate{Bits: 5 * unit.Mbps}},
		{At: 1500 * unit.Millisecond, Link: 2, Rate: unit.LinkRate{Bits: 40 * unit.Mbps}},
		{At: 3 * unit.Second, Link: 2, Down: true},
	}
	c.Watches = []outcome.Watch{{What: 2, Index: 4, Every: 100 * unit.Millisecond}} // SentBytes of s1->server
	c.Wiring.Network.Links[2].Loss = 0.001
	return c
}

// TestDataPlane_AppliesLinkEvents checks that events of links happen at their times, with real traffic. The
// throughput is at most the present rate, and no frame arrives while the link is down.
func TestDataPlane_AppliesLinkEvents(t *testing.T) { realtime.Test(t, eventsOfLinks) }

func eventsOfLinks(t *realtime.Try) {
	lab.NeedRoot(t)
	c := happening()
	l, p := start(t, c, "happening ")
	if _, err := send(l, c, c.Flows, 4200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	r, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	t.NoteDisturbed(r.DisturbedStrictly(nil, 10*unit.Millisecond)...)
	w := r.Watched[0]
	if len(w) != 40 {
		t.Fatalf("%d samples: %v", len(w), w)
	}
	// samples of 100 ms, the first at 100 ms
	mbps := func(from, until int) float64 { return 8 * float64(w[until]-w[from]) / 1e5 / float64(until-from) }
	slow, fast := mbps(4, 13), mbps(16, 28)
	if slow > 5.02 || slow < 2.5 || fast > 40.1 || fast < 10 {
		t.Errorf("%.2f Mb/s of 5, %.2f of 40: %v", slow, fast, w)
	}
	if r.Drops[dataplane.LinkDown] == 0 || r.Ports[4].Capacity != 1.4*5e6+2.5*40e6 {
		t.Errorf("drops %v, capacity %g", r.Drops, r.Ports[4].Capacity)
	}
	if x := r.Ports[4]; x.Lost <= r.Drops[dataplane.LinkDown]/2 || x.TxPackets < 1000 {
		t.Errorf("%+v", x)
	}
}

// TestDataPlane_ReportsItsDeath checks that a data plane that dies during a run is noticed at once, with its output.
func TestDataPlane_ReportsItsDeath(t *testing.T) {
	lab.NeedRoot(t)
	c := happening()
	ended := func(p *lab.DataPlane) error {
		t.Helper()
		<-p.Done()
		err := p.Err()
		if _, stop := p.Stop(); stop == nil || err == nil || stop.Error() != err.Error() {
			t.Errorf("the end was %v, stopping it gives %v", err, stop)
		}
		return err
	}
	_, p := start(t, c, "happening ")
	if err := p.Err(); err != nil {
		t.Error(err)
	}
	if err := kill(p); err != nil {
		t.Fatal(err)
	}
	if err := ended(p); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("killed: %v", err)
	}
	l, p := start(t, c, "happening ")
	if err := l.Close(); err != nil { // its interfaces vanish
		t.Fatal(err)
	}
	if err := ended(p); err == nil || !strings.Contains(err.Error(), "host ") {
		t.Errorf("without interfaces: %v", err)
	}
	_, p = start(t, c, "happening ")
	if _, err := p.Stop(); err != nil || p.Err() != nil {
		t.Errorf("in order: %v, %v", err, p.Err())
	}
	bad := filepath.Join(t.TempDir(), "no", "such", "folder")
	l, err := lab.Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Start(role("figure5 " + bad)); err == nil || !strings.Contains(err.Error(), "capture") {
		t.Errorf("a capture into a folder that is not there: %v", err)
	}
}

// kill ends the process.
func kill(p *lab.DataPlane) error { return syscall.Kill(p.PID(), syscall.SIGKILL) }

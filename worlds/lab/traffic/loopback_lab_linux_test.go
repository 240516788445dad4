//go:build lab

package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// loopback returns a configuration of two hosts in this machine's own namespace that begins in a moment.
func loopback(t testing.TB, flows ...Flow) Config {
	t.Helper()
	book := packet.NewBook()
	for _, a := range []string{"127.0.0.1", "127.0.0.2"} {
		book.Add(netip.MustParseAddr(a), netip.IPv6Loopback())
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return Config{Flows: flows, Epoch: now.Nano() + int64(50*time.Millisecond), Duration: 5 * unit.Second, UntilDone: true,
		Book: book,
		Do:   func(_ int, what func() error) error { return what() }}
}

// port is the last port; each flow takes the next one.
var port = uint16(20000)

// stream returns a flow of TCP from host 0 to host 1.
func stream(version uint8, size unit.Bytes) Flow {
	port++
	return Flow{Src: 0, Dst: 1, SrcPort: port, DstPort: 19999, Version: version, Size: size, Payload: 1448,
		TCP: &TCP{CongestionControl: "reno"}}
}

// datagrams returns a flow of UDP from host 0 to host 1.
func datagrams(t testing.TB, version uint8, size unit.Bytes, c udp.Config) Flow {
	t.Helper()
	port++
	f := Flow{Src: 0, Dst: 1, SrcPort: port, DstPort: 19998, Version: version, Size: size, Payload: 1448}
	schedule(t, &f, c)
	return f
}

// schedule gives a flow its endpoints.
func schedule(t testing.TB, f *Flow, c udp.Config) {
	t.Helper()
	var err error
	f.UDP, f.UDPReceiver, err = udp.New(transport.Flow{Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
		SrcPort: f.SrcPort, DstPort: f.DstPort,
		Version: f.Version, TOS: f.TOS, Start: f.Start, Stop: f.Stop, Size: f.Size, Payload: f.Payload,
		Random: unit.NewRandom(1, "flow")}, c)
	if err != nil {
		t.Fatal(err)
	}
}

// carry runs a configuration, and records whether this process waited for a processor meanwhile.
func carry(t *realtime.Try, c Config) *Result {
	t.Helper()
	waited := runDelays(t)
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if waited = runDelays(t) - waited; waited > 5*unit.Millisecond {
		t.NoteDisturbed(fmt.Sprintf("others: this process waited for a processor for %v", waited))
	}
	if e := r.Errors(); len(e) > 0 {
		t.Errorf("lost: %v", e)
	}
	return r
}

// TestRun_CompletesFlowsOfEachKind checks that a flow of each kind is complete and counted.
func TestRun_CompletesFlowsOfEachKind(t *testing.T) { realtime.Test(t, bothOverLoopback) }

func bothOverLoopback(t *realtime.Try) {
	const size = 1_000_000
	cbr := udp.Config{Rate: 80 * unit.Mbps, Pattern: udp.CBR}
	c := loopback(t, stream(4, size), stream(6, size), datagrams(t, 4, size, cbr), datagrams(t, 6, size, cbr))
	c.UntilDone, c.Duration = false, unit.Second/2
	r := carry(t, c)
	if r.End != TimeUp || r.Time != c.Duration {
		t.Errorf("ended with %s at %v", r.End, r.Time)
	}
	for i, f := range r.Flows {
		if f.Failed != nil || f.FCT == unit.Never || f.Arrived == unit.Never || f.FCT <= 0 || f.Arrived <= 0 ||
			f.Sender.Finished != f.Start+f.FCT || f.Receiver.Finished != f.Arrived || f.Receiver.ReceivedBytes != size ||
			f.Sender.SentBytes != size {
			t.Errorf("flow %d: %+v", i, f)
		}
		if c.Flows[i].TCP == nil {
			if f.Sender.SentPackets != 691 || f.Receiver.ReceivedPackets != 691 || f.Written != unit.Never {
				t.Errorf("flow %d: %+v", i, f)
			}
		} else if f.Written > f.FCT || f.Arrived > f.Start+f.FCT || f.Sender.Written != f.Start+f.Written {
			t.Errorf("flow %d was written at %v, had arrived at %v and was acknowledged at %v", i, f.Written, f.Arrived, f.FCT)
		}
	}
}

// TestRun_MeasuresAfterWarmup checks that the measured part lies between the warm-up's end and the end. An endless flow
// of a constant rate has its share in it, and a flow that ended before has none.
func TestRun_MeasuresAfterWarmup(t *testing.T) { realtime.Test(t, measured) }

func measured(t *realtime.Try) {
	steady, early := stream(4, 0), stream(6, 100_000)
	steady.TCP.Rate, steady.Payload = 8*unit.Mbps, 1000
	udp := datagrams(t, 4, 0, udp.Config{Rate: 8 * unit.Mbps, Pattern: udp.CBR})
	c := loopback(t, steady, early, udp)
	const every = 50 * unit.Millisecond
	c.Warmup, c.Duration = 200*unit.Millisecond, 600*unit.Millisecond
	c.UntilDone = false
	for i := range c.Flows {
		c.Samples = append(c.Samples, Sample{ReceivedBytes, i, every}, Sample{Window, i, every}, Sample{RTT, i, 2 * every})
	}
	r := carry(t, c)
	// On any machine, samples and counters agree, and no more is written than is due.
	for _, i := range []int{0, 2} {
		f, s := &r.Flows[i], r.Sampled[3*i]
		if len(s) != 9 || s[8] > 601_448 {
			t.Errorf("flow %d: samples %v", i, s)
			continue
		}
		if d := f.Receiver.ReceivedBytes - unit.Bytes(s[8]-s[0]); d > 5000 || d < -5000 || f.Receiver.ReceivedBytes <= 0 ||
			f.FCT != unit.Never || f.Arrived != unit.Never || f.Written != unit.Never {
			t.Errorf("flow %d received %v, by samples %d: %+v", i, f.Receiver.ReceivedBytes, s[8]-s[0], f)
		}
	}
	if f := &r.Flows[2]; f.Sender.SentPackets < 276 || f.Sender.SentPackets > 277 { // 0.4 s of 8 Mb/s
		t.Errorf("%d datagrams were sent", f.Sender.SentPackets)
	}
	if f := &r.Flows[1]; f.Sender.SentBytes != 0 || f.Sender.SentPackets != 0 || f.Receiver.ReceivedBytes != 0 ||
		f.FCT == unit.Never {
		t.Errorf("the early flow: %+v", f)
	}
	for i, s := range r.Sampled {
		want := map[bool]int{true: 9, false: 8}[c.Samples[i].Quantity == ReceivedBytes] // at the end, only what counts
		if c.Samples[i].Quantity == RTT {
			want = 4
		}
		if len(s) != want {
			t.Errorf("sample %d: %d of %d", i, len(s), want)
		}
		alive := c.Samples[i].Flow == 0
		for _, x := range s {
			if c.Samples[i].Quantity != ReceivedBytes && (x > 0) != alive {
				t.Errorf("sample %d: %v", i, s)
				break
			}
		}
	}
}

// TestRun_CountsBytesOfUnfinishedFlows checks that the arrived bytes of flows that the run's end cuts off are reported,
// also before the warm-up's end.
func TestRun_CountsBytesOfUnfinishedFlows(t *testing.T) { realtime.Test(t, received) }

func received(t *realtime.Try) {
	const size = 100_000_000
	slow, datagrams := stream(4, size), datagrams(t, 6, size, udp.Config{Rate: 8 * unit.Mbps, Pattern: udp.CBR})
	slow.TCP.Rate, slow.Payload = 8*unit.Mbps, 1000
	c := loopback(t, slow, datagrams)
	c.Warmup, c.Duration, c.UntilDone = 300*unit.Millisecond, 400*unit.Millisecond, false
	c.Samples = []Sample{{ReceivedBytes, 0, 100 * unit.Millisecond}, {ReceivedBytes, 1, 100 * unit.Millisecond}}
	r := carry(t, c)
	for i := range r.Flows {
		f, s := &r.Flows[i], r.Sampled[i]
		if d := f.Received - unit.Bytes(s[len(s)-1]); d < 0 || d > 5000 || f.Received <= f.Receiver.ReceivedBytes ||
			f.FCT != unit.Never {
			t.Errorf("flow %d: %v received, by samples %v, %v of it in the measured part", i, f.Received, s,
				f.Receiver.ReceivedBytes)
		}
	}
}

// TestRun_StartsFlowAfterPredecessors checks that a flow begins when all its predecessors have arrived, TCP or UDP.
func TestRun_StartsFlowAfterPredecessors(t *testing.T) { realtime.Test(t, after) }

func after(t *realtime.Try) {
	first, second := stream(4, 50_000), stream(4, 50_000)
	second.Start = 20 * unit.Millisecond
	third := datagrams(t, 6, 20_000, udp.Config{Rate: 8 * unit.Mbps, Pattern: udp.CBR})
	third.Start = 10 * unit.Millisecond
	back := func(f Flow, after ...int) Flow {
		f.Src, f.Dst, f.Predecessors = 1, 0, after
		return f
	}
	answer := back(stream(6, 10_000), 0, 1, 2)
	message := back(datagrams(t, 4, 10_000, udp.Config{Rate: 8 * unit.Mbps, Pattern: udp.CBR}), 0)
	message.UDP = nil
	message.Begin = func(start unit.Time) transport.Endpoint {
		f := message
		f.Start = start
		schedule(t, &f, udp.Config{Rate: 8 * unit.Mbps, Pattern: udp.CBR})
		return f.UDP
	}
	late := back(stream(4, 1000), 0)
	late.Start = 100 * unit.Millisecond
	again := stream(4, 1000)
	again.Predecessors = []int{3}
	c := loopback(t, first, second, third, answer, message, late, again)
	c.Flows[3].SrcPort, c.Flows[5].SrcPort = 30001, 30002
	r := carry(t, c)
	if r.End != AllDone {
		t.Fatalf("%s: %+v", r.End, r.Flows)
	}
	f := r.Flows
	// If this thread was late, the flows had arrived before it noticed: receivers read the clock after they have
	// notified it.
	if want := max(f[0].Arrived, f[1].Arrived, f[2].Arrived); f[3].Start < want-unit.Millisecond {
		t.Errorf("the answer begins at %v, not at %v", f[3].Start, want)
	}
	if f[4].Start < f[0].Arrived || f[5].Start < late.Start || f[6].Start < f[3].Arrived || f[4].Start > f[3].Start {
		t.Errorf("begin at %v, %v, %v instead of %v, %v, %v", f[4].Start, f[5].Start, f[6].Start, f[0].Arrived, late.Start,
			f[3].Arrived)
	}
	for i := range f {
		if f[i].FCT == unit.Never || f[i].Receiver.ReceivedBytes != c.Flows[i].Size {
			t.Errorf("flow %d: %+v", i, f[i])
		}
	}
	// The run ends with its last flow, as the sender sees it.
	last := unit.Time(0)
	for i := range f {
		last = max(last, f[i].Start+f[i].FCT)
	}
	if r.Time != last {
		t.Errorf("ended at %v, when the last flow did at %v", r.Time, last)
	}
}

// TestRun_StopsEndlessFlow checks that an endless flow stops at its time: no new data is sent, and all sent data
// arrives.
func TestRun_StopsEndlessFlow(t *testing.T) { realtime.Test(t, stops) }

func stops(t *realtime.Try) {
	endless, steady, never := stream(4, 0), stream(6, 0), stream(4, 0)
	endless.Stop, steady.Stop = 200*unit.Millisecond, 200*unit.Millisecond
	endless.TCP.Pacing = true
	steady.TCP.Rate, steady.Payload = 8*unit.Mbps, 1000
	never.Start, never.Stop = unit.Second/10, unit.Second/20
	c := loopback(t, endless, steady, never)
	c.Duration, c.UntilDone = unit.Second, false
	for i := range c.Flows {
		c.Samples = append(c.Samples, Sample{ReceivedBytes, i, 10 * unit.Millisecond},
			Sample{Window, i, 10 * unit.Millisecond})
	}
	r := carry(t, c)
	for i := range 2 {
		f := &r.Flows[i]
		if f.Sender.SentBytes != f.Receiver.ReceivedBytes || f.Sender.SentBytes == 0 || f.Failed != nil {
			t.Errorf("flow %d sent %v, of which %v arrived: %v", i, f.Sender.SentBytes, f.Receiver.ReceivedBytes, f.Failed)
		}
		received, window := r.Sampled[2*i], r.Sampled[2*i+1]
		if k := len(received) - 1; received[k] != received[k-10] || received[k] != int64(f.Receiver.ReceivedBytes) {
			t.Errorf("flow %d goes on: %v", i, received)
		}
		if slices.Max(window[:20]) <= 0 || slices.Max(window[20:]) != -1 {
			t.Errorf("flow %d: window %v", i, window)
		}
	}
	// A write of 1000 bytes at 0, and one each millisecond until 200 ms.
	if got := r.Flows[1].Sender.SentBytes; got != 201_000 {
		t.Errorf("%v sent at 1 MB/s for 200 ms", got)
	}
	if f := r.Flows[2]; f.Sender != (transport.Counters{Received: transport.Received{DelayMin: unit.Never},
		Finished: unit.Never, Written: unit.Never}) || f.Failed != nil {
		t.Errorf("what stops before it starts: %+v", f)
	}
}

// TestRun_AppliesMSSAndPacing checks that a segment is as long as allowed, and TCP itself paces if configured.
func TestRun_AppliesMSSAndPacing(t *testing.T) { realtime.Test(t, options) }

func options(t *realtime.Try) {
	short, paced := stream(4, 200_000), stream(6, 200_000)
	short.TCP.MSS = 1000
	short.TOS, paced.TOS = 0x28, 0x28
	paced.TCP.Pacing = true
	c := loopback(t, short, paced)
	r := carry(t, c)
	// 12 bytes of it are the time stamps' (RFC 7323 appendix A).
	if got := r.Flows[0].Sender.SentPackets; got < 200_000/988 {
		t.Errorf("%d segments of 988 bytes", got)
	}
	if f := r.Flows[1]; f.FCT == unit.Never {
		t.Errorf("%+v", f)
	}
}

// TestShortDatagram checks that the last datagram of a flow may be too short for its header.
func TestShortDatagram(t *testing.T) { realtime.Test(t, shortDatagram) }

func shortDatagram(t *realtime.Try) {
	c := loopback(t, datagrams(t, 4, 3*1448+1, udp.Config{Rate: 80 * unit.Mbps, Pattern: udp.CBR}),
		datagrams(t, 6, 5, udp.Config{Rate: 80 * unit.Mbps, Pattern: udp.CBR}))
	c.UntilDone, c.Duration = false, unit.Second/2
	r := carry(t, c)
	for i, want := range []int64{4, 1} {
		f := &r.Flows[i]
		if f.Receiver.ReceivedPackets != want || f.Receiver.ReceivedBytes != c.Flows[i].Size || f.Arrived == unit.Never ||
			f.Receiver.DelaySum <= 0 || f.Receiver.DelayMax > f.Arrived {
			t.Errorf("flow %d: %+v", i, f)
		}
	}
}

// TestRun_ReportsStrayTraffic checks that traffic of no flow of the run is an error of the run, and counts for no flow.
func TestRun_ReportsStrayTraffic(t *testing.T) { realtime.Test(t, strays) }

func strays(t *realtime.Try) {
	c := loopback(t, datagrams(t, 4, 14480, udp.Config{Rate: 8 * unit.Mbps, Pattern: udp.CBR}), stream(4, 0))
	c.UntilDone, c.Duration = false, unit.Second
	sent := false
	c.Progress = func(now unit.Time) {
		if sent || now < 0 { // sockets are there before time 0
			return
		}
		sent = true
		for network, at := range map[string]string{"udp": "127.0.0.2:19998", "tcp": "127.0.0.2:19999"} {
			if s, err := net.Dial(network, at); err == nil {
				s.Write(make([]byte, 100))
				s.Close()
			}
		}
	}
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost.Strays != 2 || len(r.Errors()) != 1 || r.Flows[0].Receiver.ReceivedBytes != 14480 {
		t.Errorf("%+v: %v", r.Lost, r.Errors())
	}
}

// TestRun_ReportsRefusedConnection checks that a refused connection is an unfinished flow with its reason. Its
// successors do not begin, and the run does not wait for them.
func TestRun_ReportsRefusedConnection(t *testing.T) { realtime.Test(t, refusedFlow) }

func refusedFlow(t *realtime.Try) {
	refused, after, good := stream(4, 1000), stream(4, 1000), stream(4, 1000)
	good.DstPort = 19997
	after.Src, after.Dst, after.Predecessors, after.SrcPort = 1, 0, []int{0}, 30003
	c := loopback(t, refused, after, good)
	x, err := newRun(&c)
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	l := &x.loops[0].(*connections).listeners[0]
	unix.Close(l.fd)
	if l.fd, err = unix.Eventfd(0, 0); err != nil { // to be closed in its place
		t.Fatal(err)
	}
	if err := x.runToEnd(context.Background()); err != nil {
		t.Fatal(err)
	}
	r := x.result
	if f := r.Flows[0]; !errors.Is(f.Failed, unix.ECONNREFUSED) || f.FCT != unit.Never || f.Arrived != unit.Never {
		t.Errorf("%+v", f)
	}
	if f := r.Flows[1]; f.Start != unit.Never || f.FCT != unit.Never {
		t.Errorf("what comes after it: %+v", f)
	}
	if r.Flows[2].FCT == unit.Never || r.End != NoProgress || r.Time > unit.Second {
		t.Errorf("%s at %v: %+v", r.End, r.Time, r.Flows[2])
	}
}

// TestRun_ErrorsNameFlowAndHost checks that errors of this machine name the place and the remedy.
func TestRun_ErrorsNameFlowAndHost(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"flow 0, host 0: congestion control \"nonesuch\": no such file or directory: this kernel does not " +
			"have it; /proc": func(c *Config) {
			c.Flows[0].TCP.CongestionControl = "nonesuch"
		},
		"flow 0, host 1: bind to 192.0.2.1:": func(c *Config) {
			c.Book = packet.NewBook()
			c.Book.Add(netip.MustParseAddr("127.0.0.1"), netip.Addr{})
			c.Book.Add(netip.MustParseAddr("192.0.2.1"), netip.Addr{})
		},
		"flow 0, host 0: flow 0: bind to 192.0.2.1:": func(c *Config) {
			c.Book = packet.NewBook()
			c.Book.Add(netip.MustParseAddr("192.0.2.1"), netip.Addr{})
			c.Book.Add(netip.MustParseAddr("127.0.0.1"), netip.Addr{})
		},
		"flow 0, host 1: no namespace": func(c *Config) {
			do := c.Do
			c.Do = func(node int, what func() error) error {
				if node == 1 {
					return errors.New("no namespace")
				}
				return do(node, what)
			}
		},
	} {
		c := loopback(t, stream(4, 1000))
		change(&c)
		r, err := Run(context.Background(), c)
		if r != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "traffic: ") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// files returns the number of open files of this process.
func files(t *testing.T) int {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(e)
}

// TestRun_LeavesNoFileOrGoroutine checks that a cancelled run ends at once and returns its results. After any end of a
// run no file and no goroutine remains, and threads are as before.
func TestRun_LeavesNoFileOrGoroutine(t *testing.T) {
	before, routines := files(t), runtime.NumGoroutine()
	try := func(cancelled, broken bool) {
		c := loopback(t, stream(4, 0), stream(6, 1000), datagrams(t, 4, 0, udp.Config{Rate: 8 * unit.Mbps, Pattern: udp.CBR}))
		c.Duration, c.UntilDone = unit.Second/2, false
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if cancelled {
			c.Duration = 100 * unit.Second
			c.Progress = func(now unit.Time) {
				if now > 300*unit.Millisecond {
					cancel()
				}
			}
		}
		if broken {
			c.Flows = append(c.Flows, stream(4, 0))
			c.Flows[3].Start = 100 * unit.Millisecond
			n := 0
			c.Do = func(node int, what func() error) error {
				if n++; n == 6 { // the last one to begin
					return errors.New("the namespace has gone")
				}
				return what()
			}
		}
		r, err := Run(ctx, c)
		switch {
		case broken:
			if err == nil || r != nil {
				t.Errorf("%v, %v", r, err)
			}
		case err != nil:
			t.Fatal(err)
		case cancelled:
			if r.End != Interrupted || r.Time <= 0 || r.Time >= c.Duration {
				t.Errorf("%s at %v", r.End, r.Time)
			}
			fallthrough
		default:
			if r.Flows[0].Receiver.ReceivedBytes == 0 || r.Flows[1].FCT == unit.Never || r.Flows[2].Receiver.ReceivedBytes == 0 {
				t.Errorf("%+v", r.Flows)
			}
		}
	}
	try(false, false)
	try(true, false)
	try(false, true)
	// Goroutines end a moment after their work.
	await.AwaitCondition(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= routines })
	if files(t) > before {
		t.Errorf("%d files, of which there were %d", files(t), before)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		id, _ := strconv.Atoi(task.Name())
		if nice, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil && nice > 20 {
			t.Errorf("thread %d has nice %d", id, 20-nice)
		}
	}
}

// TestCancelledBefore checks that a run that is cancelled before its start still ends.
func TestCancelledBefore(t *testing.T) {
	c := loopback(t, stream(4, 0))
	c.Epoch += int64(100 * time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Run(ctx, c)
	if err != nil || r.End != Interrupted || r.Time != 0 || r.Flows[0].Sender.SentBytes != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

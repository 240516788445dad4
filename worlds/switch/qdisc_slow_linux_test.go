//go:build slow

package softswitch_test

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/testkit/realtime"
)

// part has the results of one queueing discipline: goodputs of two users, with one connection and four, and the
// median round trip of datagrams between them.
type part struct {
	users [2]float64
	trip  time.Duration
}

// sum returns the goodput of both users.
func (p *part) sum() float64 { return p.users[0] + p.users[1] }

// measure sends from both users for some seconds, and asks an echo meanwhile.
func (w *wire) measure() (p part, err error) {
	const length = 5 * time.Second
	echo := netip.MustParseAddrPort("10.9.0.3:7")
	done := make(chan error, 2)
	for i, connections := range []int{1, 4} {
		go func() {
			var err error
			p.users[i], err = w.transfer(fmt.Sprintf("u%d", i+1), "sink",
				netip.AddrPortFrom(echo.Addr(), uint16(5001+i)), connections, time.Second, length, "cubic")
			done <- err
		}()
	}
	var c net.Conn
	if err := w.do("u1", func() (err error) { c, err = net.Dial("udp", echo.String()); return err }); err != nil {
		return p, err
	}
	defer c.Close()
	var trips []time.Duration
	b := make([]byte, 64)
	for end := time.Now().Add(length + time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		start := time.Now()
		c.Write(b)
		c.SetReadDeadline(start.Add(200 * time.Millisecond))
		if _, err := c.Read(b); err == nil && time.Since(start) < 200*time.Millisecond && len(trips) < 10000 {
			trips = append(trips, time.Since(start))
		}
	}
	for range 2 {
		if e := <-done; e != nil {
			err = e
		}
	}
	if len(trips) < 20 {
		return p, fmt.Errorf("only %d datagrams came back: %v", len(trips), err)
	}
	slices.Sort(trips)
	p.trip = trips[len(trips)/2]
	return p, err
}

// tc runs it in the switch's namespace.
func (w *wire) tc(program, args string) (string, error) {
	var out []byte
	err := w.do(middle, func() (err error) {
		out, err = exec.Command(program, strings.Fields(args)...).CombinedOutput()
		return err
	})
	return strings.TrimSpace(string(out)), err
}

// TestQdiscs_MatchKernel checks that weir switch's versions of Linux's queueing disciplines give TCP the same
// goodput, within 10 %, and delay other traffic equally: the median is within 10 % or 1 ms. Qdiscs that this kernel
// lacks are named.
func TestQdiscs_MatchKernel(t *testing.T) {
	if _, err := exec.LookPath("tc"); err != nil {
		t.Fatal("iproute2 is needed: ", err)
	}
	w := lay(t, 1500, "u1", "u2", "sink")
	w.echo("sink", netip.MustParseAddrPort("10.9.0.3:7"))
	c := choose(qdiscs, func(args string) (string, error) { return w.tc("tc", args) })
	for _, wrong := range c.wrong {
		t.Error(wrong)
	}
	t.Logf("this kernel has %s; it lacks %s", strings.Join(names(c.has), ", "), strings.Join(c.lacks, ", "))
	if len(c.has) == 0 {
		t.Skip("this kernel has none of the qdiscs")
	}
	for _, q := range c.has {
		t.Run(q.name, func(t *testing.T) {
			realtime.Test(t, func(try *realtime.Try) { w.on(try).compare(try, q) })
		})
	}
}

// compare measures both ways.
func (w *wire) compare(try *realtime.Try, q qdisc) {
	defer try.WatchIdle()()
	theirs, err := w.kernel(q)
	if err != nil {
		try.Fatal(err)
	}
	ours, err := w.weir(q)
	if err != nil {
		try.Fatal(err)
	}
	said := fmt.Sprintf("kernel %.1f + %.1f Mb/s, %v; weir %.1f + %.1f Mb/s, %v", theirs.users[0]/1e6, theirs.users[1]/1e6,
		theirs.trip.Round(10*time.Microsecond), ours.users[0]/1e6, ours.users[1]/1e6, ours.trip.Round(10*time.Microsecond))
	try.Log(said)
	near := math.Abs(ours.sum()-theirs.sum()) <= 0.1*theirs.sum()
	for i := range theirs.users {
		near = near && (!q.fair || math.Abs(ours.users[i]-theirs.users[i]) <= 0.1*theirs.users[i])
	}
	if !near {
		try.Errorf("the rates differ: %s", said)
	}
	if apart := (ours.trip - theirs.trip).Abs(); apart > time.Millisecond && apart > theirs.trip/10 {
		try.Errorf("the round trips differ: %s", said)
	}
}

// kernel measures a bridge of the kernel with the qdisc at the port to the sink.
func (w *wire) kernel(q qdisc) (p part, err error) {
	commands := []string{"ip link add br0 type bridge"}
	for _, port := range w.hosts {
		commands = append(commands, "ip link set "+port+" master br0 up")
	}
	commands = append(commands, "ip link set br0 up")
	for _, x := range q.tc {
		commands = append(commands, "tc "+x)
	}
	for _, x := range commands {
		program, args, _ := strings.Cut(x, " ")
		if said, err := w.tc(program, args); err != nil {
			return p, fmt.Errorf("%s: %w: %s", x, err, said)
		}
	}
	defer func() {
		w.tc("tc", "qdisc del dev sink root")
		w.tc("ip", "link del br0")
	}()
	return w.measure()
}

// weir measures weir switch.
func (w *wire) weir(q qdisc) (part, error) {
	s := w.open(q.file())
	defer s.stop()
	return w.measure()
}

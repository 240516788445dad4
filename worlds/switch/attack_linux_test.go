//go:build lab || slow

package softswitch_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/core/unit"
	"weir/internal/ring"
	"weir/internal/rtnl"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
	softswitch "weir/worlds/switch"
)

// flood sends an attack's frames at its rate until stop is closed, and returns how many it has sent.
func flood(x *softswitch.Attack, s *ring.Socket, stop <-chan struct{}) (sent int) {
	start, owed := time.Now(), unit.Time(0)
	for {
		select {
		case <-stop:
			return sent
		default:
		}
		now := unit.Time(time.Since(start)) * unit.Nanosecond
		if owed < now-50*unit.Millisecond { // this process was stopped: nobody could send so fast
			owed = now - 50*unit.Millisecond
		}
		for owed < now {
			if cycle := x.On + x.Off; cycle > 0 && owed%cycle >= x.On {
				owed += cycle - owed%cycle
				continue
			}
			f := x.Frame(sent)
			if !s.Put(f) {
				break
			}
			sent++
			owed += unit.Time(8*len(f)) * unit.Second / unit.Time(softswitch.AttackRate)
		}
		s.Flush() // what finds no room now has to wait
		time.Sleep(500 * time.Microsecond)
	}
}

// attacked runs a TCP user that a switch's file names at one port, and an attacker at another.
func attacked(t *testing.T, x *softswitch.Attack) {
	realtime.Test(t, func(t *realtime.Try) {
		w := lay(t, 1500, "left", "right", "evil")
		w.loopback()
		w.open(`
ports:
  left: {interface: left}
  right: {interface: right, rate: 50Mbps, buffer: 100 packets}
  evil: {interface: evil}
switch: [forward, {abc: {aggregates: {10.9.0.1: 10kbps}}}]
metrics: 9465
`)
		defer w.judge(t)()
		s := w.socket("evil", 1504)
		const want = softswitch.Kept * softswitch.Part * 50e6 * 1448 / 1514
		stop, sent := make(chan struct{}), make(chan int)
		go func() { sent <- flood(x, s, stop) }()
		got, err := w.transfer("left", "right", netip.AddrPortFrom(softswitch.Receiver, 5001), 1, 500*time.Millisecond,
			2*time.Second, "cubic")
		close(stop)
		n := <-sent
		if err != nil {
			t.Logf("no connection: %v", err)
		}
		t.Logf("%.2f Mb/s, at least %.2f; %d frames of the attack", got/1e6, want/1e6, n)
		if got < want {
			t.Errorf("the victim keeps %.2f Mb/s, want %.2f", got/1e6, want/1e6)
		}
	})
}

// maxLateness is the maximum lateness of a frame that does not count as late.
const maxLateness = 2 * time.Millisecond

// lateness counts frames, and those that left later than maxLateness.
type lateness struct{ frames, late atomic.Int64 }

// add counts a frame that left that much later than it should have.
func (c *lateness) add(by time.Duration) {
	c.frames.Add(1)
	if by > maxLateness {
		c.late.Add(1)
	}
}

// judge records the machine's disturbances of a switch at the end of an attempt, and needs its metrics. These are
// frames that left the switch or the relay of lengthen late, frames lost in its rings, and hosts without a
// processor.
func (w *wire) judge(try *realtime.Try) (end func()) {
	try.Helper()
	before, busy := w.metrics(), try.WatchIdle()
	relay := w.relay
	if relay == nil {
		relay = &lateness{}
	}
	relayed, relayedLate := relay.frames.Load(), relay.late.Load()
	return func() {
		busy()
		after := w.metrics()
		since := func(key string) float64 { return after[key] - before[key] }
		all := since("weir_switch_lateness_seconds_count")
		disturbedByLateness(try, "", all, all-since(`weir_switch_lateness_seconds_bucket{le="0.002"}`))
		disturbedByLateness(try, " in the relay", float64(relay.frames.Load()-relayed),
			float64(relay.late.Load()-relayedLate))
		for key := range after {
			if strings.HasPrefix(key, "weir_switch_ring_lost_frames_total{") && since(key) > 0 {
				try.NoteDisturbed(fmt.Sprintf("%.0f frames lost in rings", since(key)))
			}
		}
	}
}

// disturbedByLateness records a disturbance where more than one frame in a thousand was late.
func disturbedByLateness(try *realtime.Try, where string, frames, late float64) {
	if late > frames/1000 {
		try.NoteDisturbed(fmt.Sprintf("%.0f of %.0f frames late by more than %v%s", late, frames, maxLateness, where))
	}
}

const metricsPort = "9465"

// scrape reads the metrics, in a text format or as OpenMetrics, through a socket in the
// switch's namespace.
func (w *wire) scrape(accept string) (text, kind string, err error) {
	client := http.Client{Timeout: await.HangLimit, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(_ context.Context, network, address string) (c net.Conn, err error) {
			err = w.do(middle, func() (err error) { c, err = net.Dial(network, address); return err })
			return c, err
		}}}
	r, err := http.NewRequest("GET", "http://127.0.0.1:"+metricsPort+"/metrics", nil)
	if err != nil {
		return "", "", err
	}
	r.Header.Set("Accept", accept)
	a, err := client.Do(r)
	if err != nil {
		return "", "", err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", a.Status, b)
	}
	return string(b), a.Header.Get("Content-Type"), err
}

// metrics returns the values of a page, by name and labels as written in the page. The data plane must have
// answered, for which the switch waits half a second only.
func (w *wire) metrics() (m map[string]float64) {
	w.t.Helper()
	await.AwaitCondition(w.t, "an answer of the data plane",
		func() bool { m = w.shown(); return m["weir_switch_up"] == 1 })
	return m
}

// shown returns the metrics of the page, whether or not the data plane answers.
func (w *wire) shown() map[string]float64 {
	w.t.Helper()
	text, _, err := w.scrape("text/plain")
	if err != nil {
		w.t.Fatal(err)
	}
	values := map[string]float64{}
	for _, line := range strings.Split(text, "\n") {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			if v, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
				values[line[:at]] = v
			}
		}
	}
	return values
}

// loopback sets the switch's namespace's own loopback up, which metrics need.
func (w *wire) loopback() {
	w.in(middle, func(c *rtnl.Conn) error {
		lo, err := c.InterfaceByName("lo")
		if err != nil {
			return err
		}
		return c.SetUp(lo.Index)
	})
}

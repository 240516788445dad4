//go:build lab

package softswitch_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/core/unit"
	"weir/internal/ring"
	"weir/worlds/softswitch"
)

// worst are attacks that left the victim next to nothing when frames that belong to no user were nobody's, and that
// a busy machine can send; the rest of them is for the slow tests.
var worst = []string{"IPv4 longer than its frame", "solicitations of 1500 bytes, hop limit 64", "Ethernet type 0x88b5",
	"sources within a /64", "changing sources of IPv4"}

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

// On a real switch, too, a TCP user whom the file names keeps 0.8 of its half of the link from an attacker.
func TestAbuseOnTheWire(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds for each attack")
	}
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
	s := w.socket("evil", 1504)
	to := netip.AddrPortFrom(softswitch.Receiver, 5001)
	for _, x := range softswitch.Attacks() {
		if !everyAttack && !slices.Contains(worst, x.Name) {
			continue
		}
		t.Run(strings.ReplaceAll(x.Name, "/", "_"), func(t *testing.T) {
			const want = softswitch.Kept * softswitch.Part * 50e6 * 1448 / 1514
			for try := 1; ; try++ {
				before := w.metrics()
				stop, sent := make(chan struct{}), make(chan int)
				go func() { sent <- flood(&x, s, stop) }()
				got, err := w.transfer("left", "right", to, 1, 500*time.Millisecond, 2*time.Second, "cubic")
				close(stop)
				n := <-sent
				if err != nil {
					t.Logf("no connection: %v", err)
				}
				after := w.metrics()
				since := func(key string) float64 { return after[key] - before[key] }
				all := since("weir_switch_lateness_seconds_count")
				late := all - since(`weir_switch_lateness_seconds_bucket{le="0.002"}`)
				t.Logf("%.2f Mb/s, at least %.2f; %d frames of the attack, %.0f of %.0f left late by more than 2 ms", got/1e6,
					want/1e6, n, late, all)
				if got >= want {
					return
				}
				if late <= all/1000 && since(`weir_switch_ring_lost_frames_total{port="left"}`) == 0 {
					t.Errorf("the victim keeps %.2f Mb/s", got/1e6)
					return
				}
				if try == 5 {
					t.Skip("disturbed: the machine disturbed five runs")
				}
			}
		})
	}
}

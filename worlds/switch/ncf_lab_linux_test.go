//go:build lab

package softswitch_test

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/testkit/realtime"
)

// set4 writes a parameter of IPv4 in a host, as sysctl(8) does.
func (w *wire) set4(host, name, value string) {
	w.t.Helper()
	err := w.do(host, func() error { return os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0) })
	if err != nil {
		w.t.Fatal(err)
	}
}

// resent returns the number of TCP segments that a host has retransmitted.
func (w *wire) resent(host string) (n int) {
	w.t.Helper()
	err := w.do(host, func() error {
		data, err := os.ReadFile("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		var names []string
		for _, line := range strings.Split(string(data), "\n") {
			f := strings.Fields(line)
			if len(f) == 0 || f[0] != "Tcp:" {
				continue
			}
			if names == nil {
				names = f
				continue
			}
			for i, x := range names {
				if x == "RetransSegs" {
					n, err = strconv.Atoi(f[i])
				}
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// TestKernelObeysEchoes checks that the kernel's CUBIC and Reno obey copies of their ACKs with ECE: one flow loses no
// packet, and loses some through the same switch without notices. A copy causes no retransmission, with SACK and
// without: without SACK a copy is a duplicate ACK (RFC 5681 §2), and there is one a window. Eight flows lose packets in
// slow start. A flow that becomes an elephant changes its queue in slow start and is reordered once, so
// retransmissions count after the first second.
func TestKernelObeysEchoes(t *testing.T) {
	lab := lay(t, 1500, "left", "right")
	lab.loopback()
	port := uint16(5100)
	for _, x := range []struct {
		cc, sack, options string
		flows             int
		obeys             bool
	}{
		{"cubic", "1", "nack: none, bandwidth: equal", 1, false},
		{"cubic", "1", "form: ece, early: 20%", 1, true},
		{"cubic", "0", "form: ece, early: 20%", 1, true},
		{"cubic", "1", "form: ece, early: 20%", 8, true},
		{"reno", "0", "form: ece, early: 20%", 8, true},
	} {
		t.Run(fmt.Sprint(x.cc, " sack ", x.sack, ", ", x.flows, ", ", x.options), func(t *testing.T) {
			realtime.Test(t, func(t *realtime.Try) {
				w := lab.on(t)
				for _, host := range []string{"left", "right"} {
					w.set4(host, "tcp_ecn", "1")
					w.set4(host, "tcp_sack", x.sack)
				}
				programs := "[forward, {ncf: {round_trip: 10ms, " + x.options + "}}]"
				w.open(fmt.Sprintf(shaped, "20Mbps", 100, programs, "9465") + "queues: 3\nscheduler: ncf\n")
				defer w.judge(t)()
				type counts struct{ told, lost, resent float64 }
				count := func() counts {
					n := counts{resent: float64(w.resent("left"))}
					for k, v := range w.metrics() {
						switch {
						case strings.HasPrefix(k, "weir_ncf_notices_total"):
							n.told += v
						case strings.HasPrefix(k, "weir_switch_dropped_frames_total"):
							n.lost += v
						}
					}
					return n
				}
				port++
				at := netip.AddrPortFrom(netip.MustParseAddr("10.9.0.2"), port)
				before, second, ended := count(), time.After(time.Second), make(chan error, 1)
				var got float64
				go func() {
					var err error
					got, err = w.transfer("left", "right", at, x.flows, time.Second, 2*time.Second, x.cc)
					ended <- err
				}()
				<-second
				middle := count()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				after := count()
				told, lost := after.told-before.told, after.lost-before.lost
				lostLate, resent := after.lost-middle.lost, after.resent-middle.resent
				text := fmt.Sprintf("%.2f Mb/s, %.0f told, %.0f lost, after the first second %.0f lost and %.0f sent again",
					got/1e6, told, lost, lostLate, resent)
				t.Log(text)
				if resent > lostLate+float64(3*x.flows) {
					t.Errorf("too much is sent again: %s", text)
				}
				if got <= 0.9*20e6*1448/1514 || x.obeys != (told > 0) || x.flows == 1 && x.obeys != (lost == 0) {
					t.Errorf("it does not obey, or has too little: %s", text)
				}
			})
		})
	}
}

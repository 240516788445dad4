//go:build lab

package iperf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/internal/testkit"
	"weir/internal/testkit/labtest"
	"weir/internal/testkit/realtime"
	"weir/worlds/lab"
	"weir/worlds/lab/traffic"
)

func TestMain(m *testing.M) { labtest.RunMain(m) }

func needIperf(t testing.TB) {
	t.Helper()
	testkit.RequireProgram(t, "iperf3", "iperf3")
}

// between returns flows from the dumbbell's client to its server.
func between(l *lab.Network, d labtest.Dumbbell, epoch int64, flows ...traffic.Flow) traffic.Config {
	for i := range flows {
		flows[i].Src, flows[i].Dst = labtest.Client, labtest.Server
	}
	return traffic.Config{
		Flows: flows, Epoch: epoch, Warmup: unit.Second, Duration: 4 * unit.Second,
		Book: d.Config().Wiring.Hosts, Do: l.Do,
	}
}

// datagrams returns a flow of UDP.
func datagrams(t testing.TB, f traffic.Flow, rate unit.Rate) traffic.Flow {
	t.Helper()
	s, r, err := udp.New(transport.Flow{Src: labtest.Client + 1, Dst: labtest.Server + 1, SrcPort: f.SrcPort,
		DstPort: f.DstPort, Version: f.Version, Payload: f.Payload},
		udp.Config{Rate: rate, Pattern: udp.CBR})
	if err != nil {
		t.Fatal(err)
	}
	f.TCP, f.UDP, f.UDPReceiver = nil, s, r
	return f
}

// children returns the processes of this one that run iperf3, or ran it.
func children(t *testing.T) (all []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if w := strings.Fields(rest); len(w) > 1 && w[1] == strconv.Itoa(os.Getpid()) &&
			strings.Contains(string(b), "(iperf3)") {
			all = append(all, string(b))
		}
	}
	return all
}

// TestRun_GoodputMatchesTraffic checks that a TCP flow has the line's share of payload, and a UDP flow its rate, as
// with package traffic: within 3 %.
func TestRun_GoodputMatchesTraffic(t *testing.T) {
	needIperf(t)
	d := labtest.Dumbbell{Rate: 50 * unit.Mbps, Delay: 2500 * unit.Microsecond, Packets: 1000}
	tcp := func(testing.TB) traffic.Flow {
		return newTCPFlow(func(f *traffic.Flow) { f.TCP.CongestionControl = "cubic" })
	}
	udp := func(t testing.TB) traffic.Flow {
		return datagrams(t, newTCPFlow(func(f *traffic.Flow) { f.Version, f.Payload = 6, 1428 }), 10*unit.Mbps)
	}
	for _, x := range []struct {
		name string
		flow func(t testing.TB) traffic.Flow
		want float64 // Mb/s: of TCP with time stamps, 1448 of 1514 bytes are payload
	}{{"TCP over IPv4", tcp, 50 * 1448. / 1514}, {"UDP over IPv6", udp, 10}} {
		t.Run(x.name, func(t *testing.T) {
			realtime.Test(t, func(t *realtime.Try) {
				l, p := labtest.OpenDumbbell(t, d)
				defer disturbed(t, p)
				soon := func() int64 { return monotonicNow() + int64(200*time.Millisecond) }
				ours, err := traffic.Run(t.Context(), between(l, d, soon(), x.flow(t)))
				if err != nil {
					t.Fatal(err)
				}
				theirs, err := Run(t.Context(), between(l, d, soon(), x.flow(t)))
				if err != nil {
					t.Fatal(err)
				}
				a, b, f := float64(ours.Flows[0].Receiver.ReceivedBytes)*8/3e6, float64(theirs.goodput(0))/1e6, theirs.Flows[0]
				t.Logf("traffic %.3f Mb/s, iperf %s %.3f, possible %.3f; begun after %v, lost %+v, sent again %d and %d",
					a, theirs.Version, b, x.want, theirs.StartLateness.Max, theirs.Lost[0], ours.Flows[0].Sender.Retransmitted,
					f.Sender.Retransmitted)
				if theirs.Version == "" || theirs.Uncovered[0] > 0 || theirs.End != traffic.TimeUp || theirs.Ports[0] != 5001 {
					t.Errorf("%+v", theirs)
				}
				if b < 0.97*a || b > 1.03*a || b < 0.97*x.want || b > 1.01*x.want {
					t.Errorf("iperf %.3f Mb/s, traffic %.3f, possible %.3f: they differ by more than 3 %%", b, a, x.want)
				}
				if ours.Flows[0].Receiver.ReceivedPackets > 0 && x.want == 10 &&
					(f.Receiver.ReceivedPackets < 2500 || f.Sender.SentPackets < 2500 || theirs.Lost[0].Share() > 0.01) {
					t.Errorf("datagrams are missing: %+v, lost %+v", f, theirs.Lost[0])
				}
			})
		})
	}
}

// disturbed stops a data plane at the end of an attempt, and records the machine's disturbances.
func disturbed(try *realtime.Try, p *lab.DataPlane) {
	if r, err := p.Stop(); err == nil {
		try.NoteDisturbed(r.DisturbedStrictly(nil, 10*unit.Millisecond)...)
	}
}

// TestRun_FlowsToOnePortKeepRates checks two flows to one port; one begins later and ends earlier.
func TestRun_FlowsToOnePortKeepRates(t *testing.T) {
	needIperf(t)
	realtime.Test(t, func(t *realtime.Try) {
		d := labtest.Dumbbell{Rate: 20 * unit.Mbps, Delay: 2 * unit.Millisecond, Packets: 100}
		l, p := labtest.OpenDumbbell(t, d)
		defer disturbed(t, p)
		c := between(l, d, monotonicNow()+int64(300*time.Millisecond),
			newTCPFlow(func(f *traffic.Flow) { f.TCP.Rate = 4 * unit.Mbps }),
			newTCPFlow(func(f *traffic.Flow) {
				f.SrcPort, f.Start, f.Stop, f.TCP = 10001, 2*unit.Second, 3*unit.Second, &traffic.TCP{Rate: 6 * unit.Mbps,
					Pacing: true}
			}))
		var reported []unit.Time
		c.Progress = func(now unit.Time) { reported = append(reported, now) }
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := r.goodput(0), r.goodput(1); a < 3800*unit.Kbps || a > 4200*unit.Kbps || b < 1800*unit.Kbps ||
			b > 2200*unit.Kbps {
			t.Errorf("%v and %v, want 4Mbps and, of 3 s for 1 s, 6Mbps", a, b)
		}
		if r.Ports[0] != 5001 || r.Ports[1] != 5002 || len(reported) < 2 || r.StartLateness.Count() != 2 {
			t.Errorf("%+v, reported %v", r, reported)
		}
	})
}

// TestRun_LosesHalfOfDoubleRate checks that half of the datagrams are lost at twice the link's rate.
func TestRun_LosesHalfOfDoubleRate(t *testing.T) {
	needIperf(t)
	realtime.Test(t, func(t *realtime.Try) {
		d := labtest.Dumbbell{Rate: 20 * unit.Mbps, Delay: 2 * unit.Millisecond, Packets: 100}
		l, p := labtest.OpenDumbbell(t, d)
		defer disturbed(t, p)
		u := datagrams(t, newTCPFlow(nil), 40*unit.Mbps)
		r, err := Run(t.Context(), between(l, d, monotonicNow()+int64(300*time.Millisecond), u))
		if err != nil {
			t.Fatal(err)
		}
		// 1448 of 1490 bytes.
		got, want, lost := float64(r.goodput(0)), 20e6*1448/1490, r.Lost[0]
		// A client without a processor for some of the 3 s has sent less than 40 Mb/s. It sends the backlog in bursts,
		// which the switch drops.
		sent := float64(lost.Total) * 1448 * 8 / 3
		if sent < 0.97*40e6 {
			t.NoteDisturbed(fmt.Sprintf("others: the client sent %.1f of 40 Mb/s", sent/1e6))
		}
		if got < 0.97*want || got > 1.01*want || lost.Share() < 0.47 || lost.Share() > 0.56 {
			t.Errorf("%.0f of %.0f bit/s, lost %.3f of %.0f bit/s that were sent", got, want, lost.Share(), sent)
		}
	})
}

// TestRun_CancelLeavesNoProcess checks that no process remains after a cancellation, or after a failure of iperf3.
func TestRun_CancelLeavesNoProcess(t *testing.T) {
	needIperf(t)
	d := labtest.Dumbbell{Rate: 20 * unit.Mbps, Delay: 2 * unit.Millisecond, Packets: 100}
	l, _ := labtest.OpenDumbbell(t, d)
	t.Setenv("TMPDIR", t.TempDir())
	clean := func(when string) {
		t.Helper()
		left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
		if all := children(t); err != nil || len(all) > 0 || len(left) > 0 {
			t.Errorf("%s, these are left: %q, %q, %v", when, all, left, err)
		}
	}
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 700 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, err := Run(ctx, between(l, d, monotonicNow()+int64(200*time.Millisecond), newTCPFlow(nil),
			newTCPFlow(func(f *traffic.Flow) { f.SrcPort, f.Start = 10001, unit.Second })))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled after %v: %v", after, err)
		}
		clean("cancelled after " + after.String())
	}
	noSuch := newTCPFlow(func(f *traffic.Flow) { f.TCP.CongestionControl = "nosuch" })
	_, err := Run(t.Context(), between(l, d, monotonicNow(), noSuch))
	if err == nil || !strings.Contains(err.Error(), "TCP_CONGESTION") {
		t.Error(err)
	}
	t.Log(err)
	clean("after an error")
	t.Setenv("PATH", "")
	if _, err := Run(t.Context(), between(l, d, monotonicNow(), newTCPFlow(nil))); !errors.Is(err, ErrMissing) ||
		!strings.Contains(err.Error(), "install Debian's package iperf3") {
		t.Errorf("without iperf3: %v", err)
	}
}

package tcp

import (
	"fmt"
	"math"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// spy passes everything on and keeps the last ACK.
type spy struct {
	cc.Controller
	ack  cc.Ack
	seen func(a *cc.Ack)
}

func (s *spy) OnAck(now unit.Time, a *cc.Ack) {
	s.ack = *a
	if s.seen != nil {
		s.seen(a)
	}
	s.Controller.OnAck(now, a)
}

// TestCubicCurve checks RFC 9438 §4.2, equations 1 and 2: between losses the window is C·(t − K)³ + W_max, K = ∛((W_max
// − cwnd)/C), to a packet. The sender is paced, so ACKs arrive continuously and not once per round trip.
func TestCubicCurve(t *testing.T) {
	for _, variant := range []string{cubic.Linux, cubic.RFC9438} {
		t.Run(variant, func(t *testing.T) {
			w := newPipe(t, "cubic", 0, func(c *Config) {
				c.Autotuning, c.Bursts, c.Pacing, c.InitialWindow = false, false,
					true, 500
			})
			w.unchecked = true
			config := cubic.Defaults()
			config.HyStart, config.Variant = cubic.NoHyStart, variant
			w.s.control.Controller = cubic.New(
				cc.Flow{MSS: 1448, MTU: 1500, InitialWindow: 500, Random: w.s.flow.Random}, config)
			w.s.control.ReadDecision()
			w.rate, w.nic, w.limit, w.delay = 100*unit.Gbps, 100*unit.Gbps, 0, 25*ms
			n := 0
			w.onData = func(*packet.Packet) (bool, unit.Time) { n++; return n != 100, 0 }
			for w.s.state != cc.Recovery && w.step(unit.Second) {
			}
			most := float64(w.s.prr.prior)
			for w.s.state == cc.Recovery && w.step(unit.Second) {
			}
			start := w.s.cwnd()
			if math.Abs(float64(start)-0.7*most) > 1 {
				t.Fatalf("after the loss the window is %d, before it was %g", start, most)
			}
			epoch := w.now
			w.runUntil(w.now + 150*ms) // ACKs of packets that recovery bunched up
			k := math.Cbrt((most - float64(start)) / 0.4)
			worst := 0.0
			for w.now < epoch+unit.Time(k*1.5)*unit.Second {
				w.runUntil(w.now + 50*ms)
				at := (w.now - epoch).Seconds() - k
				worst = max(worst, math.Abs(float64(w.s.cwnd())+0.5-(0.4*at*at*at+most))-0.5) // a window is of whole packets
			}
			t.Logf("%s: W_max %g, K %.2f s, largest difference %.2f packets", variant, most, k, worst)
			if worst > 1 {
				t.Errorf("%s: %.2f packets off", variant, worst)
			}
		})
	}
}

// TestDeliveryRate checks draft-cheng-iccrg-delivery-rate-estimation: at a full link a sample is the link's rate, also
// with ACKs that cover two segments. Below it, the sample is the application's rate and is marked so.
func TestDeliveryRate(t *testing.T) {
	link := 50e6 / 8 / 1514.0 // packets per second
	for _, rate := range []unit.Rate{0, 10 * unit.Mbps} {
		t.Run(fmt.Sprint("application's rate ", rate), func(t *testing.T) {
			w := newPipe(t, "cubic", 0, func(c *Config) { c.Rate = rate })
			s := &spy{Controller: w.s.control.Controller}
			w.s.control.Controller = s
			w.runUntil(2 * unit.Second)
			samples, limited, sum, most := 0, 0, 0.0, 0.0
			s.seen = func(a *cc.Ack) {
				if d := a.Delivery; d.Packets > 0 {
					samples++
					x := float64(d.Packets) / d.Interval.Seconds()
					sum += x
					most = max(most, x)
					if d.AppLimited {
						limited++
					}
				}
			}
			w.runUntil(4 * unit.Second)
			want, share := link, 0.0
			if rate > 0 {
				want, share = 10e6/8/1448.0, 1
			}
			testkit.CheckNear(t, "mean delivery rate [packets/s]", sum/float64(samples), want, testkit.Tolerance{Relative: 0.05})
			if most > link*1.02 {
				t.Errorf("a sample of %.0f packets/s; the link carries %.0f", most, link)
			}
			if got := float64(limited) / float64(samples); math.Abs(got-share) > 0.05 {
				t.Errorf("%.0f %% of the samples are limited by the application, want %.0f %%", 100*got, 100*share)
			}
		})
	}
}

// TestBBR_PhasesFollowDraft checks BBR (draft-cardwell-iccrg-bbr-00 §4.3): startup, drain, then cycles of eight phases
// of about a minimum RTT with pacing gains 5/4, 3/4 and six times 1. Every 10 s there are 200 ms with four packets in
// flight. The queue stays short, and no packet is lost.
func TestBBR_PhasesFollowDraft(t *testing.T) {
	w := newPipe(t, "bbr", 0, nil)
	b := w.s.control.Controller.(*bbr.BBR)
	w.delay, w.limit = 10*ms, 400
	var modes []string
	var gains []float64
	var phases []unit.Time
	began, probing := unit.Time(0), unit.Time(0)
	fewest := 1 << 20
	queue, samples, longest := 0, 0, 0
	w.after = func() {
		if m := b.Mode().String(); len(modes) == 0 || modes[len(modes)-1] != m {
			modes = append(modes, m)
			if m == "probe-rtt" {
				probing = w.now
			} else if probing > 0 {
				if d := w.now - probing; d < 200*ms || d > 300*ms {
					t.Errorf("PROBE_RTT took %v", d)
				}
				probing = 0
			}
		}
		if b.Mode() == bbr.ProbeRTT {
			fewest = min(fewest, w.s.inFlight())
		}
		if b.Mode() == bbr.ProbeBandwidth && (len(gains) == 0 || gains[len(gains)-1] != b.PacingGain()) {
			gains = append(gains, b.PacingGain())
			phases = append(phases, w.now-began)
			began = w.now
		}
		if w.now > 5*unit.Second && w.now < 9*unit.Second {
			queue += w.waiting
			samples++
			longest = max(longest, w.waiting)
		}
	}
	w.runUntil(30 * unit.Second)
	want := []string{"startup", "drain", "probe-bw", "probe-rtt", "probe-bw", "probe-rtt"}
	for i := range want {
		if i >= len(modes) || modes[i] != want[i] {
			t.Fatalf("modes %v, want %v …", modes, want)
		}
	}
	for i := 3; i+3 < len(gains) && i < 60; i++ {
		next := map[float64]float64{1.25: 0.75, 0.75: 1, 1: 1.25}[gains[i]]
		if gains[i+1] != next {
			t.Fatalf("gains %v", gains[:i+2])
		}
		rtts := phases[i+1].Seconds() / 0.0203
		if least, most := map[float64]float64{1.25: 0.9, 0.75: 0.02, 1: 5.5}[gains[i]], map[float64]float64{1.25: 3,
			0.75: 1.5, 1: 7.5}[gains[i]]; rtts < least || rtts > most {
			t.Errorf("gain %g for %.1f minimum RTTs", gains[i], rtts)
		}
	}
	if mean := float64(queue) / float64(samples); mean > 20 || longest > 60 || w.drops > 0 {
		t.Errorf("in PROBE_BW the queue is %.1f packets, %d at most, %d dropped; the BDP is 83", mean, longest, w.drops)
	}
	if fewest > 4 {
		t.Errorf("PROBE_RTT: %d in flight", fewest)
	}
	testkit.CheckNear(t, "bandwidth [packets/s]", b.Bandwidth(), 50e6/8/1514, testkit.Tolerance{Relative: 0.02})
	got := w.goodput(0, 0)
	if got < 0.95*47.8 {
		t.Errorf("%.1f Mb/s", got)
	}
}

// TestBBRPolicer checks that a flow below a policer finds its long-term rate (bbr_lt_bw_sampling).
func TestBBRPolicer(t *testing.T) {
	w := newPipe(t, "bbr", 0, nil)
	w.rate, w.limit, w.delay = unit.Gbps, 0, 20*ms
	tokens, at := 100_000.0, unit.Time(0)
	w.onData = func(p *packet.Packet) (bool, unit.Time) { // 20 Mb/s, 100 kB
		tokens = min(100_000, tokens+(w.now-at).Seconds()*20e6/8)
		at = w.now
		if tokens < float64(p.Size) {
			return false, 0
		}
		tokens -= float64(p.Size)
		return true, 0
	}
	w.runUntil(10 * unit.Second)
	sent, lost, b := w.s.counters.SentPackets, w.s.counters.Retransmitted, w.r.counters.ReceivedBytes
	w.runUntil(20 * unit.Second)
	share := float64(w.s.counters.Retransmitted-lost) / float64(w.s.counters.SentPackets-sent)
	if got := w.goodput(b, 10*unit.Second); got < 15 || share > 0.1 {
		t.Errorf("policed to 20 Mb/s: %.1f Mb/s, %.1f %% sent again", got, 100*share)
	}
}

// TestSender_ResendsRenegedData checks RFC 2018 §8: a receiver may drop SACKed data, which is then resent.
func TestSender_ResendsRenegedData(t *testing.T) {
	w := newPipe(t, "reno", 400_000, nil)
	n := 0
	w.onData = func(p *packet.Packet) (bool, unit.Time) { n++; return n != 30, 0 }
	done := false
	w.after = func() {
		if !done && len(w.r.ranges) > 0 && w.r.held > 10_000 {
			done = true
			w.r.ranges, w.r.held, w.r.blockN = nil, 0, 0
		}
	}
	w.runUntil(20 * unit.Second)
	if !done || w.r.counters.ReceivedBytes != 400_000 {
		t.Errorf("reneged %v: %d bytes came", done, w.r.counters.ReceivedBytes)
	}
}

// TestSender_BurstsMatchLinux checks that bursts match Linux's, of about 1 ms at the pacing rate and with PSH at their
// ends. With a window of 136 packets over 33 ms they have 4 and 5 segments (measured on 6.18). A window of 2048 bytes
// is filled with 1448 and 600.
func TestSender_BurstsMatchLinux(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(3 * unit.Second)
	length, bursts := 0, map[int]int{}
	w.emitted = func(p *packet.Packet) {
		if length++; p.TCP.Flags&packet.PSH != 0 {
			bursts[length]++
			length = 0
		}
	}
	w.runUntil(4 * unit.Second)
	all := 0
	for _, n := range bursts {
		all += n
	}
	if n := bursts[4] + bursts[5] + bursts[6]; n*10 < all*9 {
		t.Errorf("lengths of bursts: %v", bursts)
	}
	w.onAck = func(p *packet.Packet) (bool, unit.Time) { p.TCP.Window = 2; return true, 0 }
	w.runUntil(5 * unit.Second)
	sizes := map[int32]int{}
	w.emitted = func(p *packet.Packet) { sizes[p.Payload]++ }
	w.runUntil(6 * unit.Second)
	if len(sizes) != 2 || sizes[1448] < 80 || sizes[600] < 80 {
		t.Errorf("window of 2048 bytes: segments of %v", sizes)
	}
}

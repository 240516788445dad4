//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit"
)

// cause is the signal that made a controller's allowance fall.
type cause int

const (
	byNack cause = iota // OnNotice of a NACK, and OnLoss for it
	byEcho              // ECN: OnLoss of an echo, a CNP, its timers after that
	byAck               // delays, telemetry, delivery rates, the state of recovery
	causes = 3
)

// witness stands between a loop and a controller, and records each fall of the flow's allowance by 0.1 % or more.
// The allowance is the smaller of its rate and its window in a base RTT.
type witness struct {
	cc.Controller
	flow  cc.Flow
	until unit.Time // it looks no longer
	on    bool
	first unit.Time // the first NACK
	// falls counts the reductions before the first NACK and since it; left is the allowance after them.
	falls [2][causes]int
	left  [2][causes]float64
}

func (w *witness) allowed() float64 {
	d := w.Controller.Decision()
	a := float64(d.Window) * 8e12 / float64(w.flow.BaseRTT)
	if d.Rate > 0 {
		a = min(a, float64(d.Rate))
	}
	return a
}

func (w *witness) watch(now unit.Time, by cause, call func()) {
	if !w.on || w.first > 0 && now > w.until {
		call()
		return
	}
	before := w.allowed()
	call()
	if after := w.allowed(); after < before*(1-1e-3) {
		part := 0
		if w.first > 0 {
			part = 1
		}
		w.falls[part][by]++
		w.left[part][by] *= after / before
	}
}

func (w *witness) OnAck(now unit.Time, a *cc.Ack) {
	w.watch(now, byAck, func() { w.Controller.OnAck(now, a) })
}
func (w *witness) OnTimer(now unit.Time) {
	w.watch(now, byEcho, func() { w.Controller.OnTimer(now) })
}

func (w *witness) OnNotice(now unit.Time, n cc.Notice) {
	by := byEcho
	if n.Kind == cc.NackNotice {
		if by = byNack; w.on && w.first == 0 {
			// All packets in flight, and the queue before them, are answered by then.
			w.first, w.until = now, now+w.flow.BaseRTT+waits*unit.TransmitTime(frame, slowed)
		}
	}
	w.watch(now, by, func() { w.Controller.OnNotice(now, n) })
}

func (w *witness) OnLoss(now unit.Time, l cc.Loss) {
	by := byNack
	if l.Kind == cc.ECNEcho {
		by = byEcho
	}
	w.watch(now, by, func() { w.Controller.OnLoss(now, l) })
}

const (
	frame  = 1066 // of 1000 B of payload
	line   = 40 * unit.Gbps
	slowed = 10 * unit.Gbps
	waits  = 40 // packets, the switch's buffer
)

// reaction plays one congestion to one flow. The flow is single on a path of 40 Gb/s and 20 µs, and another flow
// takes three quarters of it from 2 ms on.
func reaction(t *testing.T, s cc.Scheme, nacks string, given ...string) string {
	t.Helper()
	const begin, end = 2 * unit.Millisecond, 4 * unit.Millisecond
	share := func(r unit.Rate) unit.Rate { return unit.Rate(unit.MulDiv(int64(r), 1000, frame)) }
	rtt := 20 * unit.Microsecond
	f := cctest.NewFlow(1, cctest.SetRandom(1, "flow"), cctest.SetPath(cc.Path{NICRate: line, LineRate: share(line),
		BaseRTT: rtt + unit.TransmitTime(frame, line), Hops: 1}))
	c, err := cctest.BuildController(s, f, given...)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = transport.WrapNacks(nacks, c, f); err != nil {
		t.Fatal(err)
	}
	w := &witness{Controller: c, flow: f}
	for part := range w.left {
		for i := range w.left[part] {
			w.left[part][i] = 1
		}
	}
	flow := &cctest.Sender{Controller: w, RTT: rtt, NIC: line, Nacks: cctest.Resend}
	if nacks == transport.NacksLoss {
		flow.Nacks = cctest.Reduce
	}
	b := &cctest.Bottleneck{Rate: line, Frame: frame, Buffer: waits, Flows: []*cctest.Sender{flow},
		Supply: func(b *cctest.Bottleneck, _ *cctest.Sender) unit.Rate { return b.Rate }}
	switch s.ECN {
	case cc.DCTCPMode:
		flow.ECN, b.MarkAt = true, 10
	case cc.CNPMode:
		flow.CNP, b.MarkAt = 50*unit.Microsecond, 10
	}
	b.Run(begin)
	if b.Trimmed > 0 {
		t.Errorf("%s: %d packets are trimmed before there is congestion", s.Name, b.Trimmed)
	}
	w.on = true
	b.Rate = slowed
	start := w.allowed()
	b.Run(begin + 500*unit.Microsecond)
	trimmed, delivered := b.Trimmed, flow.Delivered
	b.Run(end)
	supply := float64(share(slowed))
	row := fmt.Sprintf("%-9s %-7s %5.1f", s.Name, nacks, start/supply)
	if w.first == 0 {
		return row + fmt.Sprintf("  no NACK comes: %s\n", fell(&w.falls[0], &w.left[0]))
	}
	use := float64(flow.Delivered-delivered) * 8000 / (end - begin - 500*unit.Microsecond).Seconds() / supply
	if fallen := w.falls[1][byNack]; nacks == transport.NacksResend && fallen > 0 || nacks == transport.NacksSupply &&
		fallen != 1 {
		t.Errorf("%s, %s: %d reductions by NACKs in a round trip", s.Name, nacks, fallen)
	}
	if nacks == transport.NacksSupply && (trimmed > waits || use < 0.7) {
		t.Errorf("%s: with supply %d packets are trimmed, and %.2f of the rest are used", s.Name, trimmed, use)
	}
	word := "ignores"
	nack, again := w.falls[1][byNack] > 0, w.falls[1][byEcho]+w.falls[1][byAck] > 0
	switch {
	case nack && again:
		word = "twice"
	case nack:
		word = "once"
	case again:
		word = "otherwise"
	}
	return row + fmt.Sprintf("  %-16s %-36s %5d %5d  %4.2f  %s\n", fell(&w.falls[0], &w.left[0]),
		fell(&w.falls[1], &w.left[1]),
		trimmed, b.Trimmed-trimmed, use, word)
}

// fell lists the falls by their cause.
func fell(falls *[causes]int, left *[causes]float64) string {
	var out []string
	for i, name := range [...]string{"nack", "ecn", "ack"} {
		if n := falls[i]; n > 0 {
			out = append(out, fmt.Sprintf("%s ×%.2f (%d)", name, left[i], n))
		}
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, ", ")
}

// reactionsHead explains the columns of the table.
const reactionsHead = "" +
	"# One flow on a path of 40 Gb/s and 20 us, of which another takes three quarters; the switch holds 40 " +
	"packets.\n" +
	"# allow:  what the flow may send (rate, or window in 20 us), as multiple of what is left for it, when " +
	"that begins\n" +
	"# before: falls of that by 0.1 % or more until the first NACK, by what they follow (NACK, ECN, other " +
	"ACKs): what they leave, and how many\n" +
	"# since:  the same from the first NACK on, for a round trip with a full queue\n" +
	"# lost:   packets trimmed in the first 0.5 ms, and in 1.5 ms after; use: of what is left, in these 1.5 ms\n" +
	"# reacts: to the NACK and not again (once), again (twice), only otherwise, or not at all (ignores)\n"

// TestControllers_ReactToNACKsAsRecorded compares the reaction of every standalone controller to one congestion
// with the table in testdata, for each use of NACKs (BS'19 §5, "interplay of control loops"). The table shows which
// controllers react twice and which ignore NACKs:
//
//   - No controller reduces its allowance because of the notice itself (resend). Controllers that only react to losses,
//     and BBR, cause trimming for as long as the congestion lasts. The others follow marks, delays or telemetry.
//   - As a loss, a NACK reduces Reno, CUBIC, DCTCP and Swift. BBR's window follows the data in flight, but its rate
//     does not. DCQCN, TIMELY, HPCC and PowerTCP ignore losses and so react once, to their own signal. Where the table
//     has (2), one congestion halves twice: the smoothed RTT that spaces reductions lags behind a queue that has just
//     filled. Bolt, here without its switches, paces a window in a round trip: its rate falls as the queue makes that
//     longer.
//   - With supply, every controller is down to the available rate at the first NACK, in one reduction. Only TIMELY goes
//     below it, because the queue that remains for a round trip looks like a gradient.
func TestControllers_ReactToNACKsAsRecorded(t *testing.T) {
	given := map[string][]string{
		"timely": {"preset", "hpcc", "t_low", "30us", "t_high", "60us"},
		"dcqcn":  {"preset", "vendor"},
	}
	var out strings.Builder
	out.WriteString(reactionsHead)
	fmt.Fprintf(&out, "%-9s %-7s %5s  %-16s %-36s %5s %5s  %-4s  %s\n", "cc", "nacks", "allow", "before", "since", "lost",
		"later", "use", "reacts")
	for _, s := range Registry().Controllers {
		if s.Receiver != nil || s.Telemetry != telemetry.NoRequest && s.Telemetry != telemetry.HopRecords {
			fmt.Fprintf(&out, "%-9s not in this loop, which has no receiver or digest for it\n", s.Name)
			continue
		}
		for _, nacks := range []string{transport.NacksResend, transport.NacksLoss, transport.NacksSupply} {
			out.WriteString(reaction(t, s, nacks, given[s.Name]...))
		}
	}
	testkit.Golden(t, "nacks.txt", out.String())
}

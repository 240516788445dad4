package cctest

import (
	"testing"

	"weir/core/cc"
	"weir/core/cc/bolt"
	"weir/core/cc/dcqcn"
	"weir/core/cc/none"
	"weir/core/cc/swift"
	"weir/core/cc/timely"
	"weir/core/unit"
)

// fast is a controller for data centres: a rate with bounds, or a window of its own.
type fast struct {
	name        string
	scheme      cc.Scheme
	least, line unit.Rate
	given       []string
}

func (m *fast) make(t testing.TB) cc.Controller {
	c, err := BuildController(m.scheme, NewDatacentreFlow(7), m.given...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (m *fast) model(t testing.TB) *Model {
	return &Model{Controller: m.make(t), OwnRecovery: true, FreeAfterTimeout: true, MinRate: m.least, LineRate: m.line,
		Speed: 1000}
}

const line = 40 * unit.Gbps

var fasts = []fast{
	{"none", none.Scheme(), line, line, nil},
	{"none-bdp", none.Scheme(), unit.Gbps, unit.Gbps, []string{"rate", "1Gbps", "window", "bdp"}},
	{"dcqcn", dcqcn.Scheme(), 100 * unit.Mbps, line, nil},
	{"dcqcn-vendor", dcqcn.Scheme(), unit.Gbps, line, []string{"preset", "vendor"}},
	{"dcqcn-vendor-variable", dcqcn.Scheme(), unit.Gbps, line, []string{"preset", "vendor", "window", "variable"}},
	{"timely", timely.Scheme(), 10 * unit.Mbps, line, []string{"segment", "16kB"}},
	{"timely-ack", timely.Scheme(), 10 * unit.Mbps, line, []string{"update", "ack", "window", "bdp", "t_low", "12us",
		"t_high", "25us"}},
	{"timely-patched", timely.Scheme(), 10 * unit.Mbps, line, []string{"preset", "patched", "t_low", "12us",
		"t_high", "25us"}},
	{"timely-hpcc", timely.Scheme(), unit.Gbps, line, []string{"preset", "hpcc", "t_low", "12us", "t_high", "25us"}},
	{"swift", swift.Scheme(), 0, 0, nil},
	{"bolt", bolt.Scheme(), 0, 0, nil},
	{"bolt-bursts", bolt.Scheme(), 0, 0, []string{"pacing", "below_packet", "min_cwnd", "15 B", "requests", "off"}},
	{"swift-fixed", swift.Scheme(), 0, 0, []string{"hop_delay", "0s", "fs_range", "0s"}},
}

// TestDatacentreModel checks that every controller for data centres keeps the model's invariants, at their speed and at
// wide-area speeds. Two controllers with the same events decide the same.
func TestDatacentreModel(t *testing.T) {
	for _, m := range fasts {
		for i, s := range stories(60) {
			a, b := m.model(t), m.model(t)
			if i%10 == 0 {
				a.Speed, b.Speed = 1, 1
			}
			if err := a.PlayStory(s); err != nil {
				t.Errorf("%s, story %d: %v", m.name, i, err)
				break
			}
			b.PlayStory(s)
			if a.Controller.Decision() != b.Controller.Decision() {
				t.Errorf("%s, story %d: %+v and %+v", m.name, i, a.Controller.Decision(), b.Controller.Decision())
			}
		}
	}
}

func FuzzDatacentreModel(f *testing.F) {
	for i, s := range stories(3) {
		f.Add(uint8(i), s[:400])
	}
	f.Fuzz(func(t *testing.T, which uint8, story []byte) {
		m := fasts[int(which)%len(fasts)]
		if err := m.model(t).PlayStory(story); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	})
}

// brokenRate is a rate-based controller with one mistake.
type brokenRate struct {
	cc.Controller
	decision func(cc.Decision) cc.Decision
	onNotice func(c cc.Controller, now unit.Time, n cc.Notice)
	onTimer  func(c cc.Controller, now unit.Time)
}

func (b *brokenRate) Decision() cc.Decision {
	if b.decision != nil {
		return b.decision(b.Controller.Decision())
	}
	return b.Controller.Decision()
}

func (b *brokenRate) OnNotice(now unit.Time, n cc.Notice) {
	if b.onNotice != nil {
		b.onNotice(b.Controller, now, n)
		return
	}
	b.Controller.OnNotice(now, n)
}

func (b *brokenRate) OnTimer(now unit.Time) {
	if b.onTimer != nil {
		b.onTimer(b.Controller, now)
		return
	}
	b.Controller.OnTimer(now)
}

// TestDatacentreMutants checks that the model finds mistakes of rate-based controllers.
func TestDatacentreMutants(t *testing.T) {
	cnps := 0
	for name, b := range map[string]*brokenRate{
		"exceeds the line": {decision: func(d cc.Decision) cc.Decision { d.Rate += d.Rate / 100; return d }},
		"falls below its least rate": {decision: func(d cc.Decision) cc.Decision {
			if d.Rate < unit.Gbps {
				d.Rate /= 20
			}
			return d
		}},
		"stops": {decision: func(d cc.Decision) cc.Decision {
			if d.Rate < unit.Gbps {
				d.Rate = 0
			}
			return d
		}},
		"rises at every second CNP": {onNotice: func(c cc.Controller, now unit.Time, n cc.Notice) {
			if cnps++; cnps%2 > 0 {
				c.OnNotice(now, n)
			} else if next := c.Decision().NextTimer; next != unit.Never {
				c.OnTimer(next)
			}
		}},
		"leaves its timer set": {onTimer: func(cc.Controller, unit.Time) {}},
		"has a window below a packet": {decision: func(d cc.Decision) cc.Decision {
			if d.Rate < unit.Gbps {
				d.Window = MSS - 1
			}
			return d
		}},
	} {
		t.Run(name, func(t *testing.T) {
			found := false
			for _, s := range stories(100) {
				m := fasts[2].model(t)
				b.Controller = m.Controller
				m.Controller = b
				if m.PlayStory(s) != nil {
					found = true
					break
				}
			}
			if !found {
				t.Errorf("the model does not find a controller that %s", name)
			}
		})
	}
}

// TestDatacentreScripts compares the decisions of controllers for data centres, at their speed, with the files in
// testdata/datacentre.
func TestDatacentreScripts(t *testing.T) {
	var names []string
	for _, m := range fasts {
		names = append(names, m.name)
	}
	checkScripts(t, "testdata/datacentre", names, func(i int) cc.Controller { return fasts[i].make(t) })
}

// TestDatacentreAllocations checks that no controller allocates memory for packets.
func TestDatacentreAllocations(t *testing.T) {
	for _, m := range fasts {
		c := m.make(t)
		a := &cc.Ack{Packets: 1, Bytes: MSS, Advanced: true, RTT: cc.RTT{Sample: 20 * unit.Microsecond}, Next: 1 << 40}
		now := unit.Time(0)
		if n := testing.AllocsPerRun(1000, func() {
			now += 20 * unit.Microsecond
			a.FirstUnacked += MSS
			a.RTT.Sample = 10*unit.Microsecond + now%(30*unit.Microsecond)
			c.OnSend(now, cc.Sent{Bytes: MSS})
			c.OnAck(now, a)
			c.OnNotice(now, cc.Notice{Kind: cc.CNPNotice})
			c.OnNotice(now, cc.Notice{Kind: cc.QueueNotice, Queue: 10 * MSS, Link: line, Sent: now - unit.Microsecond})
			c.OnLoss(now, cc.Loss{Kind: cc.FastRecovery})
			if c.Decision().NextTimer <= now {
				c.OnTimer(now)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations a packet", m.name, n)
		}
	}
}

func BenchmarkOnAck(b *testing.B) {
	for _, m := range fasts {
		b.Run(m.name, func(b *testing.B) {
			c := m.make(b)
			a := &cc.Ack{Packets: 1, Bytes: MSS, Advanced: true, RTT: cc.RTT{Sample: 20 * unit.Microsecond}, Next: 1 << 60}
			rate := unit.Rate(0)
			b.ReportAllocs()
			for i := range b.N {
				now := unit.Time(i) * unit.Microsecond
				a.FirstUnacked += MSS
				a.RTT.Sample = 10*unit.Microsecond + now%(30*unit.Microsecond)
				c.OnAck(now, a)
				rate += c.Decision().Rate
			}
			_ = rate
		})
	}
}

// TestBuildController_RejectsBadParameters checks that BuildController rejects names and values that a scheme does not
// have.
func TestBuildController_RejectsBadParameters(t *testing.T) {
	for _, given := range [][]string{{"preset"}, {"nothing", "1"}, {"ai", "fast"}} {
		if _, err := BuildController(dcqcn.Scheme(), NewDatacentreFlow(1), given...); err == nil {
			t.Errorf("%q is taken", given)
		}
	}
}

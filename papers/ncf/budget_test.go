package ncf

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// TestBudgetRenews checks NCF §4.4, "a short time period" and "re-allocate the memory to maintain a balance". Windows
// in which mice kept their balance return the time, all of it after restore; a budget that is spent to the end returns
// as one. With rolling, each passing n·d returns it.
func TestBudgetRenews(t *testing.T) {
	for _, c := range []struct {
		name    string
		rolling bool
		restore unit.Time
		spent   unit.Time // from 0 on, of 1 ms
		pressed unit.Time // until when mice press, every 100 µs
		at      unit.Time
		left    unit.Time
	}{
		{"spent", false, 4 * ms, ms, 0, ms + 900*us, 0},
		{"pressed for long", false, 4 * ms, ms, 90 * ms, 90*ms + 900*us, 0},
		{"one calm window", false, 4 * ms, ms, 90*ms + 500*us, 92 * ms, 0},
		{"three calm windows", false, 4 * ms, ms, 90*ms + 500*us, 94*ms + 900*us, 0},
		{"restore", false, 4 * ms, ms, 90*ms + 500*us, 95 * ms, ms},
		{"restore of one window", false, ms, ms, 90*ms + 500*us, 92 * ms, ms},
		{"restore by default, too early", false, 0, ms, 90*ms + 500*us, 130*ms + 900*us, 0},
		{"restore by default", false, 0, ms, 90*ms + 500*us, 131 * ms, ms},
		{"half", false, 4 * ms, 500 * us, 0, 900 * us, 500 * us},
		{"half, and pressed", false, 4 * ms, 500 * us, 90 * ms, 90*ms + 900*us, 500 * us},
		{"half, and one calm window", false, 4 * ms, 500 * us, 90 * ms, 92 * ms, 750 * us},
		{"half, and two calm windows", false, 4 * ms, 500 * us, 90 * ms, 93 * ms, ms},
		{"more", false, 4 * ms, ms, 90 * ms, 500 * ms, ms},
		{"rolling, within n·d", true, 0, ms, 90 * ms, 3*ms + 900*us, 0},
		{"rolling, after n·d, although pressed", true, 0, ms, 90 * ms, 90 * ms, ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := thousand()
			config.Rolling, config.Restore = c.rolling, c.restore
			b := newBudget(&config)
			b.spend(c.spent, 0)
			for now := c.spent; now <= min(c.pressed, c.at); now += 100 * us {
				b.recordPressure(now)
			}
			left := unit.Time(0)
			for left < 2*ms && b.hasTime(c.at) {
				b.spend(c.at, c.at-50*us)
				left += 50 * us
			}
			if left != c.left {
				t.Errorf("%v are left, want %v", left, c.left)
			}
		})
	}
}

// TestBudgetAddsUp checks that windows that return time need not be consecutive: the pressures between them only return
// none.
func TestBudgetAddsUp(t *testing.T) {
	config := thousand()
	b := newBudget(&config)
	b.spend(ms, 0)
	for i := range unit.Time(4) { // a window of pressing, and one of balance
		if now := 2*i*ms + 1500*us; b.hasTime(now) {
			t.Errorf("renewed after %d windows of balance", i)
		} else {
			b.recordPressure(now)
		}
	}
	if !b.hasTime(9*ms + 500*us) {
		t.Error("four windows of balance do not renew it")
	}
}

// TestBudgetAddsUpUnasked checks the same without a query in between: a pressure returns the windows in balance before
// it.
func TestBudgetAddsUpUnasked(t *testing.T) {
	config := thousand()
	b := newBudget(&config)
	b.spend(ms, 0)
	for i := range unit.Time(4) {
		b.recordPressure(2*i*ms + 1500*us)
	}
	if c := b; c.hasTime(8*ms + 500*us) {
		t.Error("renewed after three windows of balance")
	}
	if !b.hasTime(9*ms + 500*us) {
		t.Error("four windows of balance do not renew it")
	}
}

// TestNoticesTakeTime checks that notices also use the time, without a packet that finds no room. Mice above their
// balance prevent its return.
func TestNoticesTakeTime(t *testing.T) {
	m := memory(t, nil)
	take(m, 0, Elephants, 40)
	take(m, 0, Mice, 55)
	last, now := unit.Time(0), unit.Time(0)
	for ; now < 90*ms; now += 50 * us {
		if m.throttles(now, false) {
			last = now
		}
	}
	if last < 900*us || last > ms { // a quarter of 4 ms
		t.Errorf("elephants in balance are told until %v", last)
	}
	for range 10 {
		m.Unbook(now, Mice, 1000) // into balance
	}
	if m.throttles(now+3*ms, false) {
		t.Error("the time is back after three windows of balance")
	}
	if !m.throttles(now+5*ms, false) {
		t.Error("the time is not back after five windows of balance")
	}
}

// floods records the result of Program.flooded for port 1 when packets for it arrive.
type floods struct {
	g    *Program
	said bool
}

func (*floods) Name() string { return "floods" }
func (f *floods) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Out == 1 {
		f.said = f.g.flooded(env, f.g.portAt(1))
	}
	return dataplane.Accept
}

// TestMiceOfWindows checks NCF §4.4, "we know how many mice packets have been handled within the last n × d": exactly
// the n windows count. Of 100 kB that a port of 100 Mb/s sends in 8 ms, 20 packets are 21.
func TestMiceOfWindows(t *testing.T) {
	for _, c := range []struct {
		name  string
		acks  bool // instead of data: of 66 bytes
		after unit.Time
		given []string
		want  bool
	}{
		{"at once", false, 0, []string{"mice_budget", "20%"}, true},
		{"fewer", false, 0, []string{"mice_budget", "22%"}, false},
		{"the last window", false, 7900 * us, []string{"mice_budget", "20%"}, true},
		{"after n·d", false, 8100 * us, []string{"mice_budget", "20%"}, false},
		{"acknowledgements are control", true, 0, []string{"mice_budget", "1%"}, false},
		{"acknowledgements as mice", true, 0, []string{"mice_budget", "1%", "acks", "mice"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spy := &floods{}
			r := newRig(t, setup{ports: 4, queues: 3, rates: map[int]unit.Rate{1: 100 * unit.Mbps},
				after: []dataplane.Program{spy}, given: append([]string{"memory", "100kB", "duration", "2ms"}, c.given...)})
			spy.g = r.g
			for i := range 20 {
				p := r.data(3, 2, many(i), 0, 1000)
				if c.acks {
					p = r.data(3, 2, many(i), 0, 0, func(p *packet.Packet) { p.Kind = packet.Ack })
				}
				r.come(10*ms, 2, p)
			}
			r.come(10*ms+c.after, 2, r.data(3, 2, 7, 0, 0, func(p *packet.Packet) { p.Kind = packet.Nack }))
			if spy.said != c.want {
				t.Errorf("flooded: %v", spy.said)
			}
		})
	}
}

// paid returns what elephants pay while mice flood a port of 100 Mb/s from 10 ms to 60 ms: when they are notified, and
// when memory is reclaimed from them. They keep keeps bytes waiting, and send at the scheduler's rate.
func paid(t *testing.T, keeps int, given ...string) (told, reclaimed []unit.Time) {
	t.Helper()
	r := newRig(t, setup{ports: 4, queues: 3, rates: map[int]unit.Rate{1: 100 * unit.Mbps}, given: append([]string{
		"memory", "100kB", "least", "15kB", "duration", "2ms", "every", "100us"}, given...)})
	r.sent = func(unit.Time, packet.PortID, *packet.Packet) {}
	now, seq := unit.Time(2*ms), int64(0)
	fat := func() {
		r.come(now, 0, r.data(1, 2, 9, seq*1000, 1000))
		seq++
	}
	for range 16 { // it becomes an elephant
		fat()
		now += 120 * us
	}
	for now = 9 * ms; int(r.g.Memory(1).Used(Elephants)) < keeps-1000; now += us {
		fat()
	}
	mice := 0
	for now = 10 * ms; now < 60*ms; now += 10 * us {
		if int(r.g.Memory(1).Used(Elephants)) < keeps-1000 && now%(100*us) == 0 {
			fat()
		}
		before := r.g.NackCounts()
		r.come(now, 2, r.data(3, 2, many(mice), 0, 1000))
		mice++
		after := r.g.NackCounts()
		if after.Nacks[packet.CauseElephant] > before.Nacks[packet.CauseElephant] {
			told = append(told, now-10*ms)
		}
		if after.Reclaimed > before.Reclaimed {
			reclaimed = append(reclaimed, now-10*ms)
		}
	}
	return told, reclaimed
}

// TestBudget_EndsThrottlingOfBalancedElephants checks NCF §4.4: elephants within their balance are throttled for mice,
// by reclaimed memory and by notices alike, until the time is over, or until there were too many mice. Elephants above
// it pay for themselves.
func TestBudget_EndsThrottlingOfBalancedElephants(t *testing.T) {
	const all = 50 * ms
	for _, c := range []struct {
		name     string
		keeps    int
		given    []string
		from, to unit.Time // when the last of either comes; 0: none do
	}{
		{"no time", 40_000, []string{"spike", "0%", "mice_budget", "1000%"}, 0, 0},
		{"no mice", 40_000, []string{"spike", "100%", "mice_budget", "0%"}, 0, 0},
		// 8 ms: a quarter is 2; the memory is full after half a ms
		{"time", 40_000, []string{"spike", "25%", "mice_budget", "1000%"}, 1900 * us, 2700 * us},
		{"twice the time", 40_000, []string{"spike", "50%", "mice_budget", "1000%"}, 3900 * us, 4700 * us},
		// 100 kB are 100 % of 8 ms: 95 frames of 1054 bytes, 0.95 ms of the flood
		{"mice", 40_000, []string{"spike", "100%", "mice_budget", "100%"}, 850 * us, 960 * us},
		{"twice the mice", 40_000, []string{"spike", "100%", "mice_budget", "200%"}, 1800 * us, 1910 * us},
		{"neither budget", 40_000, []string{"spike", "100%", "renew", "windows", "mice_budget", "1000%"}, all - ms, all},
		{"a budget for each n·d", 40_000, []string{"spike", "25%", "renew", "windows", "mice_budget", "1000%"},
			all - 8*ms, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			told, reclaimed := paid(t, c.keeps, c.given...)
			for what, times := range map[string][]unit.Time{"told": told, "reclaimed": reclaimed} {
				switch {
				case c.to == 0 && len(times) > 0:
					t.Errorf("%s %d times, the first at %v", what, len(times), times[0])
				case c.to > 0 && (len(times) == 0 || last(times) > c.to):
					t.Errorf("%s %d times, the last at %v; want none after %v", what, len(times), last(times), c.to)
				}
			}
			if c.to > 0 && max(last(told), last(reclaimed)) < c.from {
				t.Errorf("last told at %v, reclaimed at %v; want %v at least", last(told), last(reclaimed), c.from)
			}
		})
	}
}

func last(times []unit.Time) unit.Time {
	if len(times) == 0 {
		return -1
	}
	return times[len(times)-1]
}

// TestElephantsPayForThemselves checks that elephants above their balance are notified for any mice, and without any
// budget.
func TestElephantsPayForThemselves(t *testing.T) {
	told, _ := paid(t, 60_000, "spike", "0%", "mice_budget", "0%")
	if len(told) == 0 {
		t.Error("they are not told")
	}
}

package hpcc

import (
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit"
)

func newReceiver(t *testing.T, census *cc.Census) *Receiver {
	t.Helper()
	c := Defaults()
	c.Census = census != nil
	r, err := NewReceiver(newFlow(), c, census)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func path(hops ...telemetry.Hop) *cc.Data { return &cc.Data{Telemetry: cc.Telemetry{Hops: hops}} }

// under is path for data of a sender that has adopted the latest feedback of r.
func under(r *Receiver, hops ...telemetry.Hop) *cc.Data {
	d := path(hops...)
	d.Adopted = r.Feedback().Number
	return d
}

// TestReceiver_StoresLoadsOfPackets checks lines 28 to 34 of draft-miao's receiver, and that L is stored at each
// packet: loads are those between packets.
func TestReceiver_StoresLoadsOfPackets(t *testing.T) {
	r := newReceiver(t, nil)
	if f := r.Feedback(); f.Window != 125000 || r.Decision().Rate != 100*gbps {
		t.Errorf("before any packet: %+v", f)
	}
	tell := func(now unit.Time, tx uint64, queue unit.Bytes) (cc.Feedback, bool) {
		return r.OnData(now, path(hop(1, now, tx, queue)))
	}
	if _, told := tell(50*us, 0, 25000); told {
		t.Error("the first packet, 50 µs after time 0, tells a window")
	}
	for i := range unit.Time(2) { // line 34: load 1.2, U = 1.1, then 1.15
		if f, told := tell(55*us+i*5*us, uint64(i+1)*62500, 25000); told || f.Window != 125000 {
			t.Errorf("within T: %+v, %v", f, told)
		}
	}
	testkit.CheckNear(t, "U", r.ref.u, 1.15, rounding)
	testkit.CheckNear(t, "Wc", r.ref.wc, 125000, rounding)
	testkit.CheckNear(t, "W", r.w, 125000/(1.15/0.95)+80, rounding)
	if r.Feedback().Window != 125000 {
		t.Error("ordinary acknowledgements carry line 34's window")
	}
	// Line 29 is now > lastUpdateTime + T. The first window's data has arrived all the time, for any queue.
	f, told := r.OnData(60*us+1, path(hop(1, 61*us, 3*62500-50000, 25000))) // 12500 B in 1 µs
	u := 0.9*1.15 + 0.1*1.2
	want := 125000/(u/0.95) + 80
	testkit.CheckNear(t, "U", r.ref.u, u, rounding)
	testkit.CheckNear(t, "Wc", r.ref.wc, want, rounding)
	if !told || f.Window != unit.Bytes(want) || r.Feedback() != f ||
		r.Decision().Rate != unit.Rate(want*8e12/float64(10*us)) {
		t.Errorf("line 31: %+v, %v, want %v", f, told, want)
	}
	if _, told := r.OnData(200*us, path()); told {
		t.Error("a packet without records tells")
	}
}

// TestReceiverOncePerT checks draft-miao §6.1, guideline 1: windows are sent at most once per T, and only then does Wc
// move.
func TestReceiverOncePerT(t *testing.T) {
	r := newReceiver(t, &cc.Census{})
	random := rand.New(rand.NewPCG(4, 4))
	now, last, tx, told := unit.Time(0), unit.Time(-1<<40), uint64(0), 0
	for range 20000 {
		now += unit.Time(random.IntN(300)) * ns
		if random.IntN(500) == 0 {
			now += unit.Time(random.IntN(100)) * us
		}
		wc := r.ref.wc
		var yes bool
		if r.NextTimer() <= now {
			_, yes = r.OnTimer(now)
		} else {
			tx += uint64(random.IntN(3000))
			d := under(r, hop(1, now, tx, unit.Bytes(random.IntN(200000))))
			if random.IntN(4) == 0 { // late
				d.Adopted = uint8(random.IntN(cc.FeedbackNumbers + 1))
			}
			_, yes = r.OnData(now, d)
		}
		if !yes && r.ref.wc != wc {
			t.Fatal("Wc moves and is not told")
		}
		if yes {
			if now-last <= 10*us {
				t.Fatalf("told at %v and %v", last, now)
			}
			last = now
			told++
		}
	}
	if told < 100 {
		t.Errorf("told %d times", told)
	}
}

// TestReceiverLate checks that line 29 counts from the first data sent under the last window, wherever it and its
// feedback have waited. Late data sent under former windows does not count.
func TestReceiverLate(t *testing.T) {
	r, tx := newReceiver(t, nil), uint64(0)
	for _, x := range []struct {
		at      unit.Time
		adopted uint8
		number  uint8 // of the feedback afterwards
	}{
		{0, 0, 0},
		{10*us + 1, 0, 1},
		{30 * us, 0, 1}, // the feedback is in the reverse queue
		{50 * us, 0, 1},
		{51 * us, 1, 1}, // the first data under the window
		{52 * us, 0, 1}, // has been overtaken
		{61 * us, 1, 1},
		{61*us + 1, 7, 2}, // whatever packet comes then
		{90 * us, 1, 2},
		{91 * us, 2, 2},
		{120 * us, 1, 3},
	} {
		tx += 12500
		before := r.Feedback().Number
		d := path(hop(1, x.at, tx, 100_000))
		d.Adopted = x.adopted
		f, told := r.OnData(x.at, d)
		if f.Number != x.number || told != (x.number != before) || told != (r.lastUpdateTime == x.at && x.at > 0) {
			t.Errorf("at %v, under %d: %+v, %v", x.at, x.adopted, f, told)
		}
	}
	for range 20 { // the numbers come again
		before := r.Feedback().Number
		for at := range 2 {
			now := r.lastUpdateTime + unit.Time(at+1)*11*us
			tx += 12500
			r.OnData(now, under(r, hop(1, now, tx, 100_000)))
		}
		if n := r.Feedback().Number; n != before%7+1 {
			t.Errorf("%d follows %d", n, before)
		}
	}
}

// TestReceiverWaits checks Linux's TCP, which carries no numbers: the time between commits is T plus the queue T after
// the first of them, for any rest of it later.
func TestReceiverWaits(t *testing.T) {
	r, tx := newReceiver(t, nil), uint64(0)
	r.isAgent = true
	commits := func(now unit.Time, queue unit.Bytes) bool {
		tx += 12500
		r.OnData(now, path(hop(1, now, tx, queue)))
		return r.lastUpdateTime == now && tx > 12500
	}
	commits(0, 500_000)
	for _, x := range []struct {
		at    unit.Time
		queue unit.Bytes
		want  bool
	}{
		{10 * us, 500_000, false}, // 40 us
		{30 * us, 250_000, false},
		{50 * us, 0, false},
		{50*us + 1000*ns, 100_000, true},
		{60 * us, 125_000, false}, // 10 us
		{71 * us, 500_000, false}, // of no account: a packet after that one waits for 40 us
		{72 * us, 500_000, true},
	} {
		if got := commits(x.at, x.queue); got != x.want {
			t.Errorf("at %v: commits %v", x.at, got)
		}
	}
}

// TestReceiverTimer checks that data after the last feedback is reported when packets stop, and Wc stays.
func TestReceiverTimer(t *testing.T) {
	r := newReceiver(t, nil)
	r.OnData(0, path(hop(1, 0, 0, 0)))
	if r.NextTimer() != unit.Never {
		t.Error("nothing is to be told")
	}
	r.OnData(5*us, path(hop(1, 5*us, 62500, 125000)))
	r.OnData(9*us, path(hop(1, 9*us, 112500, 125000))) // loads 1, with the queue's least 0, then 2
	if r.NextTimer() != 25*us {
		t.Errorf("the timer is at %v", r.NextTimer())
	}
	if _, told := r.OnTimer(25 * us); told || r.NextTimer() != 29*us { // 2T after the last packet
		t.Errorf("an early timer tells %v, and is then at %v", told, r.NextTimer())
	}
	u := 0.6*1 + 0.4*2.0
	f, told := r.OnTimer(29 * us)
	if want := 125000/(u/0.95) + 80; !told || f.Window != unit.Bytes(want) || r.ref.wc != 125000 || f.Number != 0 ||
		r.NextTimer() != unit.Never || r.Feedback() != f {
		t.Errorf("%+v, %v; want %v", f, told, want)
	}
}

// TestReceiverTimerWithoutRecords checks that a sender does not count as paused while packets without records arrive.
func TestReceiverTimerWithoutRecords(t *testing.T) {
	r := newReceiver(t, nil)
	r.OnData(0, path(hop(1, 0, 0, 0)))
	r.OnData(5*us, path(hop(1, 5*us, 62500, 125000)))
	for now := 6 * us; now <= 60*us; now += us {
		r.OnData(now, path())
		if r.NextTimer() > now {
			continue
		}
		if f, told := r.OnTimer(now); told {
			t.Fatalf("at %v: %+v", now, f)
		}
	}
	if _, told := r.OnTimer(80 * us); !told {
		t.Error("the sender pauses")
	}
}

// TestReceiverTimerDelaysOnce checks a sender with a window below a packet, which pauses between packets. That does not
// cause OnTimer, and if OnTimer runs, it delays the commit once: packets every 2 to 3 T had windows that never grew.
func TestReceiverTimerDelaysOnce(t *testing.T) {
	for _, apart := range []unit.Time{15 * us, 21 * us, 25 * us, 29 * us, 45 * us} {
		for _, window := range []float64{400, 5000} { // its pauses are as long as expected, or longer
			r := newReceiver(t, nil)
			r.w, r.ref.wc = window, window
			r.feedback.Window = unit.Bytes(window)
			timed, number, commits := 0, uint8(0), 0
			for i := range 40 {
				now := unit.Time(i) * apart
				for at := r.NextTimer(); at < now; at = r.NextTimer() {
					if _, told := r.OnTimer(at); told {
						timed++
					}
				}
				if number == 0 && window < 1000 && apart < 45*us && timed > 0 {
					t.Errorf("packets every %v under %v bytes: a timer", apart, window)
				}
				f, _ := r.OnData(now, under(r, hop(1, now, uint64(i)*1000, 0)))
				if f.Number != number {
					number, commits = f.Number, commits+1
				}
			}
			if commits < 12 || timed > commits+1 || r.ref.wc <= window {
				t.Errorf("packets every %v: %d commits, %d timers; Wc %v, was %v", apart, commits, timed, r.ref.wc, window)
			}
		}
	}
}

// TestReceiverSmallWindows checks W below a packet: the sender keeps a packet in flight, the rate continues to fall,
// and acknowledgements do not wait for more than the window.
func TestReceiverSmallWindows(t *testing.T) {
	r := newReceiver(t, nil)
	if n := r.Coalesce(16); n != 16 {
		t.Errorf("a window of 125 packets lets %d coalesce", n)
	}
	now := unit.Time(0)
	for i := range 60 {
		now += 11 * us
		r.OnData(now, under(r, hop(1, now, uint64(i)*137500, 500_000)))
		if n := r.Coalesce(16); n < 1 || n > 1 && unit.Bytes(2*n*1000) > r.Feedback().Window {
			t.Errorf("a window of %v lets %d coalesce", r.Feedback().Window, n)
		}
	}
	f := r.Feedback()
	if f.Window >= 1000 || f.Window < 1 || r.Decision().Rate >= 800*unit.Mbps || r.Decision().Rate < unit.Mbps {
		t.Errorf("%+v", f)
	}
	s := NewFollower(newFlow(), Defaults())
	s.OnAck(now, &cc.Ack{Feedback: cc.Feedback{Window: f.Window}})
	if d := s.Decision(); d.Window != 1000 || d.Rate != unit.Rate(f.Window)*8*100*unit.Kbps { // over 10 µs
		t.Errorf("the sender, told %v: %+v", f.Window, d)
	}
	c := cc.Flow{MSS: 1000}
	if _, err := NewReceiver(c, Defaults(), nil); err == nil {
		t.Error("a receiver without T")
	}
}

// TestQueueingOfAllHops checks that a packet's queueing time is the sum over all queues of the path, each at its port's
// rate. A port without a rate counts no time.
func TestQueueingOfAllHops(t *testing.T) {
	slow, blind := hop(2, 0, 0, 25_000), hop(3, 0, 0, 1_000_000)
	slow.Rate, blind.Rate = 25*gbps, 0
	if got := queueingTime(&path(hop(1, 0, 0, 50_000), slow, blind, hop(4, 0, 0, 12_500)).Telemetry); got != 13*us {
		t.Errorf("%v, want 4us, 8us and 1us", got)
	}
}

// TestReceiverCounts checks that N sets W_ai while the last hop is the bottleneck, and only then.
func TestReceiverCounts(t *testing.T) {
	census := &cc.Census{}
	a, b := newReceiver(t, census), newReceiver(t, census)
	now, tx := unit.Time(0), uint64(0)
	step := func(first, last unit.Bytes) cc.Feedback {
		now += 6 * us
		tx += 75000
		for _, r := range []*Receiver{a, b} {
			r.OnData(now, under(r, hop(1, now, tx, first), hop(2, now, tx, last)))
		}
		return a.Feedback()
	}
	for range 6 {
		step(0, 100)
	}
	if f := step(0, 100); f.Flows != 2 || a.wai != 125000*(1-Defaults().Eta)/2 {
		t.Errorf("the last hop is the bottleneck: %+v, W_ai %v", f, a.wai)
	}
	for range 6 {
		step(100, 0)
	}
	if f := step(100, 0); f.Flows != 0 || a.wai != 80 {
		t.Errorf("the first is: %+v, W_ai %v", f, a.wai)
	}
	b.Close()
	if n := census.CountFor(&cc.Member{}); n != 2 { // a and this one
		t.Errorf("%d flows after one has closed", n)
	}
}

// TestReceiverCountsOfLastHop checks that N counts where each hop of the path has written a record, if their number is
// known.
func TestReceiverCountsOfLastHop(t *testing.T) {
	for _, x := range []struct{ switches, want int }{{0, 1}, {1, 1}, {2, 1}, {3, 0}} {
		f, c := newFlow(), Defaults()
		f.Hops, c.Census = x.switches, true
		r, err := NewReceiver(f, c, &cc.Census{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			now, tx := unit.Time(i+1)*6*us, uint64(i)*75000
			r.OnData(now, under(r, hop(1, now, tx, 0), hop(2, now, tx, 100)))
		}
		if r.flows != x.want {
			t.Errorf("two records of a path of %d switches: N is %d, want %d", x.switches, r.flows, x.want)
		}
	}
}

// TestReceiverOfPaths checks that receivers of a flow's paths begin with their part of W_init, grow by theirs of W_ai,
// and count as one flow.
func TestReceiverOfPaths(t *testing.T) {
	census, f := &cc.Census{}, newFlow()
	f.Paths = 4
	c := Defaults()
	c.Census = true
	var all []*Receiver
	for range f.Paths {
		r, err := NewReceiver(f, c, census)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, r); len(all) > 1 {
			r.JoinFirst(all[0])
		}
		if r.Feedback().Window != 125000/4 {
			t.Errorf("it begins with %v", r.Feedback().Window)
		}
	}
	other := newReceiver(t, census)
	for i := range 8 {
		now := unit.Time(i+1) * 6 * us
		for _, r := range append(all, other) {
			r.OnData(now, under(r, hop(1, now, uint64(i)*75000, 0)))
		}
	}
	if n := census.CountFor(all[3].member); n != 2 || all[3].flows != 2 || all[3].wai != 125000*(1-c.Eta)/2/4 {
		t.Errorf("%d flows, W_ai %v for %d", n, all[3].wai, all[3].flows)
	}
	all[2].Close()
	if n := census.CountFor(other.member); n != 1 {
		t.Errorf("%d flows after one has closed", n)
	}
}

// TestFollower_AdoptsWindowOfReceiver checks Receiver and Follower together: the sender's window is the receiver's, and
// a lying receiver gets at most line rate.
func TestFollower_AdoptsWindowOfReceiver(t *testing.T) {
	s := NewFollower(newFlow(), Defaults())
	r := newReceiver(t, nil)
	for i := range 40 {
		n := unit.Time(i) * us
		r.OnData(n, under(r, hop(1, n, uint64(i)*12500, 50000)))
		f := r.Feedback()
		s.OnAck(n, &cc.Ack{Feedback: cc.Feedback{Window: f.Window}})
		if d := s.Decision(); d.Window != f.Window {
			t.Fatalf("at %v: %+v; told %+v", n, d, f)
		}
	}
	if s.Decision().Window > 90000 {
		t.Errorf("%+v after 40 µs at 1.4", s.Decision())
	}
	s.OnAck(0, &cc.Ack{Feedback: cc.Feedback{Window: 1 << 60}})
	if d := s.Decision(); d.Window != 125000 || d.Rate != 100*gbps {
		t.Errorf("after a lie: %+v", d)
	}
}

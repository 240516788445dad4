package cctest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/reno"
	"weir/core/unit"
	"weir/internal/testkit"
)

type maker struct {
	name string
	own  bool
	make func(f cc.Flow) cc.Controller
}

var makers = []maker{
	{"reno", false, func(f cc.Flow) cc.Controller { return reno.New(f) }},
	{"cubic", false, func(f cc.Flow) cc.Controller { return cubic.New(f, cubic.Defaults()) }},
	{"cubic-rfc9438", false, func(f cc.Flow) cc.Controller {
		c := cubic.Defaults()
		c.Variant, c.HyStart = cubic.RFC9438, cubic.NoHyStart
		return cubic.New(f, c)
	}},
	{"cubic-hystart++", false, func(f cc.Flow) cc.Controller {
		c := cubic.Defaults()
		c.HyStart = cubic.PlusPlus
		return cubic.New(f, c)
	}},
	{"dctcp", false, func(f cc.Flow) cc.Controller {
		return dctcp.New(f, dctcp.Config{G: 1 / 16., InitialAlpha: 1, SlowStart: true})
	}},
	{"bbr", true, func(f cc.Flow) cc.Controller { return bbr.New(f) }},
}

// stories returns n random stories, with runs of one kind of event so that windows become large.
func stories(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		for len(out[i]) < 4000 {
			a, b := byte(r.IntN(16)), byte(r.IntN(256))
			for range 1 + r.IntN(12) {
				out[i] = append(out[i], a, b, byte(r.IntN(3)), 31, byte(3+r.IntN(6)), byte(r.IntN(192)))
			}
		}
	}
	return out
}

// TestModel_ControllersHoldInvariants checks that every controller keeps the model's invariants under any events, and
// that two controllers with the same events decide the same.
func TestModel_ControllersHoldInvariants(t *testing.T) {
	for _, m := range makers {
		for i, s := range stories(100) {
			a, b := &Model{Controller: m.make(NewFlow(7)), OwnRecovery: m.own}, &Model{Controller: m.make(NewFlow(7)),
				OwnRecovery: m.own}
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

func FuzzModel_ControllersHoldInvariants(f *testing.F) {
	for i, s := range stories(3) {
		f.Add(uint8(i), s[:400])
	}
	f.Fuzz(func(t *testing.T, which uint8, story []byte) {
		m := makers[int(which)%len(makers)]
		if err := (&Model{Controller: m.make(NewFlow(7)), OwnRecovery: m.own}).PlayStory(story); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	})
}

// broken is a controller with one mistake.
type broken struct {
	cc.Controller
	window func(cc.Decision) cc.Decision
	onAck  func(now unit.Time, a *cc.Ack) *cc.Ack
	onLoss func(l cc.Loss) (cc.Loss, bool)
	onSend func()
}

func (b *broken) Decision() cc.Decision {
	if b.window != nil {
		return b.window(b.Controller.Decision())
	}
	return b.Controller.Decision()
}

func (b *broken) OnSend(now unit.Time, s cc.Sent) {
	if b.onSend != nil {
		b.onSend()
	}
	b.Controller.OnSend(now, s)
}

func (b *broken) OnAck(now unit.Time, a *cc.Ack) {
	if b.onAck != nil {
		own := *a
		a = b.onAck(now, &own)
	}
	b.Controller.OnAck(now, a)
}

func (b *broken) OnLoss(now unit.Time, l cc.Loss) {
	if b.onLoss != nil {
		var keep bool
		if l, keep = b.onLoss(l); !keep {
			return
		}
	}
	b.Controller.OnLoss(now, l)
}

// TestModel_FindsMutants checks that the model finds each mistake of a broken controller.
func TestModel_FindsMutants(t *testing.T) {
	without := func(kind cc.LossKind) func(l cc.Loss) (cc.Loss, bool) {
		return func(l cc.Loss) (cc.Loss, bool) { return l, l.Kind != kind }
	}
	extra := 0
	for name, b := range map[string]*broken{
		"grows though the application limits": {onAck: func(_ unit.Time, a *cc.Ack) *cc.Ack { a.Limited = true; return a }},
		"grows in recovery": {onAck: func(_ unit.Time, a *cc.Ack) *cc.Ack {
			a.Losses.State = cc.Open
			return a
		}},
		"grows by duplicates": {onAck: func(_ unit.Time, a *cc.Ack) *cc.Ack {
			a.Advanced, a.Limited = true,
				true
			return a
		}},
		"grows by twice what is acknowledged": {onAck: func(_ unit.Time, a *cc.Ack) *cc.Ack { a.Packets *= 3; return a }},
		"ignores losses":                      {onLoss: without(cc.FastRecovery)},
		"ignores timeouts":                    {onLoss: without(cc.RetransmissionTimeout)},
		"does not undo":                       {onLoss: without(cc.Spurious)},
		"undoes too little": {onLoss: func(l cc.Loss) (cc.Loss, bool) {
			return l, l.Kind != cc.Spurious ||
				l.InFlight > 8
		}},
		"grows when idle": {onLoss: func(l cc.Loss) (cc.Loss, bool) {
			if l.Kind == cc.Idled {
				extra = 5
			}
			return l, true
		}, window: func(d cc.Decision) cc.Decision { d.Window += unit.Bytes(extra * MSS); return d }},
		"window of half a packet": {window: func(d cc.Decision) cc.Decision {
			if d.Window == MSS {
				d.Window /= 2
			}
			return d
		}},
		"timer that has passed": {window: func(d cc.Decision) cc.Decision { d.NextTimer = unit.Second; return d }},
		"negative rate":         {window: func(d cc.Decision) cc.Decision { d.Rate = -1; return d }},
		"asking changes it": func() *broken {
			n := unit.Bytes(0)
			return &broken{window: func(d cc.Decision) cc.Decision { n++; d.Window += n; return d }}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			extra = 0
			found := false
			for _, s := range stories(100) {
				b.Controller = reno.New(NewFlow(7))
				if (&Model{Controller: b}).PlayStory(s) != nil {
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

// checkScripts compares the archives in a folder with what controllers decide: the file events is what happens,
// CONTROLLER.txt what each of the named controllers answers.
func checkScripts(t *testing.T, folder string, names []string, newController func(i int) cc.Controller) {
	t.Helper()
	archives := testkit.ReadArchives(t, folder)
	if len(archives) < 4 {
		t.Errorf("%d archives in %s", len(archives), folder)
	}
	for _, a := range archives {
		events := a.Select("events")
		if len(events) != 1 || len(a.Select(".txt"))+1 != len(a.Files) {
			t.Fatalf("%s.txtar has other files than events and CONTROLLER.txt", a.Name)
		}
		for i, name := range names {
			out, err := PlayScript(newController(i), string(events[0].Data))
			if err != nil {
				t.Fatalf("%s: %v", a.Name, err)
			}
			a.Golden(t, name+".txt", out)
		}
		if n := len(a.Select(".txt")); n != len(names) {
			t.Errorf("%s.txtar has the answers of %d controllers, want %d", a.Name, n, len(names))
		}
	}
}

// TestPlayScript_MatchesGoldenFiles compares the decisions of window-based controllers for streams of events with the
// files in testdata.
func TestPlayScript_MatchesGoldenFiles(t *testing.T) {
	var names []string
	for _, m := range makers {
		names = append(names, m.name)
	}
	checkScripts(t, "testdata", names, func(i int) cc.Controller { return makers[i].make(NewFlow(7)) })
	for _, bad := range []string{"sends 3", "ack 3", "ack x", "wait 3", "repeat 3", "repeat x send 1",
		"send 3\nack 1 late", "send 1\nack 1 rtt=x"} {
		t.Run(bad, func(t *testing.T) {
			if _, err := PlayScript(reno.New(NewFlow(7)), bad); err == nil {
				t.Errorf("%q is taken", bad)
			}
		})
	}
}

func ExamplePlayScript() {
	out, _ := PlayScript(reno.New(NewFlow(1)), "send 10\nack 2 rtt=20ms\nrecovery")
	fmt.Print(out)
	// Output:
	// send 10                                      window 10, slow start, 10 in flight at 0s
	// ack 2 rtt=20ms                               window 12, slow start, 8 in flight at 0s
	// recovery                                     window 6, 8 in flight at 0s
}

// raising is a controller that sends more when a NACK arrives.
type raising struct {
	cc.Controller
	more unit.Bytes
}

func (r *raising) OnNotice(unit.Time, cc.Notice) { r.more = MSS }
func (r *raising) Decision() cc.Decision {
	d := r.Controller.Decision()
	d.Window += r.more
	return d
}

// TestModel_FindsGrowthByNacks checks that the model finds controllers that send more because of NACKs, if the test
// requests it.
func TestModel_FindsGrowthByNacks(t *testing.T) {
	story := []byte{0, 31, 15, 159}
	if err := (&Model{Controller: &raising{Controller: reno.New(NewFlow(7))}, Nacks: true}).PlayStory(story); err == nil {
		t.Error("the model does not find a controller that grows by NACKs")
	}
	for _, nacks := range []bool{false, true} {
		t.Run(fmt.Sprint("NACKs ", nacks), func(t *testing.T) {
			if err := (&Model{Controller: reno.New(NewFlow(7)), Nacks: nacks}).PlayStory(story); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBottleneck_MatchesLoopByHand compares the loop with values calculated by hand: 8 Mb/s of frames of 1000 B are a
// packet a millisecond. A window of 5 at 9 ms of RTT, 10 ms with the packet itself, gives half of the rate and no
// queue. A window of 30 gives the full rate and a queue of 20, or 21 for an instant, without trimming. Of 40 packets
// with room for 20, the first round loses the packets that the path and the queue have no room for.
func TestBottleneck_MatchesLoopByHand(t *testing.T) {
	run := func(window, buffer int) (*Bottleneck, *Sender) {
		s := &Sender{Controller: none.New(NewFlow(1), none.Config{Packets: window}), RTT: 9 * unit.Millisecond,
			NIC:   unit.Gbps,
			Nacks: Resend}
		b := &Bottleneck{Rate: 8 * unit.Mbps, Frame: 1000, Buffer: buffer, Flows: []*Sender{s}}
		b.Run(unit.Second)
		b.MaxQueue = 0
		before, trimmed := s.Delivered, b.Trimmed
		b.Run(2 * unit.Second)
		s.Delivered -= before
		b.Trimmed -= trimmed
		return b, s
	}
	for _, c := range []struct{ window, buffer, delivered, most, inFlight int }{
		{5, 20, 500, 4, 5}, {30, 40, 1000, 21, 30}, {1, 20, 100, 0, 1},
	} {
		t.Run(fmt.Sprint("window ", c.window), func(t *testing.T) {
			b, s := run(c.window, c.buffer)
			if s.Delivered != int64(c.delivered) || b.MaxQueue > c.most || b.Trimmed > 0 || s.InFlight() != c.inFlight {
				t.Errorf("a window of %d: %d packets in a second, %d wait at most, %d are trimmed, %d in flight", c.window,
					s.Delivered, b.MaxQueue, b.Trimmed, s.InFlight())
			}
		})
	}
	if b, s := run(40, 20); s.Delivered != 1000 || b.Trimmed == 0 || b.MaxQueue != 20 {
		t.Errorf("a window of 40: %d packets in a second, %d wait at most, %d are trimmed", s.Delivered, b.MaxQueue,
			b.Trimmed)
	}
	s := &Sender{Controller: reno.New(NewFlow(1)), RTT: 9 * unit.Millisecond, NIC: unit.Gbps, Nacks: Reduce, ECN: true}
	b := &Bottleneck{Rate: 8 * unit.Mbps, Frame: 1000, Buffer: 20, Flows: []*Sender{s}}
	b.Run(10 * unit.Second)
	if s.Delivered < 9900 || b.Trimmed == 0 || b.Trimmed > 200 {
		t.Errorf("Reno: %d packets in ten seconds, %d trimmed", s.Delivered, b.Trimmed)
	}
}

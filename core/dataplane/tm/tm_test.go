package tm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

func fill(b *Buffer, q QueueID, sizes ...int32) {
	for i, s := range sizes {
		b.Push(q, &packet.Packet{Size: s, Seq: int64(i)})
	}
}

// order serves n packets as fast as the scheduler allows. It returns their queues and sizes.
func order(s Scheduler, b *Buffer, n int) string {
	var out strings.Builder
	for range n {
		if b.readyQueues() == 0 {
			break
		}
		q, again := s.Next(0, b)
		if q == noQueue {
			fmt.Fprintf(&out, "-%v ", again)
			break
		}
		p := b.Pop(q)
		fmt.Fprintf(&out, "%d:%d ", q, p.Size)
	}
	return strings.TrimSpace(out.String())
}

func TestBuffer_LimitsQueuesAndPort(t *testing.T) {
	b := NewBuffer(3, Limit{Packets: 2, Bytes: 1000}, Limit{Packets: 4, Bytes: 1800})
	if b.Fits(0, 1001) != QueueBytes || b.Fits(0, 1000) != Fits {
		t.Error("limit in bytes")
	}
	fill(&b, 0, 100, 200)
	if b.Fits(0, 1) != QueuePackets || b.Fits(1, 1) != Fits {
		t.Error("limit in packets")
	}
	fill(&b, 1, 700, 300)
	if b.Fits(2, 1) != PortPackets {
		t.Error("the port's limit in packets")
	}
	if p := b.PopTail(1); p.Size != 300 || b.Queue(1).Head().Size != 700 {
		t.Error("the tail is not what came last")
	}
	if b.Fits(2, 801) != PortBytes || b.Fits(2, 800) != Fits {
		t.Error("the port's limit in bytes")
	}
	if b.Packets() != 3 || b.Bytes() != 1000 || b.Queue(0).Packets() != 2 || b.Queue(0).Bytes() != 300 ||
		b.readyQueues() != 0b011 {
		t.Errorf("%d packets, %d bytes, ready %b", b.Packets(), b.Bytes(), b.readyQueues())
	}
	b.paused |= 0b001
	if b.readyQueues() != 0b010 || b.WaitingQueues() != 0b011 || b.PausedQueues() != 0b001 {
		t.Error("a paused queue is ready")
	}
	b.paused &^= 0b001
	for _, want := range []int64{0, 1} {
		if p := b.Pop(0); p.Seq != want {
			t.Errorf("packet %d leaves, want %d", p.Seq, want)
		}
	}
	if b.Pop(0) != nil || b.PopTail(0) != nil || b.PopTail(1) == nil || b.Packets() != 0 || b.Bytes() != 0 ||
		b.WaitingQueues() != 0 {
		t.Error("an empty buffer is not empty")
	}
}

// TestPopTail checks that packets taken at the tail are the newest ones, for any alternation of heads and tails. It
// also checks that no packet is walked over: 200 000 of a queue of as many go in far less than a second.
func TestPopTail(t *testing.T) {
	r, b, wait := rand.New(rand.NewPCG(1, 2)), NewBuffer(2, Limit{}, Limit{}), []*packet.Packet{}
	for i := range 20_000 {
		switch k := r.IntN(7); {
		case k < 3 || len(wait) == 0:
			p := &packet.Packet{Seq: int64(i), Size: 100}
			b.Push(1, p)
			wait = append(wait, p)
		case k < 5:
			if p := b.Pop(1); p != wait[0] || p.Next != nil {
				t.Fatalf("step %d: packet %d leaves at the head, want %d", i, p.Seq, wait[0].Seq)
			}
			wait = wait[1:]
		default:
			last := len(wait) - 1
			if p := b.PopTail(1); p != wait[last] || p.Next != nil {
				t.Fatalf("step %d: packet %d leaves at the tail, want %d", i, p.Seq, wait[last].Seq)
			}
			wait = wait[:last]
		}
		if q := b.Queue(1); int(q.Packets()) != len(wait) || int(q.Bytes()) != 100*len(wait) ||
			(b.WaitingQueues() == 2) != (len(wait) > 0) {
			t.Fatalf("step %d: %d packets, %d bytes, %d wait", i, q.Packets(), q.Bytes(), len(wait))
		}
	}
	const many = 200_000
	packets := make([]packet.Packet, many)
	for i := range packets {
		b.Push(0, &packets[i])
	}
	for i := many - 1; i >= 0; i-- { // a walk would be 2·10¹⁰ steps
		if b.PopTail(0) != &packets[i] {
			t.Fatalf("packet %d is not the last", i)
		}
	}
}

// TestPort_SendsControlFramesFirst checks that link-layer control frames go first, also from a paused port, and count
// as sent.
func TestPort_SendsControlFramesFirst(t *testing.T) {
	p := NewPort(NewBuffer(1, Limit{}, Limit{}), NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
	if f, _, again := p.DequeueNext(0); f != nil || again != unit.Never || !p.IsIdle() {
		t.Error("an empty port has something to send")
	}
	fill(&p.Buffer, 0, 100)
	p.paused |= 1
	if f, _, again := p.DequeueNext(0); f != nil || again != unit.Never || !p.IsIdle() {
		t.Error("a paused port sends")
	}
	p.QueueControl(&packet.Packet{Kind: packet.Pause, Size: 64})
	p.QueueControl(&packet.Packet{Kind: packet.Resume, Size: 64})
	for _, want := range []packet.Kind{packet.Pause, packet.Resume} {
		f, control, _ := p.DequeueNext(0)
		if f == nil || !control || f.Kind != want {
			t.Fatalf("%+v instead of %v", f, want)
		}
		p.CountSent(f)
	}
	p.paused &^= 1
	f, control, _ := p.DequeueNext(0)
	p.CountSent(f)
	if control || p.TxBytes() != 228 || p.TxPackets() != 3 || p.Rate().Bits != unit.Gbps {
		t.Errorf("%d bytes, %d packets", p.TxBytes(), p.TxPackets())
	}
}

// TestPort_PausesLastGivenQuanta checks IEEE 802.1Qbb: a pause lasts the given number of times 512 bits at the port's
// rate. A new frame sets the time again; a Resume frame ends it. Times of classes and of the port are summed.
func TestPort_PausesLastGivenQuanta(t *testing.T) {
	const us = unit.Microsecond
	p := NewPort(NewBuffer(3, Limit{}, Limit{}), NewStrict(), unit.LinkRate{Bits: 100 * unit.Gbps})
	if p.HeldClasses() != 0 || p.NextExpiry() != unit.Never || p.Pauses(us) != (Pauses{}) || p.HeldSince(1) != unit.Never {
		t.Error("nobody has paused")
	}
	p.ApplyResume(0, 1) // of nothing
	p.ApplyPause(1*us, 1, 10000)
	if at := 1*us + 51200*unit.Nanosecond; p.NextExpiry() != at || p.PausedQueues() != 0b010 || p.HeldClasses() != 0b010 {
		t.Errorf("held until %v: %b", p.NextExpiry(), p.HeldClasses())
	}
	p.ApplyPause(11*us, 1, 10000)
	p.ApplyPause(12*us, 6, 0) // shares the last queue
	p.ApplyPause(13*us, 2, 1)
	if p.NextExpiry() != 13*us+5120 || p.PausedQueues() != 0b110 || p.HeldSince(1) != 1*us || p.HeldSince(6) != 12*us {
		t.Errorf("held until %v: %b", p.NextExpiry(), p.PausedQueues())
	}
	p.ExpirePauses(13*us + 5120)
	if p.HeldClasses() != 0b1000010 || p.PausedQueues() != 0b110 || p.NextExpiry() != 62200*unit.Nanosecond {
		t.Errorf("held until %v: %b", p.NextExpiry(), p.HeldClasses())
	}
	p.ExpirePauses(62200 * unit.Nanosecond)
	if p.PausedQueues() != 0b100 {
		t.Errorf("held: %b", p.PausedQueues())
	}
	p.ApplyResume(70*us, 6)
	p.ApplyPause(80*us, 0, 0)
	want := Pauses{Frames: 5, Any: 69*us + 5*us}
	want.Time[1], want.Time[2], want.Time[6], want.Time[0] = 61200*unit.Nanosecond, 5120, 58*us, 5*us
	if got := p.Pauses(85 * us); got != want || p.PausedQueues() != 1 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// a port with a rate in packets counts 1500 bytes as one
	p = NewPort(NewBuffer(1, Limit{}, Limit{}), NewFIFO(), unit.LinkRate{Packets: 1000})
	if p.ApplyPause(0, 7, 3000); p.NextExpiry() != 128*unit.Millisecond || p.PausedQueues() != 1 {
		t.Errorf("held until %v", p.NextExpiry())
	}
}

// TestQueue_HeadSinceFollowsPredecessor checks that the head waits since its arrival, or since its predecessor
// departed.
func TestQueue_HeadSinceFollowsPredecessor(t *testing.T) {
	p := NewPort(NewBuffer(1, Limit{}, Limit{}), NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
	q := p.Queue(0)
	if q.HeadSince() != unit.Never {
		t.Error("an empty queue holds a packet")
	}
	for _, at := range []unit.Time{10, 20} {
		p.Push(0, &packet.Packet{Size: 100, Enqueued: at})
	}
	if q.HeadSince() != 10 {
		t.Errorf("since %v", q.HeadSince())
	}
	if p.DequeueNext(50); q.HeadSince() != 50 {
		t.Errorf("since %v", q.HeadSince())
	}
}

// TestPriorityDWRR checks that the first queues go before the others, in strict priority, and the others share by
// weight.
func TestPriorityDWRR(t *testing.T) {
	b := NewBuffer(4, Limit{}, Limit{})
	fill(&b, 3, 100, 100, 100, 100, 100, 100)
	fill(&b, 2, 100, 100)
	fill(&b, 1, 100)
	fill(&b, 0, 100, 100)
	if got := order(NewPriorityDWRR(2, []int32{1, 1, 1, 3}, 100), &b, 11); got != "0:100 0:100 1:100 2:100 3:100 3:100 "+
		"3:100 2:100 3:100 3:100 3:100" {
		t.Error(got)
	}
}

func TestStrict_ServesLowestQueueFirst(t *testing.T) {
	b := NewBuffer(3, Limit{}, Limit{})
	fill(&b, 2, 1)
	fill(&b, 1, 2, 3)
	fill(&b, 0, 4)
	if got := order(NewStrict(), &b, 9); got != "0:4 1:2 1:3 2:1" {
		t.Error(got)
	}
}

// TestDRRPaper checks the example of DRR §3, figure 2, with a quantum of 500. A queue with 200, 750, 20 sends only the
// 200 in its first turn, keeps 300, and sends the rest in its second.
func TestDRRPaper(t *testing.T) {
	b := NewBuffer(2, Limit{}, Limit{})
	fill(&b, 0, 200, 750, 20)
	fill(&b, 1, 500, 500)
	if got := order(NewDRR(2, 500), &b, 9); got != "0:200 1:500 0:750 0:20 1:500" {
		t.Error(got)
	}
}

// TestDRRCredit checks that a queue that becomes empty loses its credit. A paused queue keeps its turn's credit but is
// passed over.
func TestDRRCredit(t *testing.T) {
	b := NewBuffer(2, Limit{}, Limit{})
	d := NewDRR(2, 1000).(*deficit)
	fill(&b, 0, 100)
	fill(&b, 1, 900, 900)
	order(d, &b, 2)
	if d.counter[0] != 0 {
		t.Errorf("an empty queue keeps a credit of %d bytes", d.counter[0])
	}
	fill(&b, 0, 1000, 1000, 1000)
	b.paused |= 1
	if got := order(d, &b, 1); got != "1:900" {
		t.Error("paused queues are served:", got)
	}
	b.paused &^= 1
	if got := order(d, &b, 5); got != "0:1000 0:1000 0:1000" {
		t.Error(got)
	}
}

// backlog serves queues that always have packets of random sizes. It returns the bytes served of each and the time. It
// calls check, if any, after each packet.
func backlog(t *testing.T, s Scheduler, queues, n int, rate unit.Rate, check func(now unit.Time,
	served []int64)) (served []int64, now unit.Time) {
	t.Helper()
	random := unit.NewRandom(5, "sizes")
	b := NewBuffer(queues, Limit{}, Limit{})
	served = make([]int64, queues)
	top := func() {
		for q := range queues {
			for b.Queue(QueueID(q)).Packets() < 2 {
				fill(&b, QueueID(q), int32(64+random.IntN(1451)))
			}
		}
	}
	for range n {
		top()
		q, again := s.Next(now, &b)
		if q == noQueue {
			if again <= now || again == unit.Never {
				t.Fatalf("at %v nothing may be sent, again at %v", now, again)
			}
			now = again
			continue
		}
		p := b.Pop(q)
		served[q] += int64(p.Size)
		now += unit.TransmitTime(unit.Bytes(p.Size), rate)
		if check != nil {
			check(now, served)
		}
	}
	return served, now
}

// TestDRRFairness checks Shreedhar and Varghese, theorem on fairness: two backlogged queues' services differ by at most
// a quantum and two packets, at any time. With weights, queues get their shares.
func TestDRRFairness(t *testing.T) {
	backlog(t, NewDRR(4, 1514), 4, 50000, unit.Gbps, func(_ unit.Time, served []int64) {
		for i := range served {
			for j := range served {
				if d := served[i] - served[j]; d > 1514+2*1514 {
					t.Fatalf("queues %d and %d: %d bytes apart", i, j, d)
				}
			}
		}
	})
	served, _ := backlog(t, NewDWRR([]int32{1, 2, 5}, 1514), 3, 80000, unit.Gbps, nil)
	for q, w := range []float64{1, 2, 5} {
		if share := float64(served[q]) / float64(served[0]+served[1]+served[2]); math.Abs(share-w/8) > 0.005 {
			t.Errorf("weight %g of 8 gets %.4f", w, share)
		}
	}
}

// TestGuarantee_KeepsGuaranteeAndCeiling checks guarantee and ceiling (BS'19 §4.2: control at most 5 %, mice and
// elephants 10 % each guaranteed, the rest work conserving).
func TestGuarantee_KeepsGuaranteeAndCeiling(t *testing.T) {
	shares := []Share{{Guarantee: 0.05, Ceiling: 0.05}, {Guarantee: 0.6, Ceiling: 1}, {Guarantee: 0.1, Ceiling: 1}}
	s, err := NewGuarantee(shares, unit.Gbps, 1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	served, now := backlog(t, s, 3, 100000, unit.Gbps, nil)
	total := float64(unit.Gbps.BytesIn(now))
	for q, want := range []float64{0.05, 0.6 + 0.125, 0.1 + 0.125} { // what is not guaranteed is shared alike
		if got := float64(served[q]) / total; math.Abs(got-want) > 0.01 {
			t.Errorf("queue %d gets %.3f of the port, want %.3f", q, got, want)
		}
	}
	if sum := float64(served[0]+served[1]+served[2]) / total; sum < 0.9999 {
		t.Errorf("the port is used to %.4f only", sum)
	}
	// a single queue may exceed a soft ceiling, but not a hard one
	for _, hard := range []bool{false, true} {
		s, err := NewGuarantee([]Share{{Ceiling: 0.05, Hard: hard}}, unit.Gbps, 1514, 3028)
		if err != nil {
			t.Fatal(err)
		}
		served, now := backlog(t, s, 1, 20000, unit.Gbps, func(now unit.Time, served []int64) {
			if limit := 0.05*float64(unit.Gbps.BytesIn(now)) + 3028 + 1514; hard && float64(served[0]) > limit {
				t.Fatalf("at %v: %d bytes, the ceiling allows %.0f", now, served[0], limit)
			}
		})
		share := float64(served[0]) / float64(unit.Gbps.BytesIn(now))
		if hard && math.Abs(share-0.05) > 0.001 || !hard && share < 0.9999 {
			t.Errorf("hard %v: %.4f of the port", hard, share)
		}
	}
	// a queue without guarantee does not starve next to two with one
	s, err = NewGuarantee([]Share{{Guarantee: 0.45, Ceiling: 1}, {Guarantee: 0.45, Ceiling: 1}, {Ceiling: 1}}, unit.Gbps,
		1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	served, now = backlog(t, s, 3, 50000, unit.Gbps, nil)
	if share := float64(served[2]) / float64(unit.Gbps.BytesIn(now)); share < 0.03 {
		t.Errorf("the queue without guarantee gets %.4f", share)
	}
	if _, err := NewGuarantee([]Share{{Ceiling: 1}}, 0, 1514, 3028); err == nil {
		t.Error("a port in packets/s is taken")
	}
}

// TestNCF_SharesByClass checks BS'19 §4.2, §4.3: control packets go first, up to 5 % of the port. Mice and elephants
// have at least 10 % each, and share the rest. A single queue has the whole port.
func TestNCF_SharesByClass(t *testing.T) {
	shares := NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}
	for _, c := range []struct {
		queues int
		want   []float64 // all queues busy
	}{
		{1, []float64{1}}, {2, []float64{0.05, 0.95}}, {3, []float64{0.05, 0.475, 0.475}},
		{4, []float64{0.05, 0.475, 0.2375, 0.2375}}, {8, []float64{0.05, 0.475, 0.0792, 0.0792, 0.0792, 0.0792,
			0.0792, 0.0792}},
	} {
		t.Run(fmt.Sprint(c.queues, " queues"), func(t *testing.T) {
			s, err := NewNCF(c.queues, shares, unit.Gbps, 1514, 3028)
			if err != nil {
				t.Fatal(err)
			}
			served, now := backlog(t, s, c.queues, 100000, unit.Gbps, nil)
			for q, want := range c.want {
				if got := float64(served[q]) / float64(unit.Gbps.BytesIn(now)); math.Abs(got-want) > 0.005 {
					t.Errorf("queue %d gets %.3f of the port, want %.3f", q, got, want)
				}
			}
		})
	}
	s, err := NewNCF(3, NCF{Control: 0.05, Mice: 0.1, Elephants: 0.7}, unit.Gbps, 1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	served, now := backlog(t, s, 3, 100000, unit.Gbps, nil)
	if got := float64(served[1]) / float64(unit.Gbps.BytesIn(now)); got < 0.1 {
		t.Errorf("mice get %.3f of the port beside elephants with 70 %%", got)
	}
	// a control frame goes first below the ceiling, and last above it
	s, _ = NewNCF(3, shares, unit.Gbps, 1514, 200)
	b := NewBuffer(3, Limit{}, Limit{})
	fill(&b, 1, 1514, 1514)
	fill(&b, 2, 1514, 1514)
	fill(&b, 0, 100, 100, 100, 100)
	if got := order(s, &b, 9); got != "0:100 0:100 1:1514 2:1514 1:1514 2:1514 0:100 0:100" {
		t.Error(got)
	}
	s, _ = NewNCF(3, NCF{Control: 0.05, Hard: true, Mice: 0.1, Elephants: 0.1}, unit.Gbps, 1514, 200)
	fill(&b, 0, 100, 100, 100)
	if got := order(s, &b, 9); got != "0:100 0:100 -1ps" { // an empty bucket is open a moment later
		t.Error(got)
	}
}

func TestSchemes_BuildWithGivenQueues(t *testing.T) {
	rate := unit.LinkRate{Bits: unit.Gbps}
	second := map[string][]string{"dwrr": {"weights", "{1: 3}"}, "wrr": {"weights", "{1: 3}"},
		"deadline":  {"offsets", "{1: 30ms}"},
		"guarantee": {"guarantees", "{0: 50%}", "ceilings", "{1: 50%}"}}
	for _, s := range Schemes() {
		t.Run(s.Name, func(t *testing.T) {
			c, err := s.Configure(second[s.Name]...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Build(2, rate, c); (err == nil) != (s.Name != "fifo") {
				t.Errorf("with two queues: %v", err)
			}
			if _, err := s.Build(1, rate, c); (err != nil) != (second[s.Name] != nil) {
				t.Errorf("with one queue and a parameter for the second: %v", err)
			}
		})
	}
	before := Schemes()[slices.IndexFunc(Schemes(), func(s Scheme) bool { return s.Name == "guarantee" })]
	if c, err := before.Configure("priority", "2"); err != nil {
		t.Error(err)
	} else if _, err := before.Build(1, rate, c); err == nil {
		t.Error("two of one queue go before the others")
	}
}

// TestSchemes_ValidateRejectsOutOfRange checks that values that code fills in must be within the parameters' ranges
// before a scheduler is built of them.
func TestSchemes_ValidateRejectsOutOfRange(t *testing.T) {
	type shares map[int]float64
	pairs := func(s shares) (list []scheme.Pair[int, float64]) {
		for q, x := range s {
			list = append(list, scheme.Pair[int, float64]{Key: q, Value: x})
		}
		return list
	}
	guarantee := func(guarantees, ceilings shares) scheme.Config {
		return &guaranteeConfig{quantumConfig: quantumConfig{1514}, Guarantees: pairs(guarantees),
			Ceilings: pairs(ceilings), Burst: 3028}
	}
	queues := func(n NCF) scheme.Config { return &queues{quantumConfig: quantumConfig{1514}, NCF: n, Burst: 3028} }
	for _, c := range []struct {
		name   string
		config scheme.Config
		says   string // "": it is allowed
	}{
		{"dwrr, weight 0", &dwrr{quantumConfig: quantumConfig{1514}, Weights: []scheme.Pair[int, int]{{Key: 0, Value: 0}}},
			"weights is 0"},
		{"wrr, weight 0", &wrr{Weights: []scheme.Pair[int, int]{{Key: 0, Value: 0}}}, "weights is 0"},
		{"ncf", queues(NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}), ""},
		{"ncf, no shares", queues(NCF{}), "control is 0%; allowed: above 0%"},
		{"ncf, no number", queues(NCF{Control: math.NaN()}), "control is NaN; allowed: above 0%"},
		{"ncf, 120 percent", queues(NCF{Control: 0.05, Mice: 0.6, Elephants: 0.6}), "elephants: with mice this is 120%"},
		{"ncf, below 0", queues(NCF{Control: 0.05, Mice: -1}), "mice is -100%"},
		{"guarantee", guarantee(shares{0: 0.5, 1: 0.5}, shares{1: 0.5}), ""},
		{"guarantee, below 0", guarantee(shares{0: -1}, nil), "guarantees is -100%"},
		{"guarantee, above its ceiling", guarantee(shares{1: 0.5}, shares{1: 0.4}),
			"guarantees: the guarantee of queue 1, 50%, is above its ceiling, 40%"},
		{"guarantee, ceiling 0", guarantee(nil, shares{0: 0}), "ceilings is 0%; allowed: above 0%"},
		{"guarantee, ceiling no number", guarantee(nil, shares{0: math.NaN()}), "ceilings is NaN"},
		{"guarantee, 120 percent", guarantee(shares{0: 0.6, 1: 0.6}, nil), "guarantees: they add up to 120%"},
	} {
		t.Run(c.name, func(t *testing.T) {
			switch err := scheme.Validate(c.config); {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)):
				t.Errorf("%v; want %s", err, c.says)
			}
		})
	}
}

func TestNoAllocation(t *testing.T) {
	g, _ := NewGuarantee([]Share{{Guarantee: 0.1, Ceiling: 1}, {Ceiling: 1}}, unit.Gbps, 1514, 3028)
	for name, s := range map[string]Scheduler{"drr": NewDRR(2, 1514), "strict": NewStrict(), "guarantee": g,
		"deadline": NewDeadline([]unit.Time{0, 1})} {
		b := NewBuffer(2, Limit{}, Limit{})
		fill(&b, 0, 100, 100)
		fill(&b, 1, 100, 100)
		now := unit.Time(0)
		if n := testing.AllocsPerRun(1000, func() {
			now += unit.Microsecond
			q, _ := s.Next(now, &b)
			b.Push(q, b.Pop(q))
		}); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}

func BenchmarkDRR(bench *testing.B) {
	b := NewBuffer(8, Limit{}, Limit{})
	for q := range QueueID(8) {
		fill(&b, q, 1514, 64, 500)
	}
	s := NewDRR(8, 1514)
	for bench.Loop() {
		q, _ := s.Next(0, &b)
		b.Push(q, b.Pop(q))
	}
}

func ExampleNewStrict() {
	b := NewBuffer(2, Limit{}, Limit{})
	b.Push(1, &packet.Packet{Size: 1500})
	b.Push(0, &packet.Packet{Size: 64})
	p := NewPort(b, NewStrict(), unit.LinkRate{Bits: unit.Gbps})
	for !p.IsIdle() {
		f, _, _ := p.DequeueNext(0)
		fmt.Println(f.Size)
	}
	// Output:
	// 64
	// 1500
}

// TestWRR_CountsPackets checks that weighted round robin counts packets, of any length: 10 to 1 while both queues have
// some. A single busy queue gets the whole port. At most one packet of the other queue departs before the first of a
// queue that was empty.
func TestWRR_CountsPackets(t *testing.T) {
	b := NewBuffer(3, Limit{}, Limit{})
	s := NewWRR([]int32{10, 1, 2})
	next := func() QueueID {
		q, again := s.Next(0, &b)
		if again != unit.Never {
			t.Fatal("it does not know its time")
		}
		b.Pop(q)
		return q
	}
	var got string
	fill(&b, 1, 1500, 1500, 1500, 1500, 1500)
	for range 2 {
		got += fmt.Sprint(next())
	}
	for range 25 {
		fill(&b, 0, 64)
	}
	for b.WaitingQueues() != 0 {
		got += fmt.Sprint(next())
	}
	if want := "11" + "0000000000" + "1" + "0000000000" + "1" + "00000" + "1"; got != want {
		t.Errorf("served %s, want %s", got, want)
	}
	fill(&b, 0, 64, 64)
	fill(&b, 1, 1500, 1500)
	fill(&b, 2, 64, 64, 64)
	b.paused |= 1
	got = ""
	for b.readyQueues() != 0 {
		got += fmt.Sprint(next())
	}
	if got != "22121" && got != "12212" {
		t.Errorf("with the first queue paused %s is served", got)
	}
}

// BenchmarkFIFO measures a packet in and out of a port with one queue, the hot path of most ports.
func BenchmarkFIFO(b *testing.B) {
	p := NewPort(NewBuffer(1, Limit{}, Limit{Packets: 100}), NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
	fill(&p.Buffer, 0, 1514, 64, 500)
	now := unit.Time(0)
	for b.Loop() {
		now++
		f, _, _ := p.DequeueNext(now)
		if p.Fits(0, f.Size) == Fits {
			p.Push(0, f)
		}
	}
}

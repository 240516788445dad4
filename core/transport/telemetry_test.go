package transport

import (
	"bytes"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

const us = unit.Microsecond

func teller(t *testing.T, want telemetry.Request, average unit.Time, a TelemetryOptions) (
	TelemetryRequester, *telemetry.Format, error) {
	t.Helper()
	f, err := telemetry.NewFormat("hpcc", 1, 1.05, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.LoadInterval = average
	x, err := NewTelemetryRequester(&Flow{Telemetry: &f, CC: &cc.Scheme{Telemetry: want},
		Path: cc.Path{BaseRTT: 10 * us}}, a)
	return x, &f, err
}

// TestTelemetryRequester_AsksWhenDue checks draft-miao §6 and §7.2, which packets request telemetry: a packet each 3 µs
// for 300 µs, with an RTT of 20 µs after the first 10.
func TestTelemetryRequester_AsksWhenDue(t *testing.T) {
	for when, want := range map[string]int{AskPacket: 100, AskPackets: 25, AskRTT: 16, AskCongestion: 100, AskProbe: 0,
		AskNever: 0} {
		t.Run(when, func(t *testing.T) {
			x, f, err := teller(t, telemetry.HopRecords, 13*us, TelemetryOptions{When: when, Packets: 4})
			if err != nil {
				t.Fatal(err)
			}
			asked, probes := 0, 0
			for i := range 100 {
				now, srtt := unit.Time(i)*3*us, unit.Time(0)
				if i > 10 {
					srtt = 20 * us
				}
				p := &packet.Packet{}
				x.AskIfDue(now, p, srtt)
				if f.RequestsOf(p) != 0 {
					asked++
				}
				if x.NextProbe(srtt) <= now {
					probes++
					x.AskByProbe(now, p)
					if f.RequestsOf(p) != telemetry.WantsRecord {
						t.Error("a probe does not ask")
					}
				}
			}
			if asked != want || (probes > 0) != (when == AskProbe) || probes > 17 {
				t.Errorf("%s: %d packets ask, want %d; %d probes", when, asked, want, probes)
			}
		})
	}
}

// TestAskingErrors checks that a flow without need for telemetry, or in a network without it, requests none. Telemetry
// that the switches cannot provide is an error.
func TestAskingErrors(t *testing.T) {
	x, f, err := teller(t, telemetry.NoRequest, 0, TelemetryOptions{When: AskPacket})
	p := &packet.Packet{}
	if x.AskIfDue(0, p, 0); err != nil || p.HasExtensions() || x.NextProbe(0) != unit.Never || x.ReadFeedback(0, p,
		&cc.Ack{}) {
		t.Error("a controller that wants nothing asks")
	}
	none, err := NewTelemetryRequester(&Flow{CC: &cc.Scheme{Telemetry: telemetry.HopRecords}},
		TelemetryOptions{When: AskPacket})
	if none.AskIfDue(0, p, 0); err != nil || p.HasExtensions() || p.ExtensionBytes() != 0 {
		t.Error("asks in a network without telemetry")
	}
	for _, bad := range []func() error{
		func() error {
			_, _, err := teller(t, telemetry.PathLoad, 0, TelemetryOptions{When: AskPacket})
			return err
		},
		func() error {
			_, _, err := teller(t, telemetry.HopRecords, 0, TelemetryOptions{When: AskCongestion})
			return err
		},
		func() error {
			_, _, err := teller(t, telemetry.PathLoad, us, TelemetryOptions{When: AskCongestion})
			return err
		},
		func() error { a := TelemetryOptions{When: AskPackets}; return scheme.Validate(&a) },
		func() error { a := TelemetryOptions{When: "hourly"}; return scheme.Validate(&a) },
	} {
		if bad() == nil {
			t.Error("no error")
		}
	}
	_ = f
}

// echo sends a packet through one switch and back, and returns what the sender reads.
func echo(x *TelemetryRequester, f *telemetry.Format, r *TelemetryResponder, now unit.Time, tx uint64, a *cc.Ack) bool {
	p := &packet.Packet{}
	x.AskIfDue(now, p, 0)
	f.PushRecord(p, &telemetry.Hop{Time: now, TxBytes: tx, Rate: 100 * unit.Gbps, Switch: 5})
	r.HandleData(now, p, -1)
	r.GiveAnswer(p)
	return x.ReadFeedback(now, p, a)
}

// TestReadUnwraps checks that records are returned unwrapped: times and bytes continue where the format wraps.
func TestReadUnwraps(t *testing.T) {
	x, f, _ := teller(t, telemetry.HopRecords, 0, TelemetryOptions{When: AskPacket})
	r, err := NewTelemetryResponder(&Flow{Telemetry: f, CC: &cc.Scheme{Telemetry: telemetry.HopRecords}}, cc.Flow{},
		TelemetryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var first, last telemetry.Hop
	const step = 2 * unit.Millisecond
	for i := range 40 { // 80 ms, 4 wraps of time; 25 MB a step, 7 wraps of bytes
		var a cc.Ack
		if !echo(&x, f, &r, unit.Time(i)*step, uint64(i)*25_000_000, &a) || len(a.Telemetry.Hops) != 1 ||
			a.Telemetry.Path != 5 {
			t.Fatalf("packet %d: %+v", i, a)
		}
		if last = a.Telemetry.Hops[0]; i == 0 {
			first = last
		}
	}
	if last.Time-first.Time != 39*step || 39*25_000_000-(last.TxBytes-first.TxBytes) > 128 {
		t.Errorf("%v and %d bytes lie between first and last", last.Time-first.Time, last.TxBytes-first.TxBytes)
	}
}

// TestResponderKeeps checks that a delayed acknowledgement has the newest telemetry, and gives it once.
func TestResponderKeeps(t *testing.T) {
	x, f, _ := teller(t, telemetry.HopRecords, 0, TelemetryOptions{When: AskPacket})
	r, _ := NewTelemetryResponder(&Flow{Telemetry: f, CC: &cc.Scheme{Telemetry: telemetry.HopRecords}}, cc.Flow{},
		TelemetryOptions{})
	for i := range 3 {
		p := &packet.Packet{}
		x.AskIfDue(0, p, 0)
		f.PushRecord(p, &telemetry.Hop{Queue: unit.Bytes(i) * 80, Rate: 100 * unit.Gbps})
		r.HandleData(0, p, -1)
		r.KeepAnswer(p)
	}
	bare := &packet.Packet{}
	r.HandleData(0, bare, -1)
	r.KeepAnswer(bare)
	ack, again := &packet.Packet{}, &packet.Packet{}
	r.GiveAnswer(ack)
	r.GiveAnswer(again)
	var a cc.Ack
	if !x.ReadFeedback(0, ack, &a) || a.Telemetry.Hops[0].Queue != 160 || again.HasExtensions() {
		t.Errorf("%+v, and then %d bytes", a.Telemetry.Hops, again.ExtensionBytes())
	}
}

// fixedReceiver is a controller's part at a receiver.
type fixedReceiver struct {
	data cc.Data
	next unit.Time
}

func (r *fixedReceiver) OnData(_ unit.Time, d *cc.Data) (cc.Feedback, bool) {
	r.data = *d
	return r.Feedback(), d.Path == 6
}
func (r *fixedReceiver) OnTimer(unit.Time) (cc.Feedback, bool) {
	r.next = unit.Never
	return r.Feedback(), true
}
func (r *fixedReceiver) NextTimer() unit.Time { return r.next }
func (r *fixedReceiver) Feedback() cc.Feedback {
	return cc.Feedback{Window: 0x123456789a, Flows: 70000, Number: 6}
}
func (r *fixedReceiver) Coalesce(most int) int { return min(most, 2) }

// TestReceiver_ReturnsWindowsFromTelemetry checks a scheme with a part at the receiver: it receives the telemetry and
// returns windows. A window beyond the field's range is sent as the maximum.
func TestReceiver_ReturnsWindowsFromTelemetry(t *testing.T) {
	part := &fixedReceiver{next: 50 * us}
	s := &cc.Scheme{Telemetry: telemetry.HopRecords, Receiver: func(cc.Flow, scheme.Config, *cc.Host) (cc.Receiver,
		error) {
		return part, nil
	}}
	f, _ := telemetry.NewFormat("hpcc", 1, 1.05, nil)
	flow := &Flow{Telemetry: &f, CC: s}
	x, _ := NewTelemetryRequester(flow, TelemetryOptions{When: AskPacket})
	r, _ := NewTelemetryResponder(flow, cc.Flow{}, TelemetryOptions{})
	for _, sw := range []uint32{5, 6} {
		p := &packet.Packet{}
		x.AskIfDue(0, p, 0)
		f.PushRecord(p, &telemetry.Hop{Rate: 100 * unit.Gbps, Switch: sw})
		if atOnce := r.HandleData(0, p, -1); atOnce != (sw == 6) || part.data.Path != uint16(sw) || len(part.data.Hops) != 1 {
			t.Errorf("at once %v, %+v", atOnce, part.data)
		}
		r.KeepAnswer(p)
		ack := &packet.Packet{}
		r.GiveAnswer(ack)
		var a cc.Ack
		if !x.ReadFeedback(0, ack, &a) || a.Feedback.Window != 1<<32-1 || a.Feedback.Flows != 8191 ||
			a.Feedback.Number != 6 ||
			a.Telemetry.Hops != nil ||
			ack.ExtensionBytes() != 16 {
			t.Errorf("%+v in %d bytes", a, ack.ExtensionBytes())
		}
	}
	if r.AckLimit(8) != 2 || r.NextTimer() != 50*us || r.RunTimer(49*us) || !r.RunTimer(50*us) ||
		r.NextTimer() != unit.Never {
		t.Error("timers")
	}
	damaged := &packet.Packet{}
	damaged.SetExtension(Feedback, []byte{1})
	if x.ReadFeedback(0, damaged, &cc.Ack{}) {
		t.Error("a damaged window is read")
	}
}

// numbered is a receiver's part with feedback that a test sets.
type numbered struct {
	fixedReceiver
	feedback cc.Feedback
}

func (r *numbered) OnData(_ unit.Time, d *cc.Data) (cc.Feedback, bool) {
	r.data = *d
	return r.feedback, false
}
func (r *numbered) Feedback() cc.Feedback { return r.feedback }

// numberedFlow is both ends of a flow with such a part.
func numberedFlow(t testing.TB, format, when string) (*numbered, TelemetryRequester, TelemetryResponder,
	*telemetry.Format) {
	t.Helper()
	part := &numbered{}
	s := &cc.Scheme{Telemetry: telemetry.HopRecords, Receiver: func(cc.Flow, scheme.Config, *cc.Host) (cc.Receiver,
		error) {
		return part, nil
	}}
	f, err := telemetry.NewFormat(format, 1, 1.05, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.LoadInterval = 10 * us
	flow := &Flow{Telemetry: &f, CC: s}
	x, err := NewTelemetryRequester(flow, TelemetryOptions{When: when, Packets: 2})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewTelemetryResponder(flow, cc.Flow{}, TelemetryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return part, x, r, &f
}

// TestAdoptedFeedback checks that data carries the number of the feedback that its sender adopted last, in every format
// and for any packets that request telemetry. Other data is as long as without numbers. Late feedback is not adopted.
func TestAdoptedFeedback(t *testing.T) {
	for _, format := range []string{"hpcc", "int-md", "ioam", "ifa-ext", "relative"} {
		for _, when := range []string{AskPacket, AskPackets, AskRTT, AskCongestion, AskProbe} {
			if format == "relative" && when == AskCongestion {
				continue
			}
			t.Run(format+" "+when, func(t *testing.T) {
				part, x, r, f := numberedFlow(t, format, when)
				now, bare := unit.Time(0), int32(0)
				send := func() {
					now += 100 * us
					p := &packet.Packet{}
					if x.AskIfDue(now, p, us); when == AskProbe {
						x.AskByProbe(now, p)
					}
					for x.AskIfDue(now, p, us); f.RequestsOf(p) == 0; x.AskIfDue(now, p, us) { // it is not this one's turn
						now += us
					}
					if bare == 0 {
						bare = p.ExtensionBytes()
					} else if n := p.ExtensionBytes(); n < bare || n > bare+8 {
						t.Errorf("%d bytes, %d before", n, bare)
					}
					r.HandleData(now, p, -1)
				}
				for _, c := range []struct{ number, adopted uint8 }{
					{0, 0}, {0, 0}, {1, 1}, {2, 2}, {1, 2}, {2, 2}, {0, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {6, 7}, {1, 1},
					{7, 1}, {2, 2},
				} {
					part.feedback = cc.Feedback{Window: 5000, Number: c.number}
					ack, a := &packet.Packet{}, cc.Ack{}
					r.GiveAnswer(ack)
					if told := x.ReadFeedback(now, ack, &a); told != (c.number == c.adopted) || told != (a.Feedback == part.feedback) {
						t.Errorf("%d after others: %v, %+v", c.number, told, a.Feedback)
					}
					if send(); part.data.Adopted != c.adopted {
						t.Errorf("%d came: data has %d, want %d", c.number, part.data.Adopted, c.adopted)
					}
				}
			})
		}
	}
}

// FuzzFeedback_RoundTripsBytes checks that the feedback of the receiver's part arrives as far as there is room for it.
// Any bytes are read as feedback that is written as the same bytes.
func FuzzFeedback_RoundTripsBytes(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 0, 2})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 1, 0xe0, 0})
	f.Add([]byte{1})
	part, x, r, _ := numberedFlow(f, "hpcc", AskPacket)
	f.Fuzz(func(t *testing.T, b []byte) {
		*x.adopted.currentNumber() = 0
		ack, a := &packet.Packet{}, cc.Ack{}
		if !ack.SetExtension(Feedback, b) {
			return
		}
		if ok := x.ReadFeedback(0, ack, &a); ok != (len(b) == feedbackBytes) {
			t.Fatalf("%x: %v", b, ok)
		} else if !ok {
			return
		}
		part.feedback = a.Feedback
		again := &packet.Packet{}
		r.GiveAnswer(again)
		if c, _ := again.Extension(Feedback); !bytes.Equal(b, c) || a.Feedback.Number > cc.FeedbackNumbers {
			t.Errorf("%x is %+v, and that %x", b, a.Feedback, c)
		}
	})
}

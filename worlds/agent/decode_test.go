package agent

import (
	"encoding/binary"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestDecodeConnection checks that a connection's state is decoded as in bpf/law.h and bpf/agent.c.
func TestDecodeConnection(t *testing.T) {
	const now = 5_000_000_000
	raw := rawConnection{Recorded: now - 1_000_000, ToldAt: now - 2_000_000, Window: 9000, Load: feedbackLoadUnit / 2,
		Bottleneck: 1, Hops: 3, Tells: 11, Refused: 12, Traced: 13, Fallbacks: 14, Following: 1, Time: 12_288,
		Law: rawLaw{Told: 4000, T: 20_480_000, U: loadUnit + loadUnit/4, N: 2, Bottleneck: 1, Measured: 15, Missed: 1}}
	raw.Law.Last[1].Node = 77
	decode := func() (c Connection) {
		b, err := binary.Append(nil, binary.LittleEndian, &raw)
		if err == nil {
			err = c.decode(b, now)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want := Connection{SenderFeedback: Feedback{Window: 9000, Load: 0.5, Bottleneck: 2, Hops: 3, Age: 2 * unit.Millisecond,
		T: 12_288 * unit.Microsecond},
		ReceiverFeedback: Feedback{Window: 4000, Load: 1.25, Bottleneck: 2, Hops: 2, Node: 77, Age: unit.Millisecond,
			T: 20_480 * unit.Microsecond},
		Following: true, FeedbackCount: 11, Traced: 13, Measured: 15, Missed: true, Refused: 12, Fallbacks: 14}
	if got := decode(); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	raw.Recorded, raw.ToldAt = now+436_000, now+1
	if got := decode(); got.ReceiverFeedback.Age != 0 || got.SenderFeedback.Age != 0 {
		t.Errorf("telemetry is newer than now: %+v", got)
	}
	raw.Law.Bottleneck, raw.Hops = 2, 0 // no hop has the largest load
	if got := decode(); got.ReceiverFeedback.Bottleneck != 0 || got.ReceiverFeedback.Node != 0 ||
		got.SenderFeedback.Bottleneck != 0 {
		t.Errorf("without a bottleneck: %+v", got)
	}
	raw.Law.Told, raw.Window = 0, 0
	if got := decode(); got.ReceiverFeedback != (Feedback{}) || got.SenderFeedback != (Feedback{}) {
		t.Errorf("nothing is known: %+v", got)
	}
	if err := new(Connection).decode(make([]byte, 3), now); err == nil {
		t.Error("three bytes are a connection")
	}
}

// TestDecodeNacks checks that the state of NACKs is decoded as in bpf/bound.h. A bound applies for two round trips, at
// most 100 ms.
func TestDecodeNacks(t *testing.T) {
	const came = 7_000_000_000
	raw := rawNacked{At: came, Supply: 8e6, Demand: 9e6, Bound: 2856, Trip: 10_000, Node: 5,
		Cause: uint32(packet.CauseTrimmed), Taken: 1, Repeated: 2, Refused: 3, Reductions: 4, Expired: 6, Lowered: 7}
	decode := func(now int64) (n Nacks) {
		b, err := binary.Append(nil, ne, &raw)
		if err == nil {
			err = n.decode(b, now)
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	want := Nacks{Taken: 1, Repeated: 2, Refused: 3, Reductions: 4, Expired: 6, Lowered: 7, Cause: packet.CauseTrimmed,
		Supply: 8 * unit.Mbps, Demand: 9 * unit.Mbps, Switch: 5, Age: 20*unit.Millisecond - unit.Nanosecond, Bound: 2856}
	if got := decode(came + 19_999_999); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got := decode(came + 20_000_000); got.Bound != 0 || got.Expired != 7 {
		t.Errorf("after two round trips: %+v", got)
	}
	raw.Trip = 90_000
	if got := decode(came + 99_999_999); got.Bound != 2856 {
		t.Errorf("before 100 ms: %+v", got)
	}
	if got := decode(came + 100_000_000); got.Bound != 0 || got.Expired != 7 {
		t.Errorf("after 100 ms: %+v", got)
	}
	raw.At = 0
	if got := decode(came); got.Age != 0 || got.Bound != 0 || got.Taken != 1 {
		t.Errorf("none has come: %+v", got)
	}
	if err := new(Nacks).decode(make([]byte, 3), came); err == nil {
		t.Error("three bytes are what NACKs did")
	}
}

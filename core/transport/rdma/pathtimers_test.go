package rdma

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// pathPart is a controller's part at the receiver of one path.
type pathPart struct {
	window unit.Bytes
	timer  unit.Time
}

func (r *pathPart) OnData(unit.Time, *cc.Data) (cc.Feedback, bool) { return r.Feedback(), false }
func (r *pathPart) OnTimer(unit.Time) (cc.Feedback, bool) {
	r.timer = unit.Never
	return r.Feedback(), true
}
func (r *pathPart) NextTimer() unit.Time  { return r.timer }
func (r *pathPart) Feedback() cc.Feedback { return cc.Feedback{Window: r.window} }
func (r *pathPart) Coalesce(most int) int { return most }

// TestPathFeedbackApart checks an acknowledgement that waits for a packet of one path while another path's part has
// feedback, or another mark arrives. Each goes back by its own path with that path's feedback.
func TestPathFeedbackApart(t *testing.T) {
	for _, x := range []struct {
		name   string
		timers [2]unit.Time // by path; the acknowledgement of a packet on path 0 is due after 10 us
		at     []unit.Time  // when the receiver is called
		ce     bool         // then a marked packet arrives on path 1
		want   []string     // windows by path
	}{
		{"only the acknowledgement", [2]unit.Time{unit.Never, unit.Never}, []unit.Time{10 * us}, false, []string{"0:1000"}},
		{"both due together", [2]unit.Time{unit.Never, 10 * us}, []unit.Time{10 * us}, false, []string{"0:1000", "1:2000"}},
		{"of one path", [2]unit.Time{10 * us, unit.Never}, []unit.Time{10 * us}, false, []string{"0:1000"}},
		{"all three", [2]unit.Time{10 * us, 10 * us}, []unit.Time{10 * us, 10 * us}, false, []string{"0:1000", "1:2000"}},
		{"feedback before", [2]unit.Time{unit.Never, 4 * us}, []unit.Time{4 * us, 10 * us}, false,
			[]string{"0:1000", "1:2000"}},
		{"another mark", [2]unit.Time{unit.Never, unit.Never}, nil, true, []string{"0", "1:2000"}},
	} {
		for _, nic := range []unit.Time{0, us} {
			t.Run(fmt.Sprint(x.name, " ", nic), func(t *testing.T) {
				if got := repliesOf(t, x.timers, x.at, x.ce, nic); !slices.Equal(got, x.want) {
					t.Errorf("%v, want %v", got, x.want)
				}
			})
		}
	}
}

// repliesOf returns what a receiver sends back after a packet on path 0, as path and window of the feedback in it.
func repliesOf(t *testing.T, timers [2]unit.Time, at []unit.Time, ce bool, nic unit.Time) (got []string) {
	t.Helper()
	f := newFlow(100_000, &fixed{}, cc.DCTCPMode)
	var parts []*pathPart
	f.CC = &cc.Scheme{PerPath: true, ECN: cc.DCTCPMode, Build: func(cc.Flow, scheme.Config) (cc.Controller, error) {
		return &fixed{window: 10_000, timer: unit.Never, keep: true}, nil
	}, Receiver: func(cc.Flow, scheme.Config, *cc.Host) (cc.Receiver, error) {
		parts = append(parts, &pathPart{window: unit.Bytes(1000 * (len(parts) + 1)), timer: timers[len(parts)]})
		return parts[len(parts)-1], nil
	}}
	c := Defaults()
	c.Recovery, c.Paths, c.AckEvery, c.AckDelay, c.NIC.Ack = SelectiveRepeat, 2, 4, 10*us, nic
	s, r, err := New(f, c)
	if err != nil {
		t.Fatal(err)
	}
	note := func(p *packet.Packet) {
		text := fmt.Sprint(p.DstPort - r.entropy)
		if b, ok := p.Extension(transport.Feedback); ok {
			text += fmt.Sprint(":", int(b[2])<<8|int(b[3]))
		}
		got = append(got, text)
	}
	arrive := func(path uint16, marked bool) {
		p := &packet.Packet{}
		s.Emit(0, p)
		if p.SrcPort = r.entropy + path; marked {
			p.TOS |= packet.CE
		}
		p.TCP.Flags |= packet.NoAckRequest
		if r.Receive(0, p) {
			note(p)
		}
	}
	arrive(0, false)
	send := func(now unit.Time) {
		for r.NextSend() <= now {
			p := &packet.Packet{}
			r.Emit(now, p)
			note(p)
		}
	}
	for _, now := range at {
		if r.NextTimer() <= now {
			r.Advance(now)
		}
		if nic == 0 {
			send(now)
		}
	}
	if ce {
		arrive(1, true)
		if nic == 0 && r.NextTimer() != 10*us {
			t.Errorf("the marked packet's acknowledgement is due at %v", r.NextTimer())
		}
		r.Advance(10 * us)
	}
	send(unit.Second)
	return got
}

//go:build lab

package agent_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"weir/core/unit"
	"weir/internal/testkit/await"
	"weir/worlds/agent"
)

// short is a path for tests of behaviour, not of figures.
var short = path{Rate: 50e6, Back: 1e9, Delay: 2 * time.Millisecond, Buffer: 300, Telemetry: 3}

// captured keeps frames that arrive at a node.
type captured struct {
	mu     sync.Mutex
	frames [][]byte
}

func capture(n *node) *captured {
	c := &captured{}
	add := func(b []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.frames) < 5000 {
			c.frames = append(c.frames, bytes.Clone(b))
		}
	}
	n.watch.Store(&add)
	return c
}

// option returns a TCP option with its head, or nil.
func (s *segment) option(kind byte) []byte {
	for b := s.options; len(b) > 1 && b[0] != 0; {
		if b[0] == 1 {
			b = b[1:]
			continue
		}
		if b[0] == kind {
			return b[:b[1]]
		}
		b = b[b[1]:]
	}
	return nil
}

// TestAgent_ControlsPlainConnections checks a connection between unmodified programs. Its segments carry traces and are
// as long as the MTU allows, and the records of three hops reach the receiver. Its acknowledgements carry window, U and
// bottleneck in twelve bytes in addition to the time stamp. The sender has W of frames in flight and is paced at W/T,
// under weir_hpcc.
func TestAgent_ControlsPlainConnections(t *testing.T) {
	r := lay(t, short, 1)
	config := agent.DefaultConfig()
	config.RTT = shortTrip
	b, a := r.agent("b", config), r.agent("a1", config)
	seen := capture(r.node)
	f := r.open("a1")
	f.send()
	following(t, a)
	const frame = 1514
	await.AwaitCondition(t, "a window in the kernel as it was told", func() bool {
		c := connections(t, a)[0]
		want := max(4, (int64(c.SenderFeedback.Window)+frame-1)/frame)
		rate := int64(c.SenderFeedback.Window) * payload / ofFrame * 1e6 / max(int64(c.SenderFeedback.T/unit.Microsecond),
			1) * 8
		return c.Following && int64(c.Window) == want && c.Pacing == unit.Rate(rate) &&
			c.Controller == a.Controller && c.SenderFeedback.Hops == 3 &&
			c.SenderFeedback.Bottleneck == 1 && c.Traced > 100
	})
	if a.Controller[:9] != "weir_hpcc" {
		t.Errorf("the controller is %s", a.Controller)
	}
	var other agent.Connection
	await.AwaitCondition(t, "measurements", func() bool { other = connections(t, b)[0]; return other.Measured >= 50 })
	// A receiver refuses records of data that it already has: a machine that stalls makes the sender retransmit.
	again := f.info(t).TotalRetrans
	if other.ReceiverFeedback.Hops != 3 || other.ReceiverFeedback.Node != 100 || other.Following || other.Refused > again {
		t.Errorf("at the receiver, of %d that were sent again: %+v", again, other)
	}
	await.AwaitCondition(t, "frames",
		func() bool { seen.mu.Lock(); defer seen.mu.Unlock(); return len(seen.frames) > 500 })
	seen.mu.Lock()
	defer seen.mu.Unlock()
	full, told := 0, 0
	for _, x := range seen.frames {
		s, ok := segmentOf(x)
		if !ok {
			continue
		}
		if len(x) > frame {
			t.Fatalf("a frame of %d bytes", len(x))
		}
		if (len(s.data) > 0) != (s.trace != nil) {
			t.Fatalf("%d bytes of data, %d of trace", len(s.data), len(s.trace))
		}
		if len(x) == frame {
			full++
		}
		if o := s.option(253); o != nil {
			told++
			if len(o) > 12 || s.option(8) == nil || binary.BigEndian.Uint16(o[2:]) != 0x5746 {
				t.Fatalf("options % x", s.options)
			}
		}
	}
	if full < 50 || told < 20 {
		t.Errorf("%d full frames, %d options in %d frames", full, told, len(seen.frames))
	}
}

// TestLargeSegments checks a host with an interface that takes 64 kB in one piece, Linux's default. In flight are the
// bytes sent at W/T in the smoothed round trip and the empty path's, and four segments. It is paced at W/T, and fills
// eta of the link.
func TestLargeSegments(t *testing.T) {
	r := lay(t, short, 1)
	r.largeSegments("a1", 65535) // gso_max_segs of interfaces that set none
	c := agent.DefaultConfig()
	c.RTT = shortTrip
	r.agent("b", c)
	a := r.agent("a1", c)
	f := r.open("a1")
	f.send()
	following(t, a)
	await.AwaitCondition(t, "a window for two round trips", func() bool {
		c := connections(t, a)[0]
		w, us := int64(c.SenderFeedback.Window), int64(max(c.SenderFeedback.T/unit.Microsecond, 1))
		trips := int64((c.RTT + shortTrip) / unit.Microsecond)
		all, part := (w+ofFrame-1)/ofFrame, (w*min(trips, us)/us+ofFrame-1)/ofFrame+4
		return c.Following && trips < us && part < all && int64(c.Window) == part &&
			c.Pacing == unit.Rate(w*payload/ofFrame*1e6/us*8)
	})
	carries(t, f, 0.95*float64(short.Rate)*payload/ofFrame)
	if sent, pieces := f.info(t).SegmentsOut, connections(t, a)[0].Traced; pieces > sent/2 {
		t.Errorf("%d segments were sent in %d pieces, want two or more in each", sent, pieces)
	}
}

// TestTelemetryComesAndGoes checks that a connection without telemetry is CUBIC's after two round trips, and
// HPCC++'s again with the next records.
func TestTelemetryComesAndGoes(t *testing.T) {
	r := lay(t, short, 1)
	r.agent("b", agent.DefaultConfig())
	a := r.agent("a1", agent.DefaultConfig())
	f := r.open("a1")
	f.send()
	following(t, a)
	for range 2 {
		before := connections(t, a)[0]
		r.node.mute.Store(true)
		await.AwaitCondition(t, "CUBIC", func() bool {
			c := connections(t, a)[0]
			return c.Controller == "cubic" && !c.Following && c.Fallbacks > before.Fallbacks
		})
		r.node.mute.Store(false)
		await.AwaitCondition(t, "HPCC++", func() bool { following(t, a); return r.controllerOf("a1") == a.Controller })
	}
}

// TestAgent_WorksWithoutPeerAgent checks that a host without an agent skips the trace and receives only options that it
// has requested.
func TestAgent_WorksWithoutPeerAgent(t *testing.T) {
	for _, x := range []struct {
		at     string
		traces bool
	}{{"a1", true}, {"b", false}} {
		t.Run(x.at, func(t *testing.T) {
			r := lay(t, short, 1)
			a := r.agent(x.at, agent.DefaultConfig())
			seen := capture(r.node)
			f := r.open("a1")
			f.send()
			await.AwaitCondition(t, "data", func() bool { return f.came.Load() > 1<<20 })
			if c := r.controllerOf("a1"); c != "cubic" {
				t.Errorf("the sender has %s", c)
			}
			if c := connections(t, a); len(c) != 1 || c[0].Following || c[0].FeedbackCount+c[0].Measured+c[0].Refused > 0 {
				t.Errorf("%+v", c)
			}
			seen.mu.Lock()
			defer seen.mu.Unlock()
			for _, b := range seen.frames {
				s, ok := segmentOf(b)
				if ok && (s.option(253) != nil || (s.trace != nil) != (x.traces && len(s.data) > 0)) {
					t.Fatalf("% x", b[:min(len(b), 300)])
				}
			}
		})
	}
}

// TestAgent_FeedbackFitsWithSACK checks that with lost frames acknowledgements still carry the window: next to a block
// of SACK in twelve bytes, next to two in eight, and in the place of the third (RFC 2018 §4: a receiver repeats each
// block three times). Their checksums are right, or the sender would drop them, and it continues to follow. With a pair
// of losses in 20 frames there are two blocks nearly always; with one in 200 the first loss of a pair is repaired
// separately.
func TestAgent_FeedbackFitsWithSACK(t *testing.T) {
	for _, x := range []struct{ lossy, kind, wanted int }{{20, 8 + 20, 21}, {200, 12 + 10, 6}} {
		t.Run(fmt.Sprint(x.lossy, " frames"), func(t *testing.T) {
			p := short
			p.Lossy = x.lossy
			acknowledgedWithSACK(t, p, x.kind, x.wanted)
		})
	}
}

// acknowledgedWithSACK sends over a path until enough acknowledgements of a kind were seen. A kind is 10 times the
// number of SACK blocks plus the length of the agent's option.
func acknowledgedWithSACK(t *testing.T, p path, kind, wanted int) {
	r := lay(t, p, 1)
	r.agent("b", agent.DefaultConfig())
	a := r.agent("a1", agent.DefaultConfig())
	f := r.open("a1")
	f.send()
	following(t, a)
	seen := capture(r.node)
	lengths := map[int]int{} // number of acknowledgements by kind
	with, without := 0, 0
	await.AwaitCondition(t, "acknowledgements with SACK blocks", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		for _, b := range seen.frames {
			s, ok := segmentOf(b)
			if !ok || len(s.data) > 0 || s.flags != 16 {
				continue
			}
			sack, o := len(s.option(5))/8, s.option(253)
			if !summed(b) {
				t.Fatalf("a wrong checksum: % x", b)
			}
			if o == nil {
				without++
				continue
			}
			with++
			if sack > 0 {
				lengths[10*sack+len(o)]++
			}
		}
		seen.frames = nil
		return lengths[kind] >= wanted
	})
	t.Logf("%v (10 times blocks and the option's length) of %d, %d without", lengths, with, without)
	for n := range lengths {
		if n != 12+10 && n != 8+20 {
			t.Errorf("options and blocks that do not go together: %v", lengths)
		}
	}
	// On a machine that stalls, telemetry becomes too old to report, and acknowledgements overtake each other. These
	// are not refused.
	if c := connections(t, a)[0]; c.Refused > 0 || without > 10+with/20 {
		t.Errorf("%d without, %+v", without, c)
	}
}

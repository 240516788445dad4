//go:build lab

package agent_test

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"weir/core/unit"
	"weir/internal/testkit/await"
	"weir/worlds/agent"
)

// A segment with a trace is a frame of 1514 bytes (IEEE 802.3): 14 of Ethernet, 40 of IPv6, 160 of the trace, 32 of
// TCP with a timestamp, and the payload.
const (
	ofFrame = 1514
	payload = ofFrame - 14 - 40 - 160 - 32
)

// shortTrip is the round trip of path short without queues: twice the delay, and frames. Tests set it, because
// handshakes on a busy machine measure more, and not the same at both ends.
const shortTrip = 4300 * unit.Microsecond

// claim has every acknowledgement that passes claim this window, and the T of this code unless it is 0.
func claim(n *node, window uint32, code byte) (changed *atomic.Int64) {
	changed = new(atomic.Int64)
	change := func(b []byte) {
		s, ok := segmentOf(b)
		if !ok || len(s.option(253)) < 8 {
			return
		}
		binary.BigEndian.PutUint32(b[optionAt(b, 253)+4:], window)
		if code > 0 && len(s.option(253)) == 12 {
			b[optionAt(b, 253)+11] = code
		}
		sum(b)
		changed.Add(1)
	}
	n.watch.Store(&change)
	return changed
}

// obeyed waits until a connection has this window, in segments, and this pacing rate.
func obeyed(t testing.TB, a *agent.Agent, window uint32, pacing unit.Rate) {
	t.Helper()
	await.AwaitCondition(t, fmt.Sprintf("window %d, paced at %v", window, pacing), func() bool {
		c := connections(t, a)[0]
		return c.Following && c.Window == window && c.Pacing == pacing
	})
}

// requireBound waits until a connection has W = rate*T, with ceil(W/frame) segments in flight, at least four, and
// is paced at W/T, which counts a frame's payload. T is the receiver's.
func requireBound(t testing.TB, a *agent.Agent, rate unit.Rate) (w int64) {
	t.Helper()
	await.AwaitCondition(t, "T", func() bool { return connections(t, a)[0].SenderFeedback.T > 0 })
	us := int64(connections(t, a)[0].SenderFeedback.T / unit.Microsecond)
	w = int64(rate) / 8 * us / 1e6
	obeyed(t, a, uint32(max((w+ofFrame-1)/ofFrame, 4)), unit.Rate(8*(w*payload/ofFrame*1e6/us)))
	return w
}

// TestAgent_BoundsClaimedWindowByRate checks that a receiver that claims more than the capacity of the sender's link is
// obeyed up to W = Rate*T.
func TestAgent_BoundsClaimedWindowByRate(t *testing.T) {
	const window = 1 << 30
	for _, rate := range []unit.Rate{20 * unit.Mbps, 5 * unit.Mbps, 2 * unit.Mbps} {
		t.Run(rate.String(), func(t *testing.T) {
			r := lay(t, short, 1)
			c := agent.DefaultConfig()
			c.RTT = shortTrip
			r.agent("b", c)
			c.Rate = rate
			a := r.agent("a1", c)
			claims := claim(r.node, window, 0)
			f := r.open("a1")
			f.send()
			following(t, a)
			requireBound(t, a, rate)
			if c := connections(t, a)[0]; c.SenderFeedback.Window != window || claims.Load() == 0 {
				t.Errorf("%d claims, %+v", claims.Load(), c)
			}
			carries(t, f, float64(rate)*payload/ofFrame)
		})
	}
}

// TestClaimedT checks that a receiver that also claims a T of a second has no more in flight. The bound is Rate*T
// with the sender's own T. It is its round trip of 4.3 ms plus ten times the time of four segments at Rate, or 1 ms
// if that is longer, rounded up to (16+m)*2^e us.
func TestClaimedT(t *testing.T) {
	for _, x := range []struct {
		rate unit.Rate
		us   int64
	}{{20 * unit.Mbps, 28 << 10}, {5 * unit.Mbps, 25 << 12}, {100 * unit.Mbps, 28 << 9}} {
		t.Run(x.rate.String(), func(t *testing.T) {
			r := lay(t, short, 1)
			c := agent.DefaultConfig()
			c.RTT = shortTrip
			r.agent("b", c)
			c.Rate = x.rate
			a := r.agent("a1", c)
			claim(r.node, 1<<30, 0xff)
			f := r.open("a1")
			f.send()
			following(t, a)
			w := int64(x.rate) / 8 * x.us / 1e6
			const longest = 31 << 15 // us
			most := int64(x.rate) / 8 * longest / 1e6
			obeyed(t, a, uint32((w+ofFrame-1)/ofFrame), unit.Rate(8*(most*payload/ofFrame*1e6/longest)))
			if c := connections(t, a)[0]; c.SenderFeedback.T != longest*unit.Microsecond {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestAgent_BoundsHonestWindowByRate checks that an honest receiver's window is limited to Rate*T as well: with a
// tenth of the path's rate the connection has a tenth.
func TestAgent_BoundsHonestWindowByRate(t *testing.T) {
	r := lay(t, short, 1)
	c := agent.DefaultConfig()
	c.RTT = shortTrip
	r.agent("b", c)
	c.Rate = unit.Rate(short.Rate) / 10
	a := r.agent("a1", c)
	f := r.open("a1")
	f.send()
	following(t, a)
	w := requireBound(t, a, c.Rate)
	if c := connections(t, a)[0]; int64(c.SenderFeedback.Window) <= w {
		t.Errorf("the receiver tells %v, which is not more than %d B", c.SenderFeedback.Window, w)
	}
	carries(t, f, float64(c.Rate)*payload/ofFrame)
}

// carries waits for a fifth of a second in which a flow has this goodput, within 10 %. On a machine that stalls at
// times, not each one passes.
func carries(t testing.TB, f *flow, want float64) {
	t.Helper()
	await.AwaitCondition(t, "its goodput", func() bool {
		got := f.rate(200 * time.Millisecond)
		return got > 0.9*want && got < 1.1*want
	})
}

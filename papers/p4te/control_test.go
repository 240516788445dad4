package p4te

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

func plane(t *testing.T, groups int, c ControlConfig, up ...packet.PortID) *ControlPlane {
	t.Helper()
	c.Groups = [MetricCount]int{groups, groups, groups}
	c.Queue = max(c.Queue, 1)
	k := NewControlPlane(8, up, c)
	return k
}

// TestControlPlane_FollowsAlgorithm4 checks P4TE's algorithm 4: ports begin in the group of the highest priority. An
// increase moves one group on, a decrease one back, never beyond the first and the last. Figure 5, e and f: port 3,
// with a grown queue, moves one group down and port 4, with a shrunk queue, one up.
func TestControlPlane_FollowsAlgorithm4(t *testing.T) {
	k := plane(t, 3, ControlConfig{}, 3, 4)
	step := func(port packet.PortID, change Change) int {
		k.Reconfigure(0, Event{QueueDepth, change, port, 0})
		return k.Group(QueueDepth, port)
	}
	if k.Group(QueueDepth, 3) != 0 || k.Group(QueueDepth, 4) != 0 || k.Group(QueueDepth, 1) != -1 {
		t.Fatal("upward ports do not begin in group 0")
	}
	step(4, Increase) // before figure 5
	for i, s := range []struct {
		port   packet.PortID
		change Change
		want   int
	}{{3, Increase, 1}, {4, Decrease, 0}, {4, Decrease, 0}, {3, Increase, 2}, {3, Increase, 2}, {3, Decrease, 1}} {
		if got := step(s.port, s.change); got != s.want {
			t.Errorf("step %d: port %d is in group %d, want %d", i, s.port, got, s.want)
		}
	}
	if k.Group(Delay, 3) != 0 || k.Group(Utilisation, 3) != 0 {
		t.Error("an event of one metric has moved the port in another's table")
	}
	if w := k.Reconfigure(0, Event{Delay, Increase, 1, 0}); len(w) != 0 {
		t.Errorf("a downward port is moved: %v", w)
	}
}

// TestWritesAreNotAtomic checks P4TE §4.3: writes reach the tables later, one at a time. A port leaves one group before
// it enters the next.
func TestWritesAreNotAtomic(t *testing.T) {
	k := plane(t, 3, ControlConfig{Latency: unit.Millisecond, WriteTime: 100 * unit.Microsecond, Queue: 2}, 3, 4)
	first := slices.Clone(k.Reconfigure(5*unit.Millisecond, Event{Delay, Increase, 3, 0}))
	second := slices.Clone(k.Reconfigure(5*unit.Millisecond, Event{QueueDepth, Increase, 4, 0}))
	ms := unit.Millisecond
	want := []Write{{6*ms + ms/10, Delay, 0, 3, false}, {6*ms + 2*ms/10, Delay, 1, 3, true}, {6*ms + 3*ms/10, QueueDepth,
		0, 4, false}, {6*ms + 4*ms/10, QueueDepth, 1, 4, true}}
	if got := append(first, second...); !slices.Equal(got, want) {
		t.Errorf("writes %v, want %v", got, want)
	}
	u := NewUpward(3, []packet.PortID{3})
	u.Apply(want[0])
	if _, ok := u.Select(0); ok {
		t.Error("between the writes the port is in a group")
	}
	u.Apply(want[1])
	if port, ok := u.Select(0); !ok || port != 3 || !slices.Equal(u.Group(1), []packet.PortID{3}) {
		t.Errorf("after the writes: %v, group 1 %v", port, u.Group(1))
	}
}

// TestControlQueue checks that events that arrive faster than the tables accept writes wait, up to the room for them.
// Others are lost and move no port. A full queue has room again when writes are finished, and a failed link, which the
// operator reports, is always accepted.
func TestControlQueue(t *testing.T) {
	k := plane(t, 100, ControlConfig{Latency: unit.Millisecond, WriteTime: 100 * unit.Microsecond, Queue: 4}, 3, 4)
	step := func(now unit.Time) int { return len(k.Reconfigure(now, Event{Delay, Increase, 3, 0})) }
	for i := range 10 {
		if got, want := step(0), 2; i < 4 && got != want || i >= 4 && got != 0 {
			t.Errorf("event %d of one moment: %d writes", i, got)
		}
	}
	if k.LostEvents() != 6 || k.Group(Delay, 3) != 4 {
		t.Errorf("%d events are lost, the port is in group %d; want 6 and 4", k.LostEvents(), k.Group(Delay, 3))
	}
	if n := step(199 * unit.Microsecond); n != 0 {
		t.Errorf("before the first event's writes: %d writes", n)
	}
	if n := step(200 * unit.Microsecond); n != 2 || k.writes[0].At != 1900*unit.Microsecond {
		t.Errorf("after them: %v", k.writes)
	}
	if w := k.SetLinkDown(200*unit.Microsecond, 4, true); len(w) != int(MetricCount) {
		t.Errorf("the operator's writes: %v", w)
	}
}

// TestUpwardTable_SpreadsOverFirstGroup checks P4TE §6.2.1.2: the first group that is not empty is used, with equally
// likely ports. With all ports in any one group, that is ECMP (P4TE §6.3, P4TE §6.5).
func TestUpwardTable_SpreadsOverFirstGroup(t *testing.T) {
	u := NewUpward(3, []packet.PortID{2, 3, 5})
	spread := func() []packet.PortID {
		var got []packet.PortID
		for i := range uint32(300) {
			port, ok := u.Select(dataplane.MixHash(i))
			if !ok {
				return nil
			}
			if at, there := slices.BinarySearch(got, port); !there {
				got = slices.Insert(got, at, port)
			}
		}
		return got
	}
	if got := spread(); !slices.Equal(got, []packet.PortID{2, 3, 5}) {
		t.Errorf("all in group 0: %v", got)
	}
	move := func(port packet.PortID, from, to int) {
		u.Apply(Write{Group: from, Port: port})
		u.Apply(Write{Group: to, Port: port, Enter: true})
	}
	move(3, 0, 1)
	if got := spread(); !slices.Equal(got, []packet.PortID{2, 5}) {
		t.Errorf("3 in group 1: %v", got)
	}
	move(2, 0, 2)
	move(5, 0, 2)
	if got := spread(); !slices.Equal(got, []packet.PortID{3}) {
		t.Errorf("3 alone in group 1: %v", got)
	}
	move(3, 1, 2)
	if got := spread(); !slices.Equal(got, []packet.PortID{2, 3, 5}) || u.CountPorts() != 3 {
		t.Errorf("all in group 2: %v, %d entries", got, u.CountPorts())
	}
	u.Apply(Write{Group: 2, Port: 3, Enter: true}) // twice
	u.Apply(Write{Group: 0, Port: 3})
	if u.CountPorts() != 3 {
		t.Errorf("entering twice or leaving a group that it is not in: %d entries", u.CountPorts())
	}
}

// TestControlPlane_FailedLinkLeavesTables checks P4TE §6.5: a failed link leaves all tables and moves on with events.
// It is restored to the group where it then belongs.
func TestControlPlane_FailedLinkLeavesTables(t *testing.T) {
	k := plane(t, 3, ControlConfig{}, 3, 4)
	if w := k.SetLinkDown(0, 3, true); len(w) != int(MetricCount) || w[0].Enter || k.Group(Delay, 3) != -1 {
		t.Errorf("a failed link: %v", w)
	}
	if w := k.SetLinkDown(0, 3, true); len(w) != 0 {
		t.Errorf("failed again: %v", w)
	}
	if w := k.Reconfigure(0, Event{Delay, Increase, 3, 0}); len(w) != 0 {
		t.Errorf("an event of a failed link writes %v", w)
	}
	w := k.SetLinkDown(0, 3, false)
	if len(w) != int(MetricCount) || !w[Delay].Enter || w[Delay].Group != 1 || w[QueueDepth].Group != 0 {
		t.Errorf("back: %v", w)
	}
	if w := k.SetLinkDown(0, 1, true); len(w) != 0 {
		t.Errorf("a downward port: %v", w)
	}
}

// TestControlPlane_RangesMapValuesToGroups checks P4TE §6.2.1.2 and §7.1: with sub-ranges a value determines the group:
// 0–3, 4–6, 7–10 of 10 packets in three.
func TestControlPlane_RangesMapValuesToGroups(t *testing.T) {
	k := plane(t, 3, ControlConfig{Mapping: ByRange, Range: [MetricCount][]int64{QueueDepth: {0, 0, 0, 10}}}, 3)
	for _, x := range []struct {
		value int64
		want  int
	}{{9, 2}, {3, 0}, {4, 1}, {6, 1}, {7, 2}, {1000, 2}, {0, 0}, {-5, 0}} {
		t.Run(fmt.Sprint("queue of ", x.value), func(t *testing.T) {
			k.Reconfigure(0, Event{QueueDepth, Increase, 3, x.value})
			if got := k.Group(QueueDepth, 3); got != x.want {
				t.Errorf("a queue of %d: group %d, want %d", x.value, got, x.want)
			}
		})
	}
}

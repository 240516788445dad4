package softswitch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/internal/testkit/frametest"
	"weir/papers/p4abc"
)

// TestUsersBehind checks that users behind a port are its sources and the destinations of its outgoing traffic, with a
// meter for each direction: a download's acknowledgements do not have its activity. Otherwise all sources are users.
// With VLANs it is the same.
func TestUsersBehind(t *testing.T) {
	tag := func(f []byte) []byte { return slices.Insert(f, typeAt, 0x81, 0, 0, 5) }
	for _, c := range []struct {
		name, users string
		tagged      bool
		want        []string
	}{
		{"sources", "", false, []string{"10.0.0.9", "10.0.0.1"}},
		{"behind", "behind: users, ", false, []string{"to 10.0.0.1", "10.0.0.1"}},
		{"behind the other", "behind: uplink, ", false, []string{"10.0.0.9", "to 10.0.0.9"}},
		{"VLANs", "by: vlan, ", true, []string{"to vlan 5", "vlan 5"}},
		{"pairs of VLANs", "by: qinq, ", true, []string{"to vlan 5", "vlan 5"}},
		{"VLANs behind the other", "by: vlan, behind: uplink, ", true, []string{"vlan 5", "to vlan 5"}},
		{"no VLANs", "by: vlan, ", false, []string{"others at uplink", "others at users"}},
		{"nobody of those who are named", "behind: users, named: [192.0.2.1], ", false,
			[]string{"others at uplink", "others at users"}},
		{"one for all", "unnamed: shared, ", false, []string{"others"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, decode(t, strings.Replace(wire2, "{new", "{"+c.users+"new", 1)))
			for i := range 100 {
				at := unit.Time(i) * unit.Millisecond
				down, up := frametest.NewDatagram(t, 9, 1, 0, 1000), frametest.NewDatagram(t, 1, 9, 0, 100)
				if c.tagged {
					down, up = tag(down), tag(up)
				}
				b.send(1, at, down)
				b.send(0, at, up)
			}
			b.stepUntil(t, 200*unit.Millisecond)
			var top [3]p4abc.User
			var got []string
			for _, u := range top[:abcOf(b).ListActiveUsers(b.time, top[:])] {
				got = append(got, strings.Repeat("to ", map[bool]int{true: 1}[u.Receives])+b.who(u.Source))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("users, the most active first: %q, want %q", got, c.want)
			}
		})
	}
}

// TestUsers_FindPeersFromEitherSide checks that programs that need other ends find them, from either side, and these
// are no users.
func TestUsers_FindPeersFromEitherSide(t *testing.T) {
	const file = `
ports: {left: {interface: a}, right: {interface: b}}
switch: [forward, {abc: {aggregates: {"10.0.0.1 to 10.0.0.9": 20kbps, "10.0.0.1": 10kbps}}}]
users: {behind: left}
metrics: none
`
	b := newBench(t, decode(t, file))
	at := unit.Time(0)
	send := func(port int, f []byte) {
		at += unit.Millisecond
		b.send(port, at, f)
	}
	for range 3 {
		send(0, frametest.NewDatagram(t, 1, 9, 0, 1000))
		send(1, frametest.NewDatagram(t, 9, 1, 0, 500))
		send(1, frametest.NewDatagram(t, 8, 1, 0, 200))
	}
	send(1, frametest.NewDatagram(t, 9, 2, 0, 100)) // for nobody who is named
	b.stepUntil(t, 20*unit.Millisecond)
	var top [9]p4abc.User
	var got []string
	for _, u := range top[:abcOf(b).ListActiveUsers(b.time, top[:])] {
		got = append(got, fmt.Sprintf("%d %v", u.Aggregate, u.Receives))
	}
	if want := []string{"0 false", "0 true", "1 true", "-1 false"}; !slices.Equal(got, want) || b.users.Known != 1 {
		t.Errorf("aggregates %q, want %q; %d users", got, want, b.users.Known)
	}
}

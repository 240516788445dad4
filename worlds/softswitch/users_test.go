package softswitch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
	"weir/papers/p4abc"
)

// Users behind a port are its sources, and the destinations of what goes there, with a meter for each direction:
// what acknowledges a download does not have its activity. Else all sources are users. With VLANs it is the same.
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
				down, up := datagram(t, 9, 1, 0, 1000), datagram(t, 1, 9, 0, 100)
				if c.tagged {
					down, up = tag(down), tag(up)
				}
				b.send(1, at, down)
				b.send(0, at, up)
			}
			b.run(t, 200*unit.Millisecond)
			var top [3]p4abc.User
			var got []string
			for _, u := range top[:abcOf(b).MostActive(b.time, top[:])] {
				got = append(got, strings.Repeat("to ", map[bool]int{true: 1}[u.Receives])+b.who(u.Source))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("users, the most active first: %q, want %q", got, c.want)
			}
		})
	}
}

// There are never more users than the file says, whoever comes. Nobody who is active makes room for another, a
// user whom the file names never does, and who has been silent for a minute does.
func TestUsersAreBounded(t *testing.T) {
	for _, most := range []int{1, 3, 100, 4096} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			here := netip.MustParsePrefix("192.0.2.0/24")
			u := newUsers(rules(func(u *Users) { u.Most, u.New, u.Named = most, 0, []netip.Prefix{here} }), 7)
			gone := map[packet.Addr]int{}
			u.forget = func(a packet.Addr) { gone[a]++ }
			address := func(i int) netip.Addr {
				if i%2 == 1 {
					return netip.AddrFrom16([16]byte{0x20, 1, 6: byte(i >> 8), 7: byte(i), 15: byte(i)})
				}
				return netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
			}
			named := u.address(0, 1, here.Addr())
			first := map[int]packet.Addr{}
			for i := range 10_000 {
				now := unit.Time(i) * unit.Millisecond
				n := u.address(now, 1, address(i))
				if i < most-1 {
					first[i] = n
				}
				if u.known > uint64(most) || (n == 2) != (i >= most-1) || int(n) >= u.book.Len() {
					t.Fatalf("address %d of %d has the number %d, and there are %d users", i, most, n, u.known)
				}
				for k := range min(most-1, 3, i+1) {
					if u.address(now, 1, address(k)) != first[k] {
						t.Fatalf("user %d has lost the number", k)
					}
				}
			}
			if len(gone) > 0 || u.forgotten > 0 {
				t.Fatalf("active users are forgotten: %v", gone)
			}
			later := 80 * unit.Second // they were silent since 10 s at the latest
			for i := range 20_000 {
				u.address(later+unit.Time(i)*unit.Microsecond, 1, address(20_000+i))
			}
			if u.known != uint64(most) || u.forgotten != uint64(most-1) || u.address(later, 1, here.Addr()) != named {
				t.Errorf("%d users, %d forgotten", u.known, u.forgotten)
			}
		})
	}
}

package softswitch

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
	"weir/papers/p4abc"
)

// Users behind a port are its sources, and the destinations of what goes there; else all
// sources are users.
func TestUsersBehind(t *testing.T) {
	for _, c := range []struct {
		file string
		want string // most active
	}{{wire2, "10.0.0.9"}, {strings.Replace(wire2, "{new", "{behind: users, new", 1), "10.0.0.1"}} {
		t.Run(c.want, func(t *testing.T) {
			b := newBench(t, decode(t, c.file))
			for i := range 100 {
				at := unit.Time(i) * unit.Millisecond
				b.send(1, at, datagram(t, 9, 1, 0, 1000)) // a download
				b.send(0, at, datagram(t, 1, 9, 0, 100))
			}
			b.run(t, 200*unit.Millisecond)
			var top [3]p4abc.User
			n := abcOf(b).MostActive(b.time, top[:])
			if n == 0 || b.who(top[0].Source) != c.want {
				t.Errorf("%s: %d users, the most active is %v", c.want, n, b.who(top[0].Source))
			}
			if want := map[string]int{"10.0.0.9": 2, "10.0.0.1": 1}[c.want]; n != want {
				t.Errorf("%d users, want %d", n, want)
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

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

// A reload that names others changes nothing for those whom it leaves: numbers and what programs know of them
// stay. Of nested prefixes the longest one decides, and programs find each by an address that the book has.
func TestNamesChange(t *testing.T) {
	prefixes := func(all ...string) (list []netip.Prefix) {
		for _, x := range all {
			list = append(list, netip.MustParsePrefix(x))
		}
		return list
	}
	with := func(named []netip.Prefix) *Users {
		return rules(func(u *Users) { u.Named, u.Unnamed, u.Most = named, PerPort, 8 })
	}
	at := func(u *users, a string) packet.Addr { return u.address(0, 1, netip.MustParseAddr(a)) }
	u := newUsers(with(prefixes("10.0.0.0/8", "10.0.0.0/16", "10.0.0.0/24", "192.0.2.7/32", "fd00::/8")), 1)
	var gone []packet.Addr
	u.forget = func(a packet.Addr) { gone = append(gone, a) }
	wide, middle, narrow, one, six := at(u, "10.9.0.1"), at(u, "10.0.9.1"), at(u, "10.0.0.1"), at(u, "192.0.2.7"),
		at(u, "fd12::1")
	if n := []packet.Addr{wide, middle, narrow, one, six}; slices.Min(n) <= 2 || len(map[packet.Addr]bool{wide: true,
		middle: true, narrow: true, one: true, six: true}) != 5 || at(u, "192.0.2.8") != 2 || u.known != 5 {
		t.Fatalf("numbers %v, %d users", n, u.known)
	}
	for n, want := range map[packet.Addr][2]string{wide: {"10.1.0.0", "10.0.0.0/8"}, middle: {"10.0.1.0", "10.0.0.0/16"},
		narrow: {"10.0.0.0", "10.0.0.0/24"}, one: {"192.0.2.7", "192.0.2.7/32"}} {
		if label, _ := u.book.Label(n); u.book.V4(n).String() != want[0] || label.String() != want[1] {
			t.Errorf("number %d is %v, and %v, want %v", n, u.book.V4(n), label, want)
		}
	}
	u.follow(with(prefixes("10.0.0.0/8", "10.0.0.0/24", "10.1.0.0/16", "192.0.2.7/32", "2001:db8::/32")))
	if at(u, "10.9.0.1") != wide || at(u, "10.0.9.1") != wide || at(u, "10.0.0.1") != narrow ||
		at(u, "192.0.2.7") != one ||
		at(u, "fd12::1") != 2 || at(u, "2001:db8::1") <= 2 || u.known != 5 {
		t.Errorf("numbers have changed, or %d users are known", u.known)
	}
	// those who are gone, those who are new in their places, and the /8, whose address is another prefix's now
	if slices.Contains(gone, narrow) || slices.Contains(gone, one) || !slices.Contains(gone, middle) ||
		!slices.Contains(gone, six) || u.book.V4(wide).String() != "10.0.1.0" {
		t.Errorf("forgotten: %v; the /8 is known by %v", gone, u.book.V4(wide))
	}
	// nothing is left of a prefix that is in two longer ones
	u.follow(with(prefixes("10.0.0.0/8", "10.0.0.0/9", "10.128.0.0/9")))
	if at(u, "10.0.0.1") == at(u, "10.128.0.1") || u.book.V4(wide).IsValid() || u.known != 3 {
		t.Errorf("%d users, the /8 is known by %v", u.known, u.book.V4(wide))
	}
}

// When a file names more users than have room beside those who just came, who was silent longest makes room.
func TestNamesTakePlaces(t *testing.T) {
	each := func(named ...netip.Prefix) *Users {
		return rules(func(u *Users) { u.Named, u.Most, u.New = named, 4, 0 })
	}
	u := newUsers(each(), 1)
	var numbers []packet.Addr
	for i := range 4 {
		numbers = append(numbers, u.address(unit.Time(10-i)*unit.Second, 0, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})))
	}
	u.follow(each(netip.MustParsePrefix("192.0.2.0/24")))
	if n := u.address(11*unit.Second, 0, netip.MustParseAddr("192.0.2.1")); n != numbers[3] || u.known != 4 ||
		u.forgotten != 1 || u.address(11*unit.Second, 0, netip.AddrFrom4([4]byte{10, 0, 0, 0})) != numbers[0] {
		t.Errorf("the new one has number %d of %v; %d known", n, numbers, u.known)
	}
	u.follow(rules(func(u *Users) { u.Unnamed, u.Most = OneForAll, 4 }))
	if u.known != 0 || u.address(12*unit.Second, 1, netip.AddrFrom4([4]byte{10, 0, 0, 0})) != 1 {
		t.Errorf("%d users are left when all are one", u.known)
	}
}

// Programs that ask for other ends find them, from either side, and these are no users.
func TestPeers(t *testing.T) {
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
		send(0, datagram(t, 1, 9, 0, 1000))
		send(1, datagram(t, 9, 1, 0, 500))
		send(1, datagram(t, 8, 1, 0, 200))
	}
	send(1, datagram(t, 9, 2, 0, 100)) // for nobody who is named
	b.run(t, 20*unit.Millisecond)
	var top [9]p4abc.User
	var got []string
	for _, u := range top[:abcOf(b).MostActive(b.time, top[:])] {
		got = append(got, fmt.Sprintf("%d %v", u.Aggregate, u.Receives))
	}
	if want := []string{"0 false", "0 true", "1 true", "-1 false"}; !slices.Equal(got, want) || b.users.known != 1 {
		t.Errorf("aggregates %q, want %q; %d users", got, want, b.users.known)
	}
}

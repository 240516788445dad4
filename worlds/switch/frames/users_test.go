package frames

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestUsersAreBounded checks that there are never more users than the file allows, for any senders. No active user
// makes room for another, a user that the file names never does, and one that has been silent for a minute does.
func TestUsersAreBounded(t *testing.T) {
	for _, most := range []int{1, 3, 100, 4096} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			here := netip.MustParsePrefix("192.0.2.0/24")
			u := NewUsers(rules(func(u *Rules) { u.MaxUsers, u.New, u.Named = most, 0, []netip.Prefix{here} }), 7)
			gone := map[packet.Addr]int{}
			u.OnReassign = func(a packet.Addr) { gone[a]++ }
			address := func(i int) netip.Addr {
				if i%2 == 1 {
					return netip.AddrFrom16([16]byte{0x20, 1, 6: byte(i >> 8), 7: byte(i), 15: byte(i)})
				}
				return netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
			}
			named := u.numberOfAddress(0, 1, here.Addr())
			first := map[int]packet.Addr{}
			for i := range 10_000 {
				now := unit.Time(i) * unit.Millisecond
				n := u.numberOfAddress(now, 1, address(i))
				if i < most-1 {
					first[i] = n
				}
				if u.Known > uint64(most) || (n == 2) != (i >= most-1) || int(n) >= u.Book.Len() {
					t.Fatalf("address %d of %d has the number %d, and there are %d users", i, most, n, u.Known)
				}
				for k := range min(most-1, 3, i+1) {
					if u.numberOfAddress(now, 1, address(k)) != first[k] {
						t.Fatalf("user %d has lost the number", k)
					}
				}
			}
			if len(gone) > 0 || u.Forgotten > 0 {
				t.Fatalf("active users are forgotten: %v", gone)
			}
			later := 80 * unit.Second // they were silent since 10 s at the latest
			for i := range 20_000 {
				u.numberOfAddress(later+unit.Time(i)*unit.Microsecond, 1, address(20_000+i))
			}
			if u.Known != uint64(most) || u.Forgotten != uint64(most-1) || u.numberOfAddress(later, 1, here.Addr()) != named {
				t.Errorf("%d users, %d forgotten", u.Known, u.Forgotten)
			}
		})
	}
}

// TestNamesChange checks that a reload with other names does not change the remaining users: their numbers and the
// programs' state stay. Of nested prefixes the longest decides, and programs find each by an address in the book.
func TestNamesChange(t *testing.T) {
	prefixes := func(all ...string) (list []netip.Prefix) {
		for _, x := range all {
			list = append(list, netip.MustParsePrefix(x))
		}
		return list
	}
	with := func(named []netip.Prefix) *Rules {
		return rules(func(u *Rules) { u.Named, u.Unnamed, u.MaxUsers = named, PerPort, 8 })
	}
	at := func(u *Users, a string) packet.Addr { return u.numberOfAddress(0, 1, netip.MustParseAddr(a)) }
	u := NewUsers(with(prefixes("10.0.0.0/8", "10.0.0.0/16", "10.0.0.0/24", "192.0.2.7/32", "fd00::/8")), 1)
	var gone []packet.Addr
	u.OnReassign = func(a packet.Addr) { gone = append(gone, a) }
	wide, middle, narrow, one, six := at(u, "10.9.0.1"), at(u, "10.0.9.1"), at(u, "10.0.0.1"), at(u, "192.0.2.7"),
		at(u, "fd12::1")
	if n := []packet.Addr{wide, middle, narrow, one, six}; slices.Min(n) <= 2 || len(map[packet.Addr]bool{wide: true,
		middle: true, narrow: true, one: true, six: true}) != 5 || at(u, "192.0.2.8") != 2 || u.Known != 5 {
		t.Fatalf("numbers %v, %d users", n, u.Known)
	}
	for n, want := range map[packet.Addr][2]string{wide: {"10.1.0.0", "10.0.0.0/8"}, middle: {"10.0.1.0", "10.0.0.0/16"},
		narrow: {"10.0.0.0", "10.0.0.0/24"}, one: {"192.0.2.7", "192.0.2.7/32"}} {
		if label, _ := u.Book.LabelOf(n); u.Book.V4(n).String() != want[0] || label.String() != want[1] {
			t.Errorf("number %d is %v, and %v, want %v", n, u.Book.V4(n), label, want)
		}
	}
	u.ApplyRules(with(prefixes("10.0.0.0/8", "10.0.0.0/24", "10.1.0.0/16", "192.0.2.7/32", "2001:db8::/32")))
	if at(u, "10.9.0.1") != wide || at(u, "10.0.9.1") != wide || at(u, "10.0.0.1") != narrow ||
		at(u, "192.0.2.7") != one ||
		at(u, "fd12::1") != 2 || at(u, "2001:db8::1") <= 2 || u.Known != 5 {
		t.Errorf("numbers have changed, or %d users are known", u.Known)
	}
	// removed users, new users in their places, and the /8, whose address now belongs to another prefix
	if slices.Contains(gone, narrow) || slices.Contains(gone, one) || !slices.Contains(gone, middle) ||
		!slices.Contains(gone, six) || u.Book.V4(wide).String() != "10.0.1.0" {
		t.Errorf("forgotten: %v; the /8 is known by %v", gone, u.Book.V4(wide))
	}
	// a prefix that two longer ones cover is gone
	u.ApplyRules(with(prefixes("10.0.0.0/8", "10.0.0.0/9", "10.128.0.0/9")))
	if at(u, "10.0.0.1") == at(u, "10.128.0.1") || u.Book.V4(wide).IsValid() || u.Known != 3 {
		t.Errorf("%d users, the /8 is known by %v", u.Known, u.Book.V4(wide))
	}
}

// TestNamesTakePlaces checks that when a file names more users than have room together with the newest, the longest
// silent user makes room.
func TestNamesTakePlaces(t *testing.T) {
	each := func(named ...netip.Prefix) *Rules {
		return rules(func(u *Rules) { u.Named, u.MaxUsers, u.New = named, 4, 0 })
	}
	u := NewUsers(each(), 1)
	var numbers []packet.Addr
	for i := range 4 {
		a := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		numbers = append(numbers, u.numberOfAddress(unit.Time(10-i)*unit.Second, 0, a))
	}
	u.ApplyRules(each(netip.MustParsePrefix("192.0.2.0/24")))
	if n := u.numberOfAddress(11*unit.Second, 0, netip.MustParseAddr("192.0.2.1")); n != numbers[3] || u.Known != 4 ||
		u.Forgotten != 1 || u.numberOfAddress(11*unit.Second, 0, netip.AddrFrom4([4]byte{10, 0, 0, 0})) != numbers[0] {
		t.Errorf("the new one has number %d of %v; %d known", n, numbers, u.Known)
	}
	u.ApplyRules(rules(func(u *Rules) { u.Unnamed, u.MaxUsers = OneForAll, 4 }))
	if u.Known != 0 || u.numberOfAddress(12*unit.Second, 1, netip.AddrFrom4([4]byte{10, 0, 0, 0})) != 1 {
		t.Errorf("%d users are left when all are one", u.Known)
	}
}

// TestUsers_CustomerHasOneNumber checks that all addresses, prefixes and VLANs of a customer have one number, with the
// customer's name. A listed prefix within its addresses has a separate number, and belongs to the customer. A reload
// that changes the addresses keeps the number.
func TestUsers_CustomerHasOneNumber(t *testing.T) {
	prefix := netip.MustParsePrefix
	home := Customer{Name: "home", Prefixes: []netip.Prefix{prefix("10.0.0.1/32"), prefix("fd00:1::/56")},
		VLANs: []VLANs{100 << 12, 7<<12 | 9}}
	office := Customer{Name: "office", Prefixes: []netip.Prefix{prefix("10.0.1.0/24")}}
	with := func(customers ...Customer) *Rules {
		return rules(func(u *Rules) {
			u.Customers, u.Named, u.Unnamed = customers, []netip.Prefix{prefix("10.0.1.0/32")}, PerPort
		})
	}
	u := NewUsers(with(home, office), 1)
	at := func(a string) packet.Addr { return u.numberOfAddress(0, 1, netip.MustParseAddr(a)) }
	n := at("10.0.0.1")
	for name, other := range map[string]packet.Addr{"IPv6": at("fd00:1::5"), "its VLAN": u.numberOfCustomer(0, 100, 3),
		"two tags": u.numberOfCustomer(0, 7, 9)} {
		if other != n {
			t.Errorf("%s has number %d, IPv4 %d", name, other, n)
		}
	}
	if _, word := u.Book.LabelOf(n); word != "home" {
		t.Errorf("it is called %q", word)
	}
	name, _ := u.Book.OwnerOf(at("10.0.1.0"), 4)
	if at("10.0.1.0") == at("10.0.1.7") || name != "office" || u.numberOfCustomer(0, 7, 0) != 0 || at("10.0.0.2") != 2 {
		t.Errorf("10.0.1.0 belongs to %q; frames of others have numbers %d, %d", name, u.numberOfCustomer(0, 7, 0),
			at("10.0.0.2"))
	}
	home.Prefixes, home.VLANs = []netip.Prefix{prefix("10.0.7.0/24")}, nil
	u.ApplyRules(with(home))
	if at("10.0.7.3") != n || at("10.0.0.1") != 2 || u.numberOfCustomer(0, 100, 3) != 0 || at("10.0.1.7") != 2 {
		t.Errorf("after a reload home has number %d, was %d; its old address has %d", at("10.0.7.3"), n, at("10.0.0.1"))
	}
	if name, _ := u.Book.OwnerOf(at("10.0.1.0"), 4); name != "" {
		t.Errorf("10.0.1.0 belongs to %q, which is no user any more", name)
	}
}

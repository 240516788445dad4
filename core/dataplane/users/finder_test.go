package users

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// declared returns a book of n hosts with users. Each user is a name, followed by its prefixes.
func declared(n int, users ...[]string) *packet.Book {
	var all []packet.User
	for _, u := range users {
		x := packet.User{Name: u[0]}
		for _, p := range u[1:] {
			x.Prefixes = append(x.Prefixes, netip.MustParsePrefix(p))
		}
		all = append(all, x)
	}
	return hosts(n).WithUsers(all)
}

// TestDeclaredUsers checks that a user that the file declares is one user by IPv4 and IPv6, over several hosts and
// prefixes, also where no program names it. A longer prefix wins. A packet from another host to a declared user belongs
// to the receiver.
func TestDeclaredUsers(t *testing.T) {
	book := declared(7, []string{"home", "10.0.0.1/32", "fd00::1/128", "10.0.0.2/32", "fd00::2/128"},
		[]string{"office", "10.0.0.4/30", "fd00::4/126"}, []string{"desk", "10.0.0.5/32"})
	c := Config{Reference: 10 * unit.Kbps, Aggregates: []Aggregate{{Key: "office", Value: 20 * unit.Kbps},
		{Key: "10.0.0.6", Value: 40 * unit.Kbps}}}
	table := NewTable(book, &c)
	user := func(src, dst packet.Addr, version uint8) int32 {
		return table.UserOf(&packet.Packet{Src: src, Dst: dst, Version: version})
	}
	const office, six, home, desk, own = 0, 1, 2, 3, 4
	for _, x := range []struct {
		src, dst packet.Addr
		version  uint8
		want     int32
		weight   float64
	}{
		{1, 3, 4, home, 1}, {1, 3, 6, home, 1}, {2, 3, 4, home, 1}, {2, 3, 6, home, 1},
		{4, 3, 4, office, 2}, {5, 3, 6, office, 2}, {5, 3, 4, desk, 1}, {6, 3, 4, six, 4}, {6, 3, 6, office, 2},
		{3, 1, 4, home, 1}, {3, 2, 6, home, 1}, {3, 3, 4, own, 1}, {1, 4, 4, home, 1}, {3, 5, 4, desk, 1},
	} {
		if u := user(x.src, x.dst, x.version); u != x.want || table.Weight(u) != x.weight {
			t.Errorf("%d to %d by IPv%d: user %d of weight %g, want %d of %g", x.src, x.dst, x.version, u, table.Weight(u),
				x.want, x.weight)
		}
	}
	p := packet.Packet{Src: 3, Dst: 1, Version: 6}
	if n := testing.AllocsPerRun(100, func() { table.UserOf(&p) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
	c.Shared = true // then who has no aggregate shares one, declared or not
	if table = NewTable(book, &c); user(1, 3, 4) != user(3, 3, 4) || user(4, 3, 6) != office {
		t.Error("others: shared has no common user")
	}
}

// TestAssignedUsers checks that a driver that numbers users itself assigns their numbers, also a number without an
// address, such as a VLAN's.
func TestAssignedUsers(t *testing.T) {
	book := packet.NewBook()
	for range 4 {
		book.Add(netip.Addr{}, netip.Addr{})
	}
	book.SetUsers([]packet.User{{Name: "home"}, {Name: "office"}})
	table := NewTable(book, &Config{Reference: unit.Kbps, Aggregates: []Aggregate{{Key: "office", Value: unit.Kbps}}})
	book.AssignUser(1, "home", 129)
	book.AssignUser(2, "office", 129)
	if a, b, c := of(table, 1, 4), of(table, 2, 6), of(table, 3, 4); a != 1 || b != 0 || c != 2 {
		t.Errorf("users %d, %d, %d", a, b, c)
	}
	book.AssignUser(1, "office", 129)
	table.EvictAddress(1)
	if u := of(table, 1, 6); u != 0 {
		t.Errorf("after it was assigned to office: %d", u)
	}
}

// TestListedUsers checks the users that a program lists. They must be users of the file, and must not list a user's
// address by another name. A warning describes a user, or a host's two addresses, that the list divides.
func TestListedUsers(t *testing.T) {
	book := declared(4, []string{"home", "10.0.0.1/32", "fd00::1/128"}, []string{"block", "10.0.1.0/24", "fd00:1::/64"})
	nodes := Nodes{Names: []string{"a", "b", "c", "d"}, Dual: []bool{true, true, true, false}}
	for _, x := range []struct {
		sets, unknown, conflict, divided string
		bare                             bool // the file declares no users
		shared                           bool // addresses in no set are one user, or none
	}{
		{sets: "home,block"}, {sets: "10.0.0.2 | fd00::2,10.0.0.4"}, {sets: "10.0.0.0/8 | fd00::/16"}, {sets: "fd00::4"},
		{sets: "10.0.1.7 dscp 46"}, {sets: "home,block,10.0.0.0/8 | fd00::/16"},
		{sets: "home,block,10.0.0.0/8", divided: `b is in "10.0.0.0/8" by IPv4 and in no user by IPv6; so are 1 other`},
		{sets: "fd00::3", divided: `c is in no user by IPv4 and in "fd00::3" by IPv6`, bare: true},
		{sets: "house", unknown: "allowed: home, block"},
		{sets: "home,10.0.0.1", conflict: "10.0.0.1 already belongs to user home", divided: "a is in"},
		{sets: "block,10.0.1.7", divided: `10.0.1.7 of user block is in "10.0.1.7"`},
		{sets: "10.0.0.0/8", divided: `10.0.0.1/32 of user home is in "10.0.0.0/8", and fd00::1/128 in no user`,
			shared: true},
		{sets: "10.0.0.0/8", divided: `b is in "10.0.0.0/8" by IPv4 and in no user by IPv6; so are 1 other`},
		{sets: "fd00::/16,10.0.0.0/16", divided: `b is in "10.0.0.0/16" by IPv4 and in "fd00::/16" by IPv6`},
		{sets: "10.0.0.0/16 | fd00::/16"}, {sets: "10.0.0.0/16 | fd00::/16", shared: true},
		{sets: "block", shared: true},
		{sets: "10.0.0.2,fd00::2", divided: `b is in "10.0.0.2" by IPv4 and in "fd00::2" by IPv6`},
		{sets: "10.0.0.0/30 | fd00::1 | fd00::2,fd00::3,10.0.0.4,fd00::4", bare: true,
			divided: `c is in "10.0.0.0/30 | fd00::1 | fd00::2" by IPv4 and in "fd00::3" by IPv6; so are 1 other nodes`},
	} {
		t.Run(x.sets, func(t *testing.T) {
			var sets []Set
			for s := range strings.SplitSeq(x.sets, ",") {
				sets = append(sets, Set(s))
			}
			book := book
			if x.bare {
				book = hosts(4)
			}
			for _, y := range [][2]string{{fmt.Sprint(CheckKnown(book, sets)), x.unknown},
				{fmt.Sprint(CheckConflicts(book, sets)), x.conflict}, {DescribeDivided(book, sets, !x.shared, nodes), x.divided}} {
				if y[1] == "" && y[0] != "" && y[0] != "<nil>" || !strings.Contains(y[0], y[1]) {
					t.Errorf("%q, want %q", y[0], y[1])
				}
			}
		})
	}
}

// TestDividedByDeclaredUsers checks that a program's warning omits a host that the declared users divide themselves,
// since their own warning describes it. Other hosts that the program divides are reported.
func TestDividedByDeclaredUsers(t *testing.T) {
	book := declared(3, []string{"half", "10.0.0.1/32"})
	nodes := Nodes{Names: []string{"a", "b", "c"}, Dual: []bool{true, true, true}}
	for _, x := range []struct{ sets, want string }{
		{"", `a is in "half" by IPv4 and in no user by IPv6`},
		{"half", ""}, {"10.0.0.2 | fd00::2", ""}, {"fd00::1", ""},
		{"10.0.0.2,fd00::2", `b is in "10.0.0.2" by IPv4 and in "fd00::2" by IPv6`},
		{"half,10.0.0.2,10.0.0.3", `b is in "10.0.0.2" by IPv4 and in no user by IPv6; so are 1 other nodes`},
	} {
		var sets []Set
		for s := range strings.SplitSeq(x.sets, ",") {
			if s != "" {
				sets = append(sets, Set(s))
			}
		}
		if got := DescribeDivided(book, sets, true, nodes); got != x.want {
			t.Errorf("%s: %q, want %q", x.sets, got, x.want)
		}
	}
}

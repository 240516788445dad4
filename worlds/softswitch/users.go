package softswitch

import (
	"net/netip"

	"weir/core/packet"
	"weir/core/unit"
)

// ways is the associativity of a table of addresses: an address has this many possible places, and a new
// one takes the place that has been idle longest. Look-ups are bounded, and a table is never full.
const ways = 8

// users numbers the addresses of users as they appear. The book has a fixed size: an address for
// which there is no room gets the number of the one that has been idle longest.
type users struct {
	book   *packet.Book
	slots  []slot
	mask   uint64
	seed   uint64
	forget func(packet.Addr) // called when a number goes to another address

	known, forgotten uint64
}

type slot struct {
	address  netip.Addr
	lastSeen unit.Time
}

// newUsers returns a table with room for most addresses, and its book. The seed keeps attackers
// from choosing addresses that collide.
func newUsers(most int, seed uint64) *users {
	n := ways
	for n < 2*most {
		n *= 2
	}
	u := &users{book: packet.NewBook(), slots: make([]slot, n), mask: uint64(n/ways - 1), seed: seed,
		forget: func(packet.Addr) {}}
	for range n {
		u.book.Add(netip.Addr{}, netip.Addr{})
	}
	return u
}

// number returns the number of an address, and notes that it was seen now.
func (u *users) number(now unit.Time, a netip.Addr) packet.Addr {
	b := a.As16()
	first := mix(be.Uint64(b[:8])^u.seed, be.Uint64(b[8:])) & u.mask * ways
	set := u.slots[first : first+ways]
	oldest := 0
	for i := range set {
		if set[i].address == a {
			set[i].lastSeen = now
			return packet.Addr(first) + packet.Addr(i) + 1
		}
		if !set[i].address.IsValid() {
			oldest = i
			break
		}
		if set[i].lastSeen < set[oldest].lastSeen {
			oldest = i
		}
	}
	s, n := &set[oldest], packet.Addr(first)+packet.Addr(oldest)+1
	if s.address.IsValid() {
		u.forgotten++
		u.forget(n)
	} else {
		u.known++
	}
	*s = slot{a, now}
	if a.Is4() {
		u.book.Rename(n, a, netip.Addr{})
	} else {
		u.book.Rename(n, netip.Addr{}, a)
	}
	return n
}

// mix hashes a and b: every bit of the result depends on every bit of them.
func mix(a, b uint64) uint64 {
	h := (a ^ a>>32) * 0x9e3779b97f4a7c15
	h ^= b
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32) * 0x94d049bb133111eb
	return h ^ h>>31
}

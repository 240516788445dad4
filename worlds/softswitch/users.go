package softswitch

import (
	"net/netip"

	"weir/core/packet"
	"weir/core/unit"
)

// ways is how many places an address can have in a table; of these it takes that which
// nobody has had for the longest time. So look-ups are bounded, and nothing is ever full.
const ways = 8

// users gives the addresses of users numbers of a book, as they come. There are so many
// and no more: who comes when there is no room takes the number of who was not seen for
// the longest time.
type users struct {
	book   *packet.Book
	slots  []slot
	mask   uint64
	seed   uint64
	forget func(packet.Addr) // a number goes to somebody else

	known, forgotten uint64
}

type slot struct {
	address  netip.Addr
	lastSeen unit.Time
}

// newUsers makes a table in which most addresses have room, and its book. The seed keeps
// others from choosing addresses that meet.
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

// number returns that of an address, which is now seen.
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

// mix brings every bit of a and b to every bit of what it returns.
func mix(a, b uint64) uint64 {
	h := (a ^ a>>32) * 0x9e3779b97f4a7c15
	h ^= b
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32) * 0x94d049bb133111eb
	return h ^ h>>31
}

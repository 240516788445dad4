package packet

import (
	"net/netip"
	"slices"
)

// A Book gives every network address of a run a small number, so that tables, caches and registers are flat slices. It
// is built once and is read-only afterwards, except in drivers that assign addresses to numbers during a run
// (SetAddresses). An entry has an IPv4 and an IPv6 address; either may be missing.
type Book struct {
	v4, v6 []netip.Addr
	index4 map[uint32]Addr     // IPv4 addresses, which parsers look up for every frame
	index  map[netip.Addr]Addr // all other addresses
	labels []label             // of numbers that are not a single address; nil: all numbers are

	users  []User
	owners [2][]owner // users of numbers by family, IPv4 and IPv6; nil: the book has no users
}

// User is a customer with several addresses. Programs and schedulers treat all its addresses as one user.
type User struct {
	Name     string
	Prefixes []netip.Prefix // empty where a driver assigns numbers by other rules, such as VLANs
}

// owner is the user of a number.
type owner struct {
	name string // "": no user
	bits int    // length of the user's prefix with the address
}

// label describes a number: a prefix of addresses, or a word.
type label struct {
	prefix netip.Prefix
	word   string
}

// NewBook returns a book that contains only Addr 0, the unknown address.
func NewBook() *Book {
	return &Book{v4: make([]netip.Addr, 1), v6: make([]netip.Addr, 1), index4: map[uint32]Addr{},
		index: map[netip.Addr]Addr{}}
}

// Add enters a host's or switch's addresses, either of which may be the zero netip.Addr, and returns their number: 1,
// 2, … in the order of calls. An address that is in the book already keeps its first number for look-ups.
func (b *Book) Add(v4, v6 netip.Addr) Addr {
	a := Addr(len(b.v4))
	b.v4 = append(b.v4, v4)
	b.v6 = append(b.v6, v6)
	if b.labels != nil {
		b.labels = append(b.labels, label{})
	}
	for _, x := range [2]netip.Addr{v4, v6} {
		switch {
		case !x.IsValid() || b.Lookup(x) != 0:
		case x.Is4():
			b.index4[ipv4Number(x)] = a
		default:
			b.index[x] = a
		}
	}
	return a
}

// SetAddresses sets the addresses of number a, which was added without addresses, and removes its label. Lookup does
// not find them: the caller keeps its own index. A driver that learns addresses during a run so needs only a fixed
// count of numbers.
func (b *Book) SetAddresses(a Addr, v4, v6 netip.Addr) {
	b.v4[a], b.v6[a] = v4, v6
	if b.labels != nil {
		b.labels[a] = label{}
	}
}

// SetLabel sets the label of a number that is not a single address: all addresses of a prefix, or something with a
// name. One address of the prefix, if there is any, is still a's own, so that tables of prefixes find it. SetAddresses
// removes the label, so call SetLabel after it.
func (b *Book) SetLabel(a Addr, prefix netip.Prefix, word string) {
	if b.labels == nil {
		b.labels = make([]label, len(b.v4))
	}
	b.labels[a] = label{prefix, word}
}

// LabelOf returns the description of number a for display: a prefix or, if that is not valid, a word.
func (b *Book) LabelOf(a Addr) (netip.Prefix, string) {
	if b.labels != nil && b.labels[a] != (label{}) {
		return b.labels[a].prefix, b.labels[a].word
	}
	x := b.v4[a]
	if !x.IsValid() {
		x = b.v6[a]
	}
	return netip.PrefixFrom(x, x.BitLen()), ""
}

// WithUsers returns a copy of the book with users, which shares the entries; neither of the two may get further ones.
// In each family a number belongs to the user with the longest prefix that contains its address.
func (b *Book) WithUsers(all []User) *Book {
	c := *b
	c.owners = [2][]owner{}
	c.SetUsers(all)
	names, lengths := map[netip.Prefix]string{}, []int(nil)
	for _, u := range all {
		for _, p := range u.Prefixes {
			if names[p.Masked()] = u.Name; !slices.Contains(lengths, p.Bits()) {
				lengths = append(lengths, p.Bits())
			}
		}
	}
	for i := range c.v4 {
		for family, a := range [2]netip.Addr{c.v4[i], c.v6[i]} {
			x := &c.owners[family][i]
			for _, bits := range lengths {
				if p, err := a.Prefix(bits); err == nil && names[p] != "" && (x.name == "" || bits > x.bits) {
					*x = owner{names[p], bits}
				}
			}
		}
	}
	return &c
}

// SetUsers replaces the list of users for a driver that assigns numbers itself. Numbers keep their users.
func (b *Book) SetUsers(all []User) {
	b.users = all
	if b.owners[0] == nil {
		b.owners = [2][]owner{make([]owner, len(b.v4)), make([]owner, len(b.v4))}
	}
}

// Users returns the users of the book.
func (b *Book) Users() []User { return b.users }

// AssignUser gives number a to a user, in both families; "" removes it from its user. bits is the length of the user's
// prefix that the number stands for. It exceeds the length of an address if no prefix of the user is that narrow.
// AssignUser has no effect on a book without users.
func (b *Book) AssignUser(a Addr, name string, bits int) {
	if b.owners[0] == nil {
		return
	}
	for family := range b.owners {
		b.owners[family][a] = owner{name, bits}
	}
}

// OwnerOf returns the name of the user to whom number a belongs in packets of an IP version, and the length of the
// user's prefix. The name is "" if the number has no user.
func (b *Book) OwnerOf(a Addr, version uint8) (name string, bits int) {
	if b.owners[0] == nil {
		return "", 0
	}
	family := 0
	if version == 6 {
		family = 1
	}
	x := &b.owners[family][a]
	return x.name, x.bits
}

// Len returns the number of entries including Addr 0: the length of a slice indexed by Addr.
func (b *Book) Len() int { return len(b.v4) }

// V4 returns a's IPv4 address, or the zero netip.Addr.
func (b *Book) V4(a Addr) netip.Addr { return b.v4[a] }

// V6 returns a's IPv6 address, or the zero netip.Addr.
func (b *Book) V6(a Addr) netip.Addr { return b.v6[a] }

// Lookup returns the number of an address, or 0.
func (b *Book) Lookup(x netip.Addr) Addr {
	if x.Is4() {
		return b.index4[ipv4Number(x)]
	}
	return b.index[x]
}

// ipv4Number returns an IPv4 address as a number, its key in index4.
func ipv4Number(x netip.Addr) uint32 {
	a := x.As4()
	return be.Uint32(a[:])
}

package packet

import (
	"net/netip"
	"slices"
)

// A Book gives every network address of a run a small number, so that tables, caches and
// registers are flat slices. It is built once and is read-only afterwards. An entry has an IPv4
// and an IPv6 address; either may be missing.
type Book struct {
	v4, v6 []netip.Addr
	index4 map[uint32]Addr     // of IPv4, which parsers ask for all the time
	index  map[netip.Addr]Addr // of all else
	labels []label             // of numbers that are no single address; nil: there are none

	users  []User
	owners [2][]owner // users of numbers by family, IPv4 and IPv6; nil: the book has no users
}

// User is a customer with several addresses, which are one user to all programs and schedulers.
type User struct {
	Name     string
	Prefixes []netip.Prefix // empty where a driver assigns numbers by other rules, such as VLANs
}

// owner is the user of a number.
type owner struct {
	name string // "": no user
	bits int    // length of the user's prefix with the address
}

// label is what a number stands for: a prefix of addresses, or something that has a name.
type label struct {
	prefix netip.Prefix
	word   string
}

// NewBook returns a book with nothing in it but Addr 0, the unknown address.
func NewBook() *Book {
	return &Book{v4: make([]netip.Addr, 1), v6: make([]netip.Addr, 1), index4: map[uint32]Addr{},
		index: map[netip.Addr]Addr{}}
}

// Add enters a host's or switch's addresses, either of which may be the zero
// netip.Addr, and returns their number: 1, 2, … in the order of calls. An
// address that is already there keeps its first number for look-ups.
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
			b.index4[number(x)] = a
		default:
			b.index[x] = a
		}
	}
	return a
}

// Rename sets the addresses of number a, which was added without any. Lookup does not find them:
// the caller keeps track of them. So a driver that learns addresses during a run needs only a
// fixed count of numbers.
func (b *Book) Rename(a Addr, v4, v6 netip.Addr) {
	b.v4[a], b.v6[a] = v4, v6
	if b.labels != nil {
		b.labels[a] = label{}
	}
}

// Describe says what number a stands for where that is not its one address: all addresses of a prefix, or
// something that a word names. One address of the prefix, if there is any, is a's own all the same, so that
// tables of prefixes find it. Describe follows Rename, which ends what it says.
func (b *Book) Describe(a Addr, prefix netip.Prefix, word string) {
	if b.labels == nil {
		b.labels = make([]label, len(b.v4))
	}
	b.labels[a] = label{prefix, word}
}

// Label returns what number a stands for, to show it: a prefix or, if that is not valid, a word.
func (b *Book) Label(a Addr) (netip.Prefix, string) {
	if b.labels != nil && b.labels[a] != (label{}) {
		return b.labels[a].prefix, b.labels[a].word
	}
	x := b.v4[a]
	if !x.IsValid() {
		x = b.v6[a]
	}
	return netip.PrefixFrom(x, x.BitLen()), ""
}

// WithUsers returns a copy of the book that has users. A number belongs, by family, to the user with the longest prefix
// that contains its address.
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

// SetUsers replaces the list of users for a driver that assigns numbers itself. Numbers keep the users that they have.
func (b *Book) SetUsers(all []User) {
	b.users = all
	if b.owners[0] == nil {
		b.owners = [2][]owner{make([]owner, len(b.v4)), make([]owner, len(b.v4))}
	}
}

// Users returns the users that the book has.
func (b *Book) Users() []User { return b.users }

// Assign makes a number of a book with users one user's, in both families. bits is the length of the user's prefix that
// the number stands for; more than an address has if no prefix is narrower than what it stands for. The name "" takes
// the number from its user.
func (b *Book) Assign(a Addr, name string, bits int) {
	if b.owners[0] == nil {
		return
	}
	for family := range b.owners {
		b.owners[family][a] = owner{name, bits}
	}
}

// Owner returns the name of the user to whom number a belongs in packets of an IP version, "" if it belongs to no user,
// and the length of the user's prefix.
func (b *Book) Owner(a Addr, version uint8) (name string, bits int) {
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

// Len returns how many numbers there are, Addr 0 included: the length of a slice
// indexed by Addr.
func (b *Book) Len() int { return len(b.v4) }

// V4 returns a's IPv4 address, or the zero netip.Addr.
func (b *Book) V4(a Addr) netip.Addr { return b.v4[a] }

// V6 returns a's IPv6 address, or the zero netip.Addr.
func (b *Book) V6(a Addr) netip.Addr { return b.v6[a] }

// Lookup returns the number of an address, or 0.
func (b *Book) Lookup(x netip.Addr) Addr {
	if x.Is4() {
		return b.index4[number(x)]
	}
	return b.index[x]
}

func number(x netip.Addr) uint32 {
	a := x.As4()
	return be.Uint32(a[:])
}

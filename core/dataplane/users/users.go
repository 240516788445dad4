// Package users finds the user of a packet, for programs and schedulers that share a link among users, or limit them.
// Users are defined as in P4-ABC (P4-ABC §3.1, §5.2), so that comparisons with it are fair. A user is a set of
// addresses (Set): one that the file declares under a name (packet.User), one in a program's parameters, or else one
// source. The reference rates of users are their weights (P4-ABC §3.4).
package users

import (
	"slices"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Aggregate is a set that is one user, its Key, and its reference rate, its Value.
type Aggregate = scheme.Pair[Set, unit.Rate]

// Config selects the users, in the terms of P4-ABC's program.
type Config struct {
	Reference unit.Rate // of sources without an aggregate
	// Shared: sources without an aggregate are one user. Otherwise each entry of users, and each other address, is a user
	// of its own.
	Shared     bool
	Aggregates []Aggregate
}

// Params binds the options of users and aggregates to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Rate(&c.Reference, "reference", "10kbps", "reference rate, which acts as a weight, of sources without an "+
		"aggregate; only ratios of reference rates matter", "P4-ABC §6.1.3").Min("1bps")
	scheme.MapOf(p, &c.Aggregates, ParseAddresses, scheme.Rates, "aggregates",
		"reference rate, which acts as a weight, by user: {home: 20kbps, 10.0.1.0/24: 10kbps}; a user is a name of "+
			"`users`, an address or prefix, or several separated by |; the longest prefix wins", "P4-ABC §3.1, §3.4").
		Min("1bps")
	p.BoolWords(&c.Shared, [2]string{"each", "shared"}, "others", "each",
		"sources without an aggregate; each: each entry of users, and each other address, is a user of its own; "+
			"shared: all are one user", "each: P4-ABC §5.2")

	p.AddRule("aggregates", func() error { return CheckDistinct(SetsOf(c.Aggregates)) })
}

// Sets returns the users in the configuration, and their parameter. NewTable completes the list.
func (c *Config) Sets() (param string, all []Set, completes bool) {
	return "aggregates", SetsOf(c.Aggregates), !c.Shared
}

// Table finds the user of a packet. Users are numbered from 0, those with an aggregate first.
type Table struct {
	book      *packet.Book
	byAddress [2][]int32 // by family (IPv4, IPv6) and address; −1: not looked up yet
	ownUser   []int32    // by address: the user of an address in no set; −1: no user yet
	finder    *Finder
	sets      int
	common    int32 // user of all sources without an aggregate; −1: one user each

	reference []unit.Rate // by user
	others    unit.Rate   // of sources without an aggregate
	minRate   unit.Rate
	unused    []int32 // users with a forgotten source
}

// NewTable returns the table of a switch. Without a book, all packets have one user. Users of the book without an
// aggregate have the reference rate of sources, unless the sources share one user.
func NewTable(book *packet.Book, c *Config) *Table {
	if book == nil {
		book = packet.NewBook()
	}
	t := &Table{book: book, ownUser: make([]int32, book.Len()), common: -1, others: c.Reference}
	for i := range t.ownUser {
		t.ownUser[i] = -1
	}
	t.byAddress = [2][]int32{slices.Clone(t.ownUser), slices.Clone(t.ownUser)}
	all := c.Aggregates
	if !c.Shared {
		all = AddMissingUsers(book, all, c.Reference)
	}
	t.finder, t.sets = NewFinder(book, SetsOf(all)), len(all)
	for _, g := range all {
		t.addUser(g.Value)
	}
	if c.Shared {
		t.common = t.addUser(c.Reference)
	}
	t.minRate = t.minReference(c, all)
	return t
}

// minReference returns the smallest reference rate of all possible users. The rate of sources without an aggregate
// counts only if such a source is possible.
func (t *Table) minReference(c *Config, all []Aggregate) (least unit.Rate) {
	for _, g := range all {
		if least == 0 || g.Value < least {
			least = g.Value
		}
	}
	outside := least == 0
	for a := packet.Addr(1); int(a) < t.book.Len() && !outside; a++ {
		for _, version := range [2]uint8{4, 6} {
			if _, in := t.finder.FindSet(a, version); addressOf(t.book, a, version).IsValid() && !in {
				outside = true
			}
		}
	}
	if outside && (least == 0 || c.Reference < least) {
		least = c.Reference
	}
	return least
}

// addUser returns the number of a new user with a reference rate; it reuses the numbers of evicted users.
func (t *Table) addUser(reference unit.Rate) int32 {
	if n := len(t.unused); n > 0 {
		u := t.unused[n-1]
		t.unused = t.unused[:n-1]
		t.reference[u] = reference
		return u
	}
	t.reference = append(t.reference, reference)
	return int32(len(t.reference) - 1)
}

// UserOf returns the user of a packet: the sender's or, if only the receiver is a user that the file declares, the
// receiver's. With the flag packet.ToUser it is always Src's. A source without a set becomes a user.
func (t *Table) UserOf(p *packet.Packet) int32 {
	if len(t.book.Users()) > 0 && p.Meta.Flags&packet.ToUser == 0 && p.Dst != 0 {
		if from, _ := t.book.OwnerOf(p.Src, p.Version); from == "" {
			if to, _ := t.book.OwnerOf(p.Dst, p.Version); to != "" {
				return t.UserAt(p.Dst, p.Version)
			}
		}
	}
	return t.UserAt(p.Src, p.Version)
}

// UserAt returns the user with an address, in packets of an IP version: the set with the address; otherwise the common
// user or, over both families, the address's own. The first call for a source without a set makes it a user. The book
// must have the address.
func (t *Table) UserAt(a packet.Addr, version uint8) int32 {
	if u := t.byAddress[familyIndex(version)][a]; u >= 0 {
		return u
	}
	return t.findUser(a, version)
}

// FindSet returns the set with an address, by its place among the aggregates; ok is false if the address is in no set,
// or not in the book. As under UserAt, it may become a user.
func (t *Table) FindSet(a packet.Addr, version uint8) (set int32, ok bool) {
	if int(a) >= len(t.ownUser) { // an address that the book does not have
		return 0, false
	}
	u := t.UserAt(a, version)
	return u, int(u) < t.sets
}

// familyIndex returns 0 for IPv4 and 1 for IPv6.
func familyIndex(version uint8) int {
	if version == 6 {
		return 1
	}
	return 0
}

// findUser finds the user with an address, creates it if it is the address's own (UserAt), and stores it.
func (t *Table) findUser(a packet.Addr, version uint8) int32 {
	u, ok := t.finder.FindSet(a, version)
	switch {
	case ok:
	case t.common >= 0:
		u = t.common
	default:
		if t.ownUser[a] < 0 {
			t.ownUser[a] = t.addUser(t.others)
		}
		u = t.ownUser[a]
	}
	t.byAddress[familyIndex(version)][a] = u
	return u
}

// EvictAddress resets the user of an address that is reassigned. It returns the user that was this source alone, or −1.
// The caller must clear the state of that user, since a new one gets its number. The book must have the address.
func (t *Table) EvictAddress(a packet.Addr) int32 {
	t.byAddress[0][a], t.byAddress[1][a] = -1, -1
	u := t.ownUser[a]
	if t.ownUser[a] = -1; u >= 0 {
		t.unused = append(t.unused, u)
	}
	return u
}

// UserCount returns the number of users so far.
func (t *Table) UserCount() int { return len(t.reference) - len(t.unused) }

// MaxUsers returns the maximum number of users: all numbers are below it.
func (t *Table) MaxUsers() int {
	if t.common >= 0 {
		return t.sets + 1
	}
	return t.sets + t.book.Len()
}

// Weight returns a user's reference rate, in units of the smallest one: at least 1 unless a source appears that the
// book did not have.
func (t *Table) Weight(u int32) float64 { return float64(t.reference[u]) / float64(t.minRate) }

// WeightOf returns the weight of a user's number; for an unused number, the weight of sources without an aggregate.
func (t *Table) WeightOf(u int) float64 {
	if u < len(t.reference) {
		return t.Weight(int32(u))
	}
	return float64(t.others) / float64(t.minRate)
}

// KeyCounts returns the number of prefixes in the table, and the number of sources that can be users of their own.
// Without users of their own, sources is 0; otherwise it is at least 1.
func (t *Table) KeyCounts() (prefixes, sources int) {
	if t.common >= 0 {
		return t.finder.PrefixCount(), 0
	}
	for a := range packet.Addr(t.book.Len()) {
		if t.book.V4(a).IsValid() || t.book.V6(a).IsValid() {
			sources++
		}
	}
	return t.finder.PrefixCount(), max(sources, 1)
}

// StateCount returns the number of users for which a switch needs state.
func (t *Table) StateCount() int {
	_, sources := t.KeyCounts()
	if t.common >= 0 {
		sources = 1
	}
	return t.sets + sources
}

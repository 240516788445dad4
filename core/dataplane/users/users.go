// Package users finds the user of a packet, for programs and schedulers that share a link among users, or limit them:
// the users of P4-ABC (§3.1, §5.2), so that comparisons with it are of equals. A user is a set of addresses (Set): one
// that the file declares under a name (packet.User), one that a program's parameters list, or else one source. The
// reference rates of users are their weights (P4-ABC §3.4).
package users

import (
	"slices"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Aggregate is a set that is one user, its Key, and its reference rate, its Value.
type Aggregate = scheme.Pair[Set, unit.Rate]

// Config says who is a user, in the words of P4-ABC's program.
type Config struct {
	Reference  unit.Rate // of sources without an aggregate
	Shared     bool      // which are one user together, instead of one each
	Aggregates []Aggregate
}

// Params binds the configuration.
func (c *Config) Params(p *scheme.Params) {
	p.Rate(&c.Reference, "reference", "10kbps", "reference rate, a weight, of sources that no aggregate has",
		"P4-ABC §6.1.3").Min("1bps")
	scheme.MapOf(p, &c.Aggregates, ParseAddresses, scheme.Rates, "aggregates",
		"reference rate, a weight, by user: a name of `users`, an address or prefix, or several with | between them; the "+
			"longest prefix wins", "P4-ABC §3.1, §3.4").
		Min("1bps")
	p.Either(&c.Shared, [2]string{"each", "shared"}, "others", "each",
		"sources without an aggregate: a user each, or one for all", "each: P4-ABC §5.2")

	p.Rule("aggregates", func() error { return Distinct(Keys(c.Aggregates)) })
}

// Sets returns the users that the configuration lists, and the parameter that does. NewTable completes the list.
func (c *Config) Sets() (param string, all []Set, completes bool) {
	return "aggregates", Keys(c.Aggregates), !c.Shared
}

// Table finds the user of a packet: users are numbered from 0, those with an aggregate first.
type Table struct {
	book   *packet.Book
	of     [2][]int32 // by family (IPv4, IPv6) and address; −1: not looked up yet
	own    []int32    // by address: the user of an address that is in no set; −1: not yet given
	find   *Finder
	sets   int
	common int32 // user of all sources without an aggregate; −1: each is one

	reference []unit.Rate // by user
	others    unit.Rate   // of sources without an aggregate
	least     unit.Rate
	unused    []int32 // users whose source was forgotten
}

// NewTable makes the table of a switch. Without a book, all packets are of one user. Users of the book that no
// aggregate names have the reference rate of sources, unless these share one user.
func NewTable(book *packet.Book, c *Config) *Table {
	if book == nil {
		book = packet.NewBook()
	}
	t := &Table{book: book, own: make([]int32, book.Len()), common: -1, others: c.Reference}
	for i := range t.own {
		t.own[i] = -1
	}
	t.of = [2][]int32{slices.Clone(t.own), slices.Clone(t.own)}
	all := c.Aggregates
	if !c.Shared {
		all = Complete(book, all, c.Reference)
	}
	t.find, t.sets = NewFinder(book, Keys(all)), len(all)
	for _, g := range all {
		t.add(g.Value)
	}
	if c.Shared {
		t.common = t.add(c.Reference)
	}
	t.least = t.smallest(c, all)
	return t
}

// smallest is the smallest reference rate of users that there may be. That of sources without an aggregate
// counts only if there can be such a source.
func (t *Table) smallest(c *Config, all []Aggregate) (least unit.Rate) {
	for _, g := range all {
		if least == 0 || g.Value < least {
			least = g.Value
		}
	}
	outside := least == 0
	for a := packet.Addr(1); int(a) < t.book.Len() && !outside; a++ {
		for _, version := range [2]uint8{4, 6} {
			if _, in := t.find.Find(a, version); address(t.book, a, version).IsValid() && !in {
				outside = true
			}
		}
	}
	if outside && (least == 0 || c.Reference < least) {
		least = c.Reference
	}
	return least
}

func (t *Table) add(reference unit.Rate) int32 {
	if n := len(t.unused); n > 0 {
		u := t.unused[n-1]
		t.unused = t.unused[:n-1]
		t.reference[u] = reference
		return u
	}
	t.reference = append(t.reference, reference)
	return int32(len(t.reference) - 1)
}

// Of is the user of a packet: its sender's or, if of the two only the receiver is a user that the file declares, the
// receiver's.
func (t *Table) Of(p *packet.Packet) int32 {
	if len(t.book.Users()) > 0 && p.Meta.Flags&packet.ToUser == 0 && p.Dst != 0 {
		if from, _ := t.book.Owner(p.Src, p.Version); from == "" {
			if to, _ := t.book.Owner(p.Dst, p.Version); to != "" {
				return t.At(p.Dst, p.Version)
			}
		}
	}
	return t.At(p.Src, p.Version)
}

// At is the user with an address, in packets of an IP version: the set that has it; otherwise the common one or, over
// both families, the address's own.
func (t *Table) At(a packet.Addr, version uint8) int32 {
	if u := t.of[family(version)][a]; u >= 0 {
		return u
	}
	return t.findUser(a, version)
}

// Set returns the set that has an address, by its place among the aggregates; false if it is in no set.
func (t *Table) Set(a packet.Addr, version uint8) (set int32, ok bool) {
	if int(a) >= len(t.own) { // an address that the book does not have
		return 0, false
	}
	u := t.At(a, version)
	return u, int(u) < t.sets
}

func family(version uint8) int {
	if version == 6 {
		return 1
	}
	return 0
}

// findUser finds the user with an address for the first time.
func (t *Table) findUser(a packet.Addr, version uint8) int32 {
	u, ok := t.find.Find(a, version)
	switch {
	case ok:
	case t.common >= 0:
		u = t.common
	default:
		if t.own[a] < 0 {
			t.own[a] = t.add(t.others)
		}
		u = t.own[a]
	}
	t.of[family(version)][a] = u
	return u
}

// EvictAddress has the address looked up afresh, since it is another's now. It returns the user that was this
// source alone, whose state is to be cleared, or −1.
func (t *Table) EvictAddress(a packet.Addr) int32 {
	t.of[0][a], t.of[1][a] = -1, -1
	u := t.own[a]
	if t.own[a] = -1; u >= 0 {
		t.unused = append(t.unused, u)
	}
	return u
}

// Count is how many users there are so far.
func (t *Table) Count() int { return len(t.reference) - len(t.unused) }

// Most is how many users there can be: all numbers are below it.
func (t *Table) Most() int {
	if t.common >= 0 {
		return t.sets + 1
	}
	return t.sets + t.book.Len()
}

// Weight is a user's reference rate, in units of the smallest of all: at least 1 unless sources turn up
// that the book did not have.
func (t *Table) Weight(u int32) float64 { return float64(t.reference[u]) / float64(t.least) }

// Weighed is the weight of a user's number that is not in use yet: that of sources without an aggregate.
func (t *Table) Weighed(u int) float64 {
	if u < len(t.reference) {
		return t.Weight(int32(u))
	}
	return float64(t.others) / float64(t.least)
}

// Keys are how many prefixes the table has, and how many sources can be users of their own.
func (t *Table) Keys() (prefixes, sources int) {
	if t.common >= 0 {
		return t.find.Prefixes(), 0
	}
	for a := range packet.Addr(t.book.Len()) {
		if t.book.V4(a).IsValid() || t.book.V6(a).IsValid() {
			sources++
		}
	}
	return t.find.Prefixes(), max(sources, 1)
}

// Users is how many of them a switch has to keep state for.
func (t *Table) Users() int {
	_, sources := t.Keys()
	if t.common >= 0 {
		sources = 1
	}
	return t.sets + sources
}

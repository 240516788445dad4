// Package users says who the users of a switch are, for schemes that share a link among them: the users of
// P4-ABC (§3.1, §5.2), so that comparisons with it are of equals. A user is a prefix of source addresses or,
// outside of all prefixes, one source; the reference rates of users are their weights (§3.4).
package users

import (
	"fmt"
	"net/netip"
	"slices"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Aggregate is a prefix of source addresses that is one user, its Key, and its reference rate, its Value.
type Aggregate = scheme.Pair[netip.Prefix, unit.Rate]

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
	scheme.MapOf(p, &c.Aggregates, Prefix, scheme.Rates, "aggregates",
		"reference rate, a weight, by source prefix, which is one user; longest prefix wins", "P4-ABC §3.1, §3.4").
		Min("1bps")
	p.Either(&c.Shared, [2]string{"each", "shared"}, "others", "each",
		"sources without an aggregate: a user each, or one for all", "each: P4-ABC §5.2")

	p.Rule("aggregates", c.Distinct)
}

// Distinct returns which aggregates are no prefixes, or the same.
func (c *Config) Distinct() error {
	for i, g := range c.Aggregates {
		if !g.Key.IsValid() {
			return fmt.Errorf("%v is no prefix", g.Key)
		}
		for _, h := range c.Aggregates[:i] {
			if h.Key.Masked() == g.Key.Masked() {
				return fmt.Errorf("%v and %v are the same prefix", h.Key, g.Key)
			}
		}
	}
	return nil
}

// Prefix parses an address or a prefix.
func Prefix(s string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("aggregate %q is neither an address nor a prefix", s)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// Table finds the user of a packet: users are numbered from 0.
type Table struct {
	book     *packet.Book
	of       [2][]int32 // by family (IPv4, IPv6) and source address; −1: not looked up yet
	own      []int32    // by source address: the user of a source that is in no prefix; −1: none yet
	prefixes map[netip.Prefix]int32
	lengths  []int // of prefixes in use, longest first
	common   int32 // user of all sources without an aggregate; −1: each is one

	reference []unit.Rate // by user
	others    unit.Rate   // of sources without an aggregate
	least     unit.Rate
	unused    []int32 // users whose source was forgotten
}

// NewTable makes the table of a switch. Without a book, all packets are of one user.
func NewTable(book *packet.Book, c *Config) *Table {
	if book == nil {
		book = packet.NewBook()
	}
	t := &Table{book: book, own: make([]int32, book.Len()), prefixes: map[netip.Prefix]int32{}, common: -1,
		others: c.Reference}
	for i := range t.own {
		t.own[i] = -1
	}
	t.of = [2][]int32{slices.Clone(t.own), slices.Clone(t.own)}
	for _, g := range c.Aggregates {
		t.prefixes[g.Key.Masked()] = t.add(g.Value)
		if n := g.Key.Bits(); !slices.Contains(t.lengths, n) {
			t.lengths = append(t.lengths, n)
		}
	}
	slices.SortFunc(t.lengths, func(a, b int) int { return b - a })
	if c.Shared {
		t.common = t.add(c.Reference)
	}
	t.least = t.smallest(c)
	return t
}

// smallest is the smallest reference rate of users that there may be. That of sources without an aggregate
// counts only if there can be such a source.
func (t *Table) smallest(c *Config) (least unit.Rate) {
	for _, g := range c.Aggregates {
		if least == 0 || g.Value < least {
			least = g.Value
		}
	}
	outside := least == 0
	for a := packet.Addr(1); int(a) < t.book.Len() && !outside; a++ {
		for _, x := range [2]netip.Addr{t.book.V4(a), t.book.V6(a)} {
			if _, in := t.prefix(x); x.IsValid() && !in {
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

// prefix is the user of the longest prefix with an address.
func (t *Table) prefix(a netip.Addr) (int32, bool) {
	for _, n := range t.lengths {
		if p, err := a.Prefix(n); err == nil {
			if u, ok := t.prefixes[p]; ok {
				return u, true
			}
		}
	}
	return 0, false
}

// Of is the user of a packet: that of the longest prefix with its source; otherwise the common one or, over
// both families, the source's own.
func (t *Table) Of(p *packet.Packet) int32 {
	if u := t.of[family(p)][p.Src]; u >= 0 {
		return u
	}
	return t.look(p)
}

func family(p *packet.Packet) int {
	if p.Version == 6 {
		return 1
	}
	return 0
}

// look finds the user of a source for the first time.
func (t *Table) look(p *packet.Packet) int32 {
	address := t.book.V4(p.Src)
	if p.Version == 6 {
		address = t.book.V6(p.Src)
	}
	u, ok := t.prefix(address)
	switch {
	case ok:
	case t.common >= 0:
		u = t.common
	default:
		if t.own[p.Src] < 0 {
			t.own[p.Src] = t.add(t.others)
		}
		u = t.own[p.Src]
	}
	t.of[family(p)][p.Src] = u
	return u
}

// Forget has the address looked up afresh, since it is another's now. It returns the user that was this
// source alone, whose state is to be cleared, or −1.
func (t *Table) Forget(a packet.Addr) int32 {
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
		return len(t.prefixes) + 1
	}
	return len(t.prefixes) + t.book.Len()
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
		return len(t.prefixes), 0
	}
	for a := range packet.Addr(t.book.Len()) {
		if t.book.V4(a).IsValid() || t.book.V6(a).IsValid() {
			sources++
		}
	}
	return len(t.prefixes), max(sources, 1)
}

// Users is how many of them a switch has to keep state for.
func (t *Table) Users() int {
	prefixes, sources := t.Keys()
	if t.common >= 0 {
		sources = 1
	}
	return prefixes + sources
}

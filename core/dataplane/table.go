package dataplane

import (
	"fmt"
	"net/netip"
	"sort"
)

// LPM is a match table with longest-prefix match over IPv4 and IPv6 addresses.
type LPM[A any] struct {
	rules   map[netip.Prefix]A
	lengths [2][]int // prefix lengths in use, longest first; IPv4, IPv6
	count   [2][129]int
	size    int
	version uint32
}

// NewLPM returns a table that holds at most size prefixes.
func NewLPM[A any](size int) *LPM[A] {
	return &LPM[A]{rules: map[netip.Prefix]A{}, size: size}
}

// familyIndex returns 0 for an IPv4 address and 1 for IPv6.
func familyIndex(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

// Insert adds a rule or replaces the one with this prefix, regardless of its host bits. It fails if the prefix is
// invalid or the table is full.
func (t *LPM[A]) Insert(prefix netip.Prefix, action A) error {
	if !prefix.IsValid() {
		return fmt.Errorf("prefix table: %v is not a prefix", prefix)
	}
	prefix = prefix.Masked()
	if _, replaces := t.rules[prefix]; !replaces {
		if len(t.rules) >= t.size {
			return fmt.Errorf("prefix table: all %d rules are in use", t.size)
		}
		f := familyIndex(prefix.Addr())
		if t.count[f][prefix.Bits()]++; t.count[f][prefix.Bits()] == 1 {
			t.lengths[f] = append(t.lengths[f], prefix.Bits())
			sort.Sort(sort.Reverse(sort.IntSlice(t.lengths[f])))
		}
	}
	t.rules[prefix] = action
	t.version++
	return nil
}

// Delete removes the rule with this prefix, regardless of its host bits, and reports whether it existed.
func (t *LPM[A]) Delete(prefix netip.Prefix) bool {
	prefix = prefix.Masked()
	if _, ok := t.rules[prefix]; !ok {
		return false
	}
	delete(t.rules, prefix)
	f := familyIndex(prefix.Addr())
	if t.count[f][prefix.Bits()]--; t.count[f][prefix.Bits()] == 0 {
		for i, n := range t.lengths[f] {
			if n == prefix.Bits() {
				t.lengths[f] = append(t.lengths[f][:i], t.lengths[f][i+1:]...)
				break
			}
		}
	}
	t.version++
	return true
}

// Lookup returns the action of the longest prefix that contains the address. Without one, or for an invalid address, it
// returns the zero value and false. An IPv4-mapped IPv6 address counts as IPv6.
func (t *LPM[A]) Lookup(a netip.Addr) (A, bool) {
	if a.IsValid() {
		for _, n := range t.lengths[familyIndex(a)] {
			if p, err := a.Prefix(n); err == nil {
				if action, ok := t.rules[p]; ok {
					return action, true
				}
			}
		}
	}
	var none A
	return none, false
}

// Len returns the number of rules.
func (t *LPM[A]) Len() int { return len(t.rules) }

// Version changes with every change of the table. A cached lookup is valid while it stays the same.
func (t *LPM[A]) Version() uint32 { return t.version }

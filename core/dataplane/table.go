package dataplane

import (
	"fmt"
	"net/netip"
	"sort"
)

// Exact is a match table with exact match (P4-ABC §4.2): one rule a key.
type Exact[K comparable, A any] struct {
	rules   map[K]A
	size    int
	version uint32
}

// NewExact returns a table that holds at most size rules.
func NewExact[K comparable, A any](size int) *Exact[K, A] {
	return &Exact[K, A]{rules: map[K]A{}, size: size}
}

// Insert adds a rule or replaces the one with this key. It fails when the table
// is full.
func (t *Exact[K, A]) Insert(key K, action A) error {
	if _, replaces := t.rules[key]; !replaces && len(t.rules) >= t.size {
		return fmt.Errorf("exact table: all %d rules are in use", t.size)
	}
	t.rules[key] = action
	t.version++
	return nil
}

// Delete removes a rule and reports whether it was there.
func (t *Exact[K, A]) Delete(key K) bool {
	_, ok := t.rules[key]
	delete(t.rules, key)
	t.version++
	return ok
}

// Lookup returns the action for a key.
func (t *Exact[K, A]) Lookup(key K) (A, bool) {
	a, ok := t.rules[key]
	return a, ok
}

// Len returns how many rules there are.
func (t *Exact[K, A]) Len() int { return len(t.rules) }

// Version changes with every change of the table: what was looked up before may
// be cached as long as it stays the same.
func (t *Exact[K, A]) Version() uint32 { return t.version }

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

func family(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

// Insert adds a rule or replaces the one with this prefix, whose host bits do not
// matter. It fails when the prefix is invalid or the table full.
func (t *LPM[A]) Insert(prefix netip.Prefix, action A) error {
	if !prefix.IsValid() {
		return fmt.Errorf("prefix table: %v is not a prefix", prefix)
	}
	prefix = prefix.Masked()
	if _, replaces := t.rules[prefix]; !replaces {
		if len(t.rules) >= t.size {
			return fmt.Errorf("prefix table: all %d rules are in use", t.size)
		}
		f := family(prefix.Addr())
		if t.count[f][prefix.Bits()]++; t.count[f][prefix.Bits()] == 1 {
			t.lengths[f] = append(t.lengths[f], prefix.Bits())
			sort.Sort(sort.Reverse(sort.IntSlice(t.lengths[f])))
		}
	}
	t.rules[prefix] = action
	t.version++
	return nil
}

// Delete removes a rule and reports whether it was there.
func (t *LPM[A]) Delete(prefix netip.Prefix) bool {
	prefix = prefix.Masked()
	if _, ok := t.rules[prefix]; !ok {
		return false
	}
	delete(t.rules, prefix)
	f := family(prefix.Addr())
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

// Lookup returns the action of the longest prefix that contains the address.
func (t *LPM[A]) Lookup(a netip.Addr) (A, bool) {
	if a.IsValid() {
		for _, n := range t.lengths[family(a)] {
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

// Len returns how many rules there are.
func (t *LPM[A]) Len() int { return len(t.rules) }

// Version changes with every change of the table.
func (t *LPM[A]) Version() uint32 { return t.version }

// Ternary is a match table with values, masks and priorities: the rule with the
// highest priority wins, of equal ones the one that was inserted first.
type Ternary[A any] struct {
	width   int
	size    int
	rules   []ternaryRule[A]
	version uint32
}

type ternaryRule[A any] struct {
	value, mask []byte
	priority    int
	action      A
}

// NewTernary returns a table for keys of width bytes that holds at most size
// rules.
func NewTernary[A any](width, size int) *Ternary[A] {
	return &Ternary[A]{width: width, size: size}
}

// Insert adds a rule: it matches keys that equal value where mask has ones.
func (t *Ternary[A]) Insert(value, mask []byte, priority int, action A) error {
	if len(value) != t.width || len(mask) != t.width {
		return fmt.Errorf("ternary table: value and mask have %d and %d bytes, the key has %d", len(value),
			len(mask), t.width)
	}
	if len(t.rules) >= t.size {
		return fmt.Errorf("ternary table: all %d rules are in use", t.size)
	}
	r := ternaryRule[A]{append([]byte(nil), value...), append([]byte(nil), mask...), priority, action}
	for i := range r.value {
		r.value[i] &= r.mask[i]
	}
	i := sort.Search(len(t.rules), func(i int) bool { return t.rules[i].priority < priority })
	t.rules = append(t.rules, r)
	copy(t.rules[i+1:], t.rules[i:])
	t.rules[i] = r
	t.version++
	return nil
}

// Delete removes the first rule with this value, mask and priority.
func (t *Ternary[A]) Delete(value, mask []byte, priority int) bool {
	for i, r := range t.rules {
		if r.priority != priority || string(r.mask) != string(mask) || len(value) != t.width {
			continue
		}
		same := true
		for k := range value {
			same = same && r.value[k] == value[k]&mask[k]
		}
		if same {
			t.rules = append(t.rules[:i], t.rules[i+1:]...)
			t.version++
			return true
		}
	}
	return false
}

// Lookup returns the action of the first rule that matches the key.
func (t *Ternary[A]) Lookup(key []byte) (A, bool) {
	if len(key) == t.width {
	rules:
		for i := range t.rules {
			r := &t.rules[i]
			for k, b := range key {
				if b&r.mask[k] != r.value[k] {
					continue rules
				}
			}
			return r.action, true
		}
	}
	var none A
	return none, false
}

// Len returns how many rules there are.
func (t *Ternary[A]) Len() int { return len(t.rules) }

// Version changes with every change of the table.
func (t *Ternary[A]) Version() uint32 { return t.version }

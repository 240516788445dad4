package users

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weir/core/packet"
	"weir/core/scheme"
)

// SetsOf returns the sets of pairs, their keys, in the same order.
func SetsOf[V any](all []scheme.Pair[Set, V]) []Set {
	sets := make([]Set, len(all))
	for i := range all {
		sets[i] = all[i].Key
	}
	return sets
}

// IndexSets returns the place of each set among pairs, so that a reload with many users has fast lookups.
func IndexSets[V any](all []scheme.Pair[Set, V]) map[Set]int32 {
	places := make(map[Set]int32, len(all))
	for i := range all {
		places[all[i].Key] = int32(i)
	}
	return places
}

// AddMissingUsers appends a pair with a value for each user of the book that no pair names. It does not change all. A
// nil book has no users.
func AddMissingUsers[V any](book *packet.Book, all []scheme.Pair[Set, V], value V) []scheme.Pair[Set, V] {
	if book == nil {
		return all
	}
	places := IndexSets(all)
	all = slices.Clip(all)
	for _, u := range book.Users() {
		if _, listed := places[Set(u.Name)]; !listed {
			all = append(all, scheme.Pair[Set, V]{Key: Set(u.Name), Value: value})
		}
	}
	return all
}

// Finder finds the set with an address. Alternatives with conditions other than the user's address are left to the
// caller.
type Finder struct {
	book     *packet.Book
	names    map[string]int32
	prefixes map[netip.Prefix]int32
	lengths  []int // of prefixes, longest first
}

// NewFinder returns the finder of sets, numbered by their places, which must have no prefix in common. Names are looked
// up among the users of the book, which must not be nil. Invalid sets contain no address.
func NewFinder(book *packet.Book, sets []Set) *Finder {
	f := &Finder{book: book, names: map[string]int32{}, prefixes: map[netip.Prefix]int32{}}
	for i, s := range sets {
		if IsName(string(s)) {
			f.names[string(s)] = int32(i)
			continue
		}
		all, _ := s.ParseMatches()
		for k := range all {
			if all[k].IsPlain() {
				f.addPrefix(all[k].User, int32(i))
			}
		}
	}
	f.sortLengths()
	return f
}

// addPrefix adds a prefix of a set, by the set's number. sortLengths must follow before lookups.
func (f *Finder) addPrefix(p netip.Prefix, set int32) {
	f.prefixes[p] = set
	if n := p.Bits(); !slices.Contains(f.lengths, n) {
		f.lengths = append(f.lengths, n)
	}
}

// sortLengths sorts the lengths, longest first.
func (f *Finder) sortLengths() { slices.SortFunc(f.lengths, func(a, b int) int { return b - a }) }

// findLongest returns the set with the longest prefix of up to max bits that contains an address, and the prefix's
// length; −1 and false without a set.
func (f *Finder) findLongest(a netip.Addr, max int) (set int32, bits int, ok bool) {
	for _, n := range f.lengths {
		if n > max {
			continue
		}
		if p, err := a.Prefix(n); err == nil {
			if set, ok = f.prefixes[p]; ok {
				return set, n, true
			}
		}
	}
	return 0, -1, false
}

// findContaining returns the set with the longest prefix that contains another prefix and is not equal to it.
func (f *Finder) findContaining(p netip.Prefix) (set int32, ok bool) {
	set, _, ok = f.findLongest(p.Addr(), p.Bits()-1)
	return set, ok
}

// maxBits is the length of the longest prefix.
const maxBits = 128

// FindSet returns the set with the longest prefix that contains address number a in an IP version. The prefixes of a
// set that is a name belong to the book's user. ok is false if the address is in no set.
func (f *Finder) FindSet(a packet.Addr, version uint8) (set int32, ok bool) {
	set, bits, ok := f.findLongest(addressOf(f.book, a, version), maxBits)
	if name, n := f.book.OwnerOf(a, version); name != "" && n > bits {
		if named, there := f.names[name]; there {
			return named, true
		}
	}
	return set, ok
}

// PrefixCount returns the number of prefixes of all sets. A name counts with the prefixes of its user.
func (f *Finder) PrefixCount() (n int) {
	n = len(f.prefixes)
	for _, u := range f.book.Users() {
		if _, there := f.names[u.Name]; there {
			n += len(u.Prefixes)
		}
	}
	return n
}

// addressOf returns the address of a number in an IP version. It is invalid if the address has no form in that version.
func addressOf(book *packet.Book, a packet.Addr, version uint8) netip.Addr {
	if version == 6 {
		return book.V6(a)
	}
	return book.V4(a)
}

// Lister is the configuration of a program or scheduler with a list of users in one of its parameters. It completes
// the list if each declared user that the list lacks also counts as a user (completeSets).
type Lister interface {
	Sets() (param string, all []Set, completes bool)
}

// EdgeLister is a Lister that finds users by sender or receiver only at some switches. FindsUsers reports whether it
// does at a switch with ports of these names.
type EdgeLister interface{ FindsUsers(ports []string) bool }

// CheckKnown returns an error for a set that is a name but no user of the book, or nil. A nil book has no users.
func CheckKnown(book *packet.Book, sets []Set) error {
	var declared []string
	known := map[Set]bool{}
	if book != nil {
		for _, u := range book.Users() {
			declared, known[Set(u.Name)] = append(declared, u.Name), true
		}
	}
	for _, s := range sets {
		if !IsName(string(s)) || known[s] {
			continue
		}
		if len(declared) == 0 {
			return fmt.Errorf("%q is neither an address nor a prefix, and the file declares no users", s)
		}
		return fmt.Errorf("%q is neither an address nor a prefix, nor one of the file's users; allowed: %s", s,
			strings.Join(declared, ", "))
	}
	return nil
}

// CheckConflicts returns an error if a set has the same prefix as a user of the book, which must not be nil. Only
// alternatives without other conditions count.
func CheckConflicts(book *packet.Book, sets []Set) error {
	owners := ownersOf(book)
	for _, s := range sets {
		all, _ := s.ParseMatches()
		for i := range all {
			if k, ok := owners.prefixes[all[i].User]; ok && all[i].IsPlain() {
				name := book.Users()[k].Name
				return fmt.Errorf("%v already belongs to user %s; the name %s stands for all of its addresses", &all[i], name, name)
			}
		}
	}
	return nil
}

// ownersOf returns a finder of the book's users by prefix; users are numbered as in book.Users. It finds no names. The
// book must not be nil.
func ownersOf(book *packet.Book) *Finder {
	f := &Finder{prefixes: map[netip.Prefix]int32{}}
	for i, u := range book.Users() {
		for _, p := range u.Prefixes {
			f.addPrefix(p, int32(i))
		}
	}
	f.sortLengths()
	return f
}

// FindOwner returns a function that finds for a prefix the user of the book with the longest prefix that contains it
// and differs from it. It returns that user's name and the length of that longer prefix in bits; "" and 0 if there is
// no such user.
func FindOwner(book *packet.Book) func(p netip.Prefix) (name string, bits int) {
	owners := ownersOf(book)
	return func(p netip.Prefix) (name string, bits int) {
		k, bits, ok := owners.findLongest(p.Addr(), p.Bits()-1)
		if !ok {
			return "", 0
		}
		return book.Users()[k].Name, bits
	}
}

// Nodes are the hosts and switches of a network. Node i has number i+1.
type Nodes struct {
	Names []string
	Dual  []bool // flows of both IP versions begin or end at the node; nil: not known
}

// DescribeDivided returns a description of the first user of the book with addresses in different users by the sets, or
// of the first node that the sets and the book's users divide, or "". With completes each user of the book is also one
// of the sets. A node that the book's users divide without any sets is left to a call without sets. A node with one
// address in a user and the other one in no set is divided if its flows use both.
func DescribeDivided(book *packet.Book, sets []Set, completes bool, nodes Nodes) string {
	if book == nil || len(sets) == 0 && len(book.Users()) == 0 {
		return ""
	}
	declared := completeSets(book, nil)
	own := NewFinder(book, declared)
	if len(sets) == 0 {
		return own.dividedNodes(declared, nodes, nil)
	}
	if completes {
		sets = completeSets(book, sets)
	}
	f := NewFinder(book, sets)
	if text := f.dividedUser(sets); text != "" {
		return text
	}
	return f.dividedNodes(sets, nodes, own)
}

// completeSets returns the sets followed by each user of the book that no set names.
func completeSets(book *packet.Book, sets []Set) []Set {
	var all []scheme.Pair[Set, bool]
	for _, s := range sets {
		all = append(all, scheme.Pair[Set, bool]{Key: s})
	}
	return SetsOf(AddMissingUsers(book, all, false))
}

// dividedUser returns a description of the first user of the book with addresses in different sets, or with an
// address in a set of its own; "" if there is no such user.
func (f *Finder) dividedUser(sets []Set) string {
	owners := ownersOf(f.book)
	for _, s := range sets { // prefixes within a user's
		all, _ := s.ParseMatches()
		for i := range all {
			if k, ok := owners.findContaining(all[i].User); ok && all[i].IsPlain() {
				return fmt.Sprintf("%v of user %s is in %q", &all[i], f.book.Users()[k].Name, s)
			}
		}
	}
	for _, u := range f.book.Users() { // prefixes around a part of a user
		if _, named := f.names[u.Name]; named {
			continue
		}
		for _, p := range u.Prefixes {
			a, in := f.findContaining(u.Prefixes[0])
			if b, also := f.findContaining(p); a != b || in != also {
				return fmt.Sprintf("%v of user %s is in %s, and %v in %s", u.Prefixes[0], u.Name, describeSet(sets, a, in), p,
					describeSet(sets, b, also))
			}
		}
	}
	return ""
}

// dividedNodes returns a description of the first node whose IPv4 and IPv6 addresses are in two sets, or one of them
// in no set. It skips nodes that another finder also divides; nil: there is no other.
func (f *Finder) dividedNodes(sets []Set, nodes Nodes, other *Finder) (text string) {
	others := 0
	for i, name := range nodes.Names {
		a, dual := packet.Addr(i+1), i < len(nodes.Dual) && nodes.Dual[i]
		if int(a) >= f.book.Len() {
			break
		}
		if !f.isDivided(a, dual) || other != nil && other.isDivided(a, dual) {
			continue
		}
		if text != "" {
			others++
			continue
		}
		v4, ok4 := f.FindSet(a, 4)
		v6, ok6 := f.FindSet(a, 6)
		text = fmt.Sprintf("%s is in %s by IPv4 and in %s by IPv6", name, describeSet(sets, v4, ok4), describeSet(sets, v6,
			ok6))
	}
	if others > 0 {
		text += fmt.Sprintf("; so are %d other nodes", others)
	}
	return text
}

// isDivided reports whether the two addresses of a number are in different sets or, with dual, one of them in no set.
func (f *Finder) isDivided(a packet.Addr, dual bool) bool {
	v4, ok4 := f.FindSet(a, 4)
	v6, ok6 := f.FindSet(a, 6)
	return ok4 && ok6 && v4 != v6 || ok4 != ok6 && dual
}

// describeSet returns the words for set i, or for no set unless found.
func describeSet(sets []Set, i int32, found bool) string {
	if !found {
		return "no user"
	}
	return fmt.Sprintf("%q", sets[i])
}

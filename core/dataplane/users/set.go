package users

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weir/core/packet"
)

// Set describes the traffic of one user in the form of a file: the name of a user that the file declares, or
// alternatives with | between them. Each alternative selects packets by one or more of
//
//	10.0.1.0/24   or from 10.0.1.0/24: the user's address or prefix
//	to 10.0.2.1   address or prefix at the other end
//	dscp 46       DSCP
//	tcp, udp or proto 47
//	sport 5001    port of the user's end
//	dport 443     port of the other end
//
// An address, a prefix, a class, a 5-tuple, or an explicit set of them is one user (P4-ABC §3.1: "ingress nodes
// require traffic descriptors for any aggregate that should be tracked").
type Set string

// Match is one alternative of a set.
type Match struct {
	User, Peer         netip.Prefix // invalid: any
	DSCP, Proto        int16        // −1: any
	UserPort, PeerPort int32        // −1: any
}

// protocols are the names of IP protocols in a set.
var protocols = map[string]int16{"tcp": int16(packet.ProtoTCP), "udp": int16(packet.ProtoUDP),
	"icmp": int16(packet.ProtoICMP), "icmpv6": int16(packet.ProtoICMPv6)}

// ParseSet parses a set and returns it in a canonical form. The name of a user stays as it is, even if no file declares
// it. It fails on an unknown field, an invalid value or a repeated condition.
func ParseSet(text string) (Set, error) {
	if IsName(text) {
		return Set(text), nil
	}
	all, err := Set(text).ParseMatches()
	if err != nil {
		return "", err
	}
	var words []string
	for i := range all {
		words = append(words, all[i].String())
	}
	slices.Sort(words)
	return Set(strings.Join(words, " | ")), nil
}

// ParseAddresses parses a set of only addresses and prefixes, or the name of a declared user. It fails on any other
// condition.
func ParseAddresses(text string) (Set, error) {
	s, err := ParseSet(text)
	if err != nil {
		return "", err
	}
	all, _ := s.ParseMatches()
	for i := range all {
		if !all[i].IsPlain() {
			return "", fmt.Errorf("%q asks for more than addresses; allowed: addresses and prefixes with | between them, or "+
				"the name of a user", text)
		}
	}
	return s, nil
}

// maxName is the maximum length of a user's name.
const maxName = 40

// IsName reports whether a text can be the name of a user: letters, digits, - and _, the first one a letter, up to
// maxName characters, and no word of a set.
func IsName(text string) bool {
	if text == "" || len(text) > maxName || protocols[text] != 0 || slices.Contains(reserved, text) {
		return false
	}
	for i, c := range text {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// reserved are the words of a set with a value, and the word of metrics for users without a name.
var reserved = []string{"from", "to", "dscp", "proto", "sport", "dport", "vlan", "others"}

// NameRule describes names of users in errors.
const NameRule = "letters, digits, - and _, the first one a letter, up to 40, and no word such as tcp, dscp or vlan"

// ParseMatches returns the alternatives; the name of a user has no alternatives. It fails on an invalid or repeated
// alternative.
func (s Set) ParseMatches() (all []Match, err error) {
	if IsName(string(s)) {
		return nil, nil
	}
	for one := range strings.SplitSeq(string(s), "|") {
		m, err := parseMatch(strings.Fields(one))
		if err != nil && len(strings.Fields(string(s))) == 1 {
			return nil, err // a set of one word is quoted by its error
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		for i := range all {
			if all[i] == m {
				return nil, fmt.Errorf("%q: %v is there twice", s, &m)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// fieldList lists the possible fields of an alternative.
const fieldList = "address, prefix, from, to, dscp, tcp, udp, icmp, icmpv6, proto, sport, dport"

// parseMatch parses one alternative from its words. It fails on an empty one, on prefixes of two IP families, and on
// ports without tcp or udp.
func parseMatch(words []string) (m Match, err error) {
	m = Match{DSCP: -1, Proto: -1, UserPort: -1, PeerPort: -1}
	if len(words) == 0 {
		return m, errors.New("the text is empty; allowed: an address, a prefix, dscp 46, tcp, udp, sport 5001, …")
	}
	for i := 0; i < len(words); i++ {
		word, value := words[i], ""
		if proto, ok := protocols[word]; ok {
			word, value = "proto", strconv.Itoa(int(proto))
		} else if _, err := ParsePrefix(word); err == nil {
			word, value = "from", word
		} else if i++; i < len(words) {
			value = words[i]
		}
		if err := m.addCondition(word, value); err != nil {
			return m, err
		}
	}
	for _, p := range [2]netip.Prefix{m.User, m.Peer} {
		if p.IsValid() && m.User.IsValid() && m.User.Addr().Is4() != p.Addr().Is4() {
			return m, fmt.Errorf("%v and %v are of two IP families", m.User, m.Peer)
		}
	}
	if (m.UserPort >= 0 || m.PeerPort >= 0) && m.Proto != int16(packet.ProtoTCP) && m.Proto != int16(packet.ProtoUDP) {
		return m, errors.New("ports need a protocol; add tcp or udp")
	}
	return m, nil
}

// addCondition adds a condition. It fails if the field is unknown or set twice, or its value is invalid.
func (m *Match) addCondition(word, value string) (err error) {
	twice, maxValue := false, 0
	number := func(now int64) int64 {
		n, e := strconv.ParseUint(value, 10, 32)
		if twice = now >= 0; e != nil || n > uint64(maxValue) {
			err = fmt.Errorf("%s %s; allowed: 0 … %d", word, value, maxValue)
		}
		return int64(n)
	}
	prefix := func(now netip.Prefix) netip.Prefix {
		twice = now.IsValid()
		p, e := ParsePrefix(value)
		if e != nil {
			err = e
		}
		return p
	}
	switch word {
	case "from":
		m.User = prefix(m.User)
	case "to":
		m.Peer = prefix(m.Peer)
	case "dscp":
		maxValue = 63
		m.DSCP = int16(number(int64(m.DSCP)))
	case "proto":
		maxValue = 255
		m.Proto = int16(number(int64(m.Proto)))
	case "sport":
		maxValue = 65535
		m.UserPort = int32(number(int64(m.UserPort)))
	case "dport":
		maxValue = 65535
		m.PeerPort = int32(number(int64(m.PeerPort)))
	default:
		return fmt.Errorf("%q is no address, prefix or field; allowed: "+fieldList, word)
	}
	if err == nil && twice {
		err = fmt.Errorf("%s is there twice", word)
	}
	return err
}

// ParsePrefix parses an address or a prefix, without its host bits. An address is a prefix of full length. It refuses a
// zone.
func ParsePrefix(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a prefix", text)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// String returns the alternative in the form of a file, such as "10.0.1.0/24 tcp dport 443".
func (m *Match) String() string {
	var words []string
	add := func(there bool, form string, value any) {
		if there {
			words = append(words, fmt.Sprintf(form, value))
		}
	}
	add(m.User.IsValid(), "%v", PrefixText(m.User))
	add(m.Peer.IsValid(), "to %v", PrefixText(m.Peer))
	add(m.DSCP >= 0, "dscp %d", m.DSCP)
	switch m.Proto {
	case int16(packet.ProtoTCP):
		words = append(words, "tcp")
	case int16(packet.ProtoUDP):
		words = append(words, "udp")
	default:
		add(m.Proto >= 0, "proto %d", m.Proto)
	}
	add(m.UserPort >= 0, "sport %d", m.UserPort)
	add(m.PeerPort >= 0, "dport %d", m.PeerPort)
	return strings.Join(words, " ")
}

// PrefixText returns a prefix in the form of a file: for a single address, the address.
func PrefixText(p netip.Prefix) string {
	if p.IsValid() && p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// IsPlain reports whether the user's address is the only condition.
func (m *Match) IsPlain() bool {
	return *m == Match{User: m.User, DSCP: -1, Proto: -1, UserPort: -1, PeerPort: -1} && m.User.IsValid()
}

// BitCount returns the number of bits in its conditions: of two nested alternatives, the narrower one has more. An
// address family without a prefix has 0.
func (m *Match) BitCount() (n int) {
	for _, p := range [2]netip.Prefix{m.User, m.Peer} {
		if p.IsValid() {
			n += p.Bits() + 1 // any address is less than all addresses of a family
		}
	}
	for _, x := range [4]int32{int32(m.DSCP), int32(m.Proto), m.UserPort, m.PeerPort} {
		if x >= 0 {
			n++
		}
	}
	return n
}

// compareWith reports whether a packet can match both, and whether all of m's packets match o, or all of o's match m.
// If no packet can match both, within and around are false.
func (m *Match) compareWith(o *Match) (both, within, around bool) {
	both, within, around = true, true, true
	see := func(inM, inO, disjoint bool) { // all of m's are o's in this respect; all of o's are m's
		both, within, around = both && !disjoint, within && inM, around && inO
	}
	for _, x := range [2][2]netip.Prefix{{m.User, o.User}, {m.Peer, o.Peer}} {
		a, b := x[0], x[1]
		switch {
		case !a.IsValid() || !b.IsValid():
			see(!b.IsValid(), !a.IsValid(), false)
		default:
			see(b.Overlaps(a) && b.Bits() <= a.Bits(), a.Overlaps(b) && a.Bits() <= b.Bits(), !a.Overlaps(b))
		}
	}
	for _, x := range [4][2]int32{{int32(m.DSCP), int32(o.DSCP)}, {int32(m.Proto), int32(o.Proto)},
		{m.UserPort, o.UserPort}, {m.PeerPort, o.PeerPort}} {
		a, b := x[0], x[1]
		see(b < 0 || a == b, a < 0 || a == b, a >= 0 && b >= 0 && a != b)
	}
	return both, both && within, both && around
}

// CheckDistinct returns an error if two sets have common packets, and neither is within the other. The address family
// does not matter: a set without addresses covers both. Equal alternatives of two sets are also an error, and so is an
// invalid set.
func CheckDistinct(sets []Set) error {
	var matches []Match
	var owner []int
	for i, s := range sets {
		m, err := s.ParseMatches()
		if err != nil {
			return err
		}
		for k := range m {
			matches, owner = append(matches, m[k]), append(owner, i)
		}
	}
	return eachRival(matches, owner, func(k, i int) error { return checkAmbiguous(sets, matches, owner, k, i) })
}

// UserPrefixes returns the users' prefixes in sets.
func UserPrefixes(sets []Set) []netip.Prefix {
	return collectPrefixes(sets, func(m *Match) netip.Prefix { return m.User })
}

// PeerPrefixes returns the prefixes of other ends in sets.
func PeerPrefixes(sets []Set) []netip.Prefix {
	return collectPrefixes(sets, func(m *Match) netip.Prefix { return m.Peer })
}

// collectPrefixes returns the valid prefixes that prefixOf returns for all alternatives of sets.
func collectPrefixes(sets []Set, prefixOf func(m *Match) netip.Prefix) (all []netip.Prefix) {
	for _, s := range sets {
		matches, _ := s.ParseMatches() // errors were reported when the set was read
		for i := range matches {
			if p := prefixOf(&matches[i]); p.IsValid() {
				all = append(all, p)
			}
		}
	}
	return all
}

// eachRival calls compare with each pair of alternatives that may be ambiguous, by their places in matches. owner
// holds the set of each. It stops at the first error. Two plain prefixes are nested or disjoint, so only equal ones
// are a pair: the number of pairs grows with the number of prefixes, not with its square.
func eachRival(matches []Match, owner []int, compare func(k, i int) error) error {
	var narrow []int // alternatives with more conditions, by place in matches
	first := map[netip.Prefix]int{}
	for i := range matches {
		plain := matches[i].IsPlain()
		if plain {
			k, seen := first[matches[i].User]
			if !seen {
				first[matches[i].User] = i
			} else if owner[k] != owner[i] {
				return compare(k, i)
			}
			for _, k := range narrow {
				if err := compare(k, i); err != nil {
					return err
				}
			}
			continue
		}
		for k := range matches[:i] {
			if err := compare(k, i); err != nil {
				return err
			}
		}
		narrow = append(narrow, i)
	}
	return nil
}

// checkAmbiguous returns an error if alternatives k and i of two sets have common packets, and neither is within the
// other, or both are equal. Alternatives of one set are never ambiguous.
func checkAmbiguous(sets []Set, matches []Match, owner []int, k, i int) error {
	a, b := &matches[k], &matches[i]
	both, within, around := a.compareWith(b)
	switch {
	case owner[i] == owner[k] || !both:
	case within && around:
		return fmt.Errorf("%v is in two aggregates, %q and %q", a, sets[owner[k]], sets[owner[i]])
	case !within && !around:
		return fmt.Errorf("%v and %v both have some packets, and neither is within the other: the aggregate of these "+
			"is undefined", a, b)
	}
	return nil
}

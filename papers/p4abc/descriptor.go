package p4abc

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weir/core/packet"
)

// Users is a traffic descriptor (§3.1: "ingress nodes require traffic descriptors for any aggregate that
// should be tracked"), as a file has it: alternatives with | between them, each of which names packets by one
// or more of
//
//	10.0.1.0/24   or from 10.0.1.0/24: the user's address or prefix
//	to 10.0.2.1   address or prefix at the other end
//	dscp 46       DSCP
//	tcp, udp or proto 47
//	sport 5001    port of the user's end
//	dport 443     port of the other end
//
// so that an address, a prefix, a class, a 5-tuple, or an explicit set of them is one user.
type Users string

// match is one alternative of a descriptor.
type match struct {
	user, peer         netip.Prefix // invalid: any
	dscp, proto        int16        // −1: any
	userPort, peerPort int32        // −1: any
}

var protocols = map[string]int16{"tcp": int16(packet.ProtoTCP), "udp": int16(packet.ProtoUDP),
	"icmp": int16(packet.ProtoICMP), "icmpv6": int16(packet.ProtoICMPv6)}

// parseUsers reads a descriptor, and writes it in one way.
func parseUsers(text string) (Users, error) {
	all, err := Users(text).matches()
	if err != nil {
		return "", err
	}
	var words []string
	for i := range all {
		words = append(words, all[i].String())
	}
	slices.Sort(words)
	return Users(strings.Join(words, " | ")), nil
}

// matches are the alternatives.
func (u Users) matches() (all []match, err error) {
	for one := range strings.SplitSeq(string(u), "|") {
		m, err := parseMatch(strings.Fields(one))
		if err != nil {
			return nil, fmt.Errorf("aggregate %q: %w", u, err)
		}
		for i := range all {
			if all[i] == m {
				return nil, fmt.Errorf("aggregate %q: %v is there twice", u, &m)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// parseMatch reads one alternative.
func parseMatch(words []string) (m match, err error) {
	m = match{dscp: -1, proto: -1, userPort: -1, peerPort: -1}
	if len(words) == 0 {
		return m, errors.New("nothing is named; an address, a prefix, dscp 46, tcp, udp, sport 5001, … are possible")
	}
	for i := 0; i < len(words); i++ {
		word, value := words[i], ""
		if proto, ok := protocols[word]; ok {
			word, value = "proto", strconv.Itoa(int(proto))
		} else if _, err := prefixOf(word); err == nil {
			word, value = "from", word
		} else if i++; i < len(words) {
			value = words[i]
		}
		if err := m.set(word, value); err != nil {
			return m, err
		}
	}
	for _, p := range [2]netip.Prefix{m.user, m.peer} {
		if p.IsValid() && m.user.IsValid() && m.user.Addr().Is4() != p.Addr().Is4() {
			return m, fmt.Errorf("%v and %v are of two IP families", m.user, m.peer)
		}
	}
	if (m.userPort >= 0 || m.peerPort >= 0) && m.proto != int16(packet.ProtoTCP) && m.proto != int16(packet.ProtoUDP) {
		return m, errors.New("ports are of tcp or udp, which has to be said")
	}
	return m, nil
}

// set adds a condition.
func (m *match) set(word, value string) (err error) {
	twice, most := false, 0
	number := func(now int64) int64 {
		n, e := strconv.ParseUint(value, 10, 32)
		if twice = now >= 0; e != nil || n > uint64(most) {
			err = fmt.Errorf("%s %s: 0 … %d are possible", word, value, most)
		}
		return int64(n)
	}
	prefix := func(now netip.Prefix) netip.Prefix {
		twice = now.IsValid()
		p, e := prefixOf(value)
		if e != nil {
			err = e
		}
		return p.Masked()
	}
	switch word {
	case "from":
		m.user = prefix(m.user)
	case "to":
		m.peer = prefix(m.peer)
	case "dscp":
		most = 63
		m.dscp = int16(number(int64(m.dscp)))
	case "proto":
		most = 255
		m.proto = int16(number(int64(m.proto)))
	case "sport":
		most = 65535
		m.userPort = int32(number(int64(m.userPort)))
	case "dport":
		most = 65535
		m.peerPort = int32(number(int64(m.peerPort)))
	default:
		return fmt.Errorf("%q is no address, prefix or field; allowed: address, prefix, from, to, dscp, tcp, udp, icmp, "+
			"icmpv6, proto, sport, dport", word)
	}
	if err == nil && twice {
		err = fmt.Errorf("%s is there twice", word)
	}
	return err
}

// prefixOf parses an address or a prefix.
func prefixOf(s string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a prefix", s)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// String is the alternative as a file has it.
func (m *match) String() string {
	var words []string
	add := func(there bool, form string, value any) {
		if there {
			words = append(words, fmt.Sprintf(form, value))
		}
	}
	add(m.user.IsValid(), "%v", prefixText(m.user))
	add(m.peer.IsValid(), "to %v", prefixText(m.peer))
	add(m.dscp >= 0, "dscp %d", m.dscp)
	switch m.proto {
	case int16(packet.ProtoTCP):
		words = append(words, "tcp")
	case int16(packet.ProtoUDP):
		words = append(words, "udp")
	default:
		add(m.proto >= 0, "proto %d", m.proto)
	}
	add(m.userPort >= 0, "sport %d", m.userPort)
	add(m.peerPort >= 0, "dport %d", m.peerPort)
	return strings.Join(words, " ")
}

func prefixText(p netip.Prefix) string {
	if p.IsValid() && p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// plain reports whether it asks for the user's address only.
func (m *match) plain() bool {
	return *m == match{user: m.user, dscp: -1, proto: -1, userPort: -1, peerPort: -1} && m.user.IsValid()
}

// width counts the bits that it asks for: of two that nest, the narrower one has more.
func (m *match) width() (n int) {
	for _, p := range [2]netip.Prefix{m.user, m.peer} {
		if p.IsValid() {
			n += p.Bits() + 1 // any address is less than all of a family
		}
	}
	for _, x := range [4]int32{int32(m.dscp), int32(m.proto), m.userPort, m.peerPort} {
		if x >= 0 {
			n++
		}
	}
	return n
}

// meet reports whether a packet can be in both, and whether all of m's are o's, or all of o's are m's.
func (m *match) meet(o *match) (both, within, around bool) {
	both, within, around = true, true, true
	see := func(inM, inO, disjoint bool) { // all of m's are o's in this respect; all of o's are m's
		both, within, around = both && !disjoint, within && inM, around && inO
	}
	for _, x := range [2][2]netip.Prefix{{m.user, o.user}, {m.peer, o.peer}} {
		a, b := x[0], x[1]
		switch {
		case !a.IsValid() || !b.IsValid():
			see(!b.IsValid(), !a.IsValid(), false)
		default:
			see(b.Overlaps(a) && b.Bits() <= a.Bits(), a.Overlaps(b) && a.Bits() <= b.Bits(), !a.Overlaps(b))
		}
	}
	for _, x := range [4][2]int32{{int32(m.dscp), int32(o.dscp)}, {int32(m.proto), int32(o.proto)},
		{m.userPort, o.userPort}, {m.peerPort, o.peerPort}} {
		a, b := x[0], x[1]
		see(b < 0 || a == b, a < 0 || a == b, a >= 0 && b >= 0 && a != b)
	}
	return both, both && within, both && around
}

// ambiguous says which descriptors of different aggregates claim a packet without one being within the other.
// A family decides nothing here: a descriptor without addresses is for both.
func ambiguous(all []Aggregate) error {
	var matches []match
	var of []int
	for i := range all {
		m, err := all[i].Key.matches()
		if err != nil {
			return err
		}
		for k := range m {
			matches, of = append(matches, m[k]), append(of, i)
		}
	}
	return eachRival(matches, of, func(k, i int) error { return twice(all, matches, of, k, i) })
}

// eachRival calls compare with each pair of alternatives that may be ambiguous, by their places in matches. It stops at
// the first error. Two plain prefixes are nested or disjoint, so only equal ones are a pair: the number of pairs grows
// with the number of prefixes, not with its square.
func eachRival(matches []match, of []int, compare func(k, i int) error) error {
	var narrow []int // those that ask for more, by place in matches
	first := map[netip.Prefix]int{}
	for i := range matches {
		plain := matches[i].plain()
		if plain {
			k, seen := first[matches[i].user]
			if !seen {
				first[matches[i].user] = i
			} else if of[k] != of[i] {
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

// twice says that packets belong to two aggregates by their alternatives k and i, and neither is within the other.
func twice(all []Aggregate, matches []match, of []int, k, i int) error {
	a, b := &matches[k], &matches[i]
	both, within, around := a.meet(b)
	switch {
	case of[i] == of[k] || !both:
	case within && around:
		return fmt.Errorf("%v is in two aggregates, %q and %q", a, all[of[k]].Key, all[of[i]].Key)
	case !within && !around:
		return fmt.Errorf("%v and %v both have some packets, and neither is within the other: which aggregate these "+
			"belong to is not said", a, b)
	}
	return nil
}

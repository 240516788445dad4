package frames

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	userset "weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// UserAttribute is the attribute of frames that identifies users.
type UserAttribute string

// Attributes.
const (
	ByAddress UserAttribute = "address"
	ByVLAN    UserAttribute = "vlan" // the outermost tag
	ByQinQ    UserAttribute = "qinq" // the two outermost tags
)

// Unnamed is the treatment of users that the file does not name.
type Unnamed string

// Treatments.
const (
	Each      Unnamed = "each"   // each is a user
	PerPort   Unnamed = "port"   // all at a port are one user
	OneForAll Unnamed = "shared" // all are one user
)

// VLANs identifies the VLANs of a frame: the inner identifier in the low 12 bits, the outer one above. A missing
// tag or the priority tag's 0 counts as 0.
type VLANs uint32

// Rules assign frames to users.
type Rules struct {
	By UserAttribute
	// MaxUsers limits the number of users.
	MaxUsers   int
	IPv4Bits   int        // length of the prefix that identifies an IPv4 user
	IPv6Bits   int        // length of the prefix that identifies an IPv6 user
	New        unit.Time  // time before a new address counts as a user
	ExemptSize unit.Bytes // largest exempt frame of ARP and neighbour discovery
	ExemptRate unit.Rate  // of exempt frames, per class and port

	Behind    int // port behind which users are; −1: senders are the users
	Customers []Customer
	Named     []netip.Prefix // listed users without a name
	VLANs     []VLANs        // listed users without a name
	Peers     []netip.Prefix // prefixes by which programs distinguish other ends
	Unnamed   Unnamed

	Ports []string // names of the switch's ports
}

// Customer is a user with a name, identified by its addresses and VLANs.
type Customer struct {
	Name     string
	Prefixes []netip.Prefix
	VLANs    []VLANs
}

// NamedCount returns the number of users that the file names or lists.
func (u *Rules) NamedCount() int { return len(u.Customers) + len(u.Named) + len(u.VLANs) }

// declaredUsers returns the customers in the form for programs, without their VLANs; nil without customers.
func (u *Rules) declaredUsers() (all []packet.User) {
	for _, c := range u.Customers {
		all = append(all, packet.User{Name: c.Name, Prefixes: c.Prefixes})
	}
	return all
}

// Params binds the rules with single values as options to the fields of u, which keep their values. Their defaults are
// Weir's.
func (u *Rules) Params(p *scheme.Params) {
	scheme.TextOf(p, &u.By, "by", string(ByAddress), "key of a user; address: an IP address; vlan: the outermost VLAN "+
		"tag; qinq: the two outermost tags", "address: P4-ABC §5.2; vlan, qinq: Weir", ByAddress, ByVLAN, ByQinQ)
	p.Int(&u.MaxUsers, "most", "4096", "maximum number of users", "Weir").Min("1").Max(strconv.Itoa(MaxUsers))
	p.Int(&u.IPv4Bits, "ipv4_bits", "32", "prefix length of an IPv4 address that identifies a user",
		"P4-ABC §5.2").Min("1").Max("32")
	p.Int(&u.IPv6Bits, "ipv6_bits", "64", "prefix length of an IPv6 address that identifies a user",
		"Weir: a site with an address has a /64 (RFC 4291 §2.5.4)").Min("1").Max("128")
	p.Time(&u.New, "new", "1s", "time for which a new user counts among the other users of its port", "Weir").Min("0s")
	p.Size(&u.ExemptSize, "exempt_size", "512 B", "maximum size of frames of ARP and neighbour discovery that belong "+
		"to no user", "Weir").Min("0B")
	p.Rate(&u.ExemptRate, "exempt_rate", "200kbps", "maximum rate of ARP or neighbour discovery from a port that "+
		"belongs to no user", "Weir").Min("0bps")
}

// MaxUsers limits the users of a switch, and MaxPeers the prefixes of other ends.
const (
	MaxUsers = 1 << 16
	MaxPeers = 1024
)

// ParseMember parses an item of a customer. With ByAddress it is a prefix, or VLANs such as "vlan 100.7" in the form
// of ByQinQ; else it is VLANs of the attribute. One of p and vlans is set.
func (a UserAttribute) ParseMember(text string) (p netip.Prefix, vlans []VLANs, err error) {
	if a != ByAddress {
		vlans, err = a.ParseVLANs(text)
		return p, vlans, err
	}
	if tags, ok := strings.CutPrefix(text, "vlan "); ok {
		vlans, err = ByQinQ.ParseVLANs(tags)
		return p, vlans, err
	}
	p, err = userset.ParsePrefix(text)
	return p, nil, err
}

// ParseVLANs parses VLANs in the form of a file: 100, 100-199, or, for two tags, 100.7 with the outer one first. It
// returns all of a range. Identifiers from 1 to 4094 are allowed, and 100.7 only with ByQinQ. An error states what is
// allowed.
func (a UserAttribute) ParseVLANs(s string) (all []VLANs, err error) {
	wrong := fmt.Errorf("%q is not a VLAN; allowed: identifiers from 1 to 4094, in ranges such as 100-199", s)
	number := func(s string) (n uint64) {
		n, err = strconv.ParseUint(s, 10, 16)
		if n < 1 || n > 4094 || err != nil {
			err = wrong
		}
		return n
	}
	if outer, inner, two := strings.Cut(s, "."); two && a == ByQinQ {
		o := number(outer)
		if err != nil {
			return nil, err
		}
		return []VLANs{VLANs(o<<12 | number(inner))}, err
	}
	first, last, several := strings.Cut(s, "-")
	from := number(first)
	to := from
	if several && err == nil {
		if to = number(last); to < from {
			err = wrong
		}
	}
	if err != nil {
		return nil, err
	}
	for v := from; v <= to; v++ {
		all = append(all, VLANs(v<<12))
	}
	return all, nil
}

// String returns a VLAN in the form of a file.
func (v VLANs) String() string {
	if v&0xfff == 0 {
		return strconv.Itoa(int(v >> 12))
	}
	return fmt.Sprintf("%d.%d", v>>12, v&0xfff)
}

// behindPort returns the port behind which users are, or packet.NoPort.
func (u *Rules) behindPort() packet.PortID {
	if u.Behind < 0 {
		return packet.NoPort
	}
	return packet.PortID(u.Behind)
}

// Fixed describes the rules that cannot change while a switch runs: the attribute, limits and port that determine
// numbers.
func (u *Rules) Fixed() string {
	s := fmt.Sprintf("by %s, most %d, ipv4_bits %d, ipv6_bits %d, ", u.By, u.MaxUsers, u.IPv4Bits, u.IPv6Bits)
	if u.Behind < 0 {
		return s + "behind no port"
	}
	return s + "behind " + u.Ports[u.Behind]
}

// String describes the rules for users of the switch.
func (u *Rules) String() string {
	s := "source addresses"
	switch {
	case u.By != ByAddress:
		s = map[UserAttribute]string{ByVLAN: "VLANs", ByQinQ: "pairs of VLANs"}[u.By]
	case u.Behind >= 0:
		s = "addresses behind port " + u.Ports[u.Behind]
	}
	if n := u.NamedCount(); n > 0 {
		s += fmt.Sprintf(", %d named", n)
	}
	others := map[Unnamed]string{Each: "", PerPort: "; all others at a port are one user",
		OneForAll: "; all others are " +
			"one user"}
	return s + fmt.Sprintf(", up to %d", u.MaxUsers) + others[u.Unnamed]
}

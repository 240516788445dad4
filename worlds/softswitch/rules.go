package softswitch

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	userset "weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
)

// Attribute is what makes users of frames.
type Attribute string

// Attributes.
const (
	ByAddress Attribute = "address"
	ByVLAN    Attribute = "vlan" // the outermost tag's
	ByQinQ    Attribute = "qinq" // the two outermost tags'
)

// Unnamed is what those are whom the file does not name.
type Unnamed string

// Answers.
const (
	Each      Unnamed = "each"   // users, each of them
	PerPort   Unnamed = "port"   // one user at each port
	OneForAll Unnamed = "shared" // one user
)

// VLANs are the VLANs of a frame: the inner identifier in the low 12 bits, the outer one above. One that has
// no tag, or the priority tag's 0, is 0.
type VLANs uint32

// Users are the rules by which frames belong to users.
type Users struct {
	By         Attribute
	Most       int
	IPv4Bits   int        // of addresses, that make a user
	IPv6Bits   int        // … of IPv6
	New        unit.Time  // for how long an address is none yet
	ExemptSize unit.Bytes // of frames of ARP and neighbour discovery
	ExemptRate unit.Rate  // … at a port

	Behind    int // the port behind which users are; −1: sources are
	Customers []Customer
	Named     []netip.Prefix // of users without a name
	VLANs     []VLANs        // that the file lists, of users without a name
	Peers     []netip.Prefix // by which programs tell other ends apart
	Unnamed   Unnamed

	ports []string // their names
}

// Customer is a user with a name, with the frames of its addresses and VLANs.
type Customer struct {
	Name     string
	Prefixes []netip.Prefix
	VLANs    []VLANs
}

// named returns how many users the file names or lists.
func (u *Users) named() int { return len(u.Customers) + len(u.Named) + len(u.VLANs) }

// declared returns the customers as programs know them.
func (u *Users) declared() (all []packet.User) {
	for _, c := range u.Customers {
		all = append(all, packet.User{Name: c.Name, Prefixes: c.Prefixes})
	}
	return all
}

// Params binds the rules that are single values. All of them are ours.
func (u *Users) Params(p *scheme.Params) {
	scheme.Word(p, &u.By, "by", string(ByAddress), "what a user is: an address, the outermost VLAN tag, or two of them",
		"address: P4-ABC §5.2; vlan, qinq: ours", ByAddress, ByVLAN, ByQinQ)
	p.Int(&u.Most, "most", "4096", "how many users there is room for", "ours").Min("1").Max(strconv.Itoa(mostUsers))
	p.Int(&u.IPv4Bits, "ipv4_bits", "32", "bits of an IPv4 address that make a user", "P4-ABC §5.2").Min("1").Max("32")
	p.Int(&u.IPv6Bits, "ipv6_bits", "64", "bits of an IPv6 address that make a user",
		"ours: whoever has an address has a /64 (RFC 4291 §2.5.4)").Min("1").Max("128")
	p.Time(&u.New, "new", "1s", "for how long a new user counts as one of its port's others", "ours").Min("0s")
	p.Size(&u.ExemptSize, "exempt_size", "512 B", "largest frame of ARP and neighbour discovery that is no user's",
		"ours").Min("0B")
	p.Rate(&u.ExemptRate, "exempt_rate", "200kbps", "most of either that comes in at a port and is no user's",
		"ours").Min("0bps")
}

// mostPeers is how many prefixes of other ends have room.
const mostPeers = 1024

// mostExempt is the part of a port's rate that exempt frames may take without a warning.
const mostExempt = 0.05

// lax are warnings about exempt frames that could fill a good part of a port.
func (c *Config) lax() (warnings []document.Warning) {
	for i, p := range c.Ports {
		rate := float64(p.Rate.Bits)
		if all := float64(classes * c.Users.ExemptRate); rate > 0 && all > mostExempt*rate {
			w := document.Warn(warnExempt, c.rates[i], "port %s: ARP and neighbour discovery of another port "+
				"(users: exempt_rate %v each) may fill %.0f %% of %v, and no program drops them", p.Name, c.Users.ExemptRate,
				min(100, 100*all/rate), p.Rate)
			w.Port = p.Name
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// ownUserKeys are those of users that are no single values.
var ownUserKeys = []string{"behind", "named", "unnamed"}

// users reads who is a user; file is where it would stand. It follows the ports and the programs, which may name some.
func (d *decoder) users(t *document.Node, file document.Place) {
	c := d.c
	if t == nil {
		t = &document.Node{Kind: document.Mapping, Place: file}
	} else if t.Kind != document.Mapping {
		d.Fail(t.Place, "{behind: PORT, …}", "this is %v", t.Kind)
		return
	}
	s := scheme.Scheme{Name: "users", Config: scheme.For[Users, *Users]}
	u := *d.Configuration(&s, t, ownUserKeys).(*Users)
	u.Behind = -1
	for _, p := range c.Ports {
		u.ports = append(u.ports, p.Name)
	}
	at := t.Find("behind")
	if at == nil && u.By != ByAddress && len(u.ports) > 0 {
		at = d.Default(t, "behind", u.ports[0], "ours: users by VLAN are on both sides, and have a meter for each direction")
	}
	if at != nil {
		u.Behind = slices.Index(u.ports, d.Word(at, "port", u.ports))
	}
	d.names(&u, t.Find("named"))
	standard, why := Each, "P4-ABC §5.2: no user is named"
	if u.named() > 0 {
		standard, why = PerPort, "ours: users are named"
	}
	u.Unnamed = Unnamed(d.Word(d.Default(t, "unnamed", string(standard), why), "unnamed users",
		[]string{string(Each), string(PerPort), string(OneForAll)}))
	if n := u.named(); n > mostUsers {
		d.Fail(t.Place, fmt.Sprintf("at most %d", mostUsers), "%d users are named", n)
	} else if n > u.Most {
		d.Fail(t.Place, fmt.Sprintf("most: %d", n), "%d users are named, and there is room for %d", n, u.Most)
	}
	c.Users = u
}

// names reads the users that the file names: here, and as parameters of its programs.
func (d *decoder) names(u *Users, t *document.Node) {
	for _, x := range d.c.Programs {
		if x.Traits.NamedUsers == nil {
			continue
		}
		names, peers := x.Traits.NamedUsers()
		if len(names) > 0 && u.By != ByAddress {
			d.Fail(x.At, "by: "+string(ByAddress), "%s names users by their addresses, and users are by %s", x.Scheme.Name,
				u.By)
		}
		u.Named, u.Peers = append(u.Named, names...), append(u.Peers, peers...)
		if len(u.Peers) > mostPeers {
			d.Fail(x.At, fmt.Sprintf("%d at most", mostPeers), "%s asks for %d other ends", x.Scheme.Name, len(u.Peers))
		}
	}
	switch {
	case t == nil:
	case t.Kind == document.Mapping:
		d.customers(u, t)
	case t.Kind != document.List:
		d.Fail(t.Place, "a list, or {name: [addresses]}", "this is %v", t.Kind)
		return
	default:
		for _, x := range t.Items {
			if u.By != ByAddress {
				if v, ok := document.ReadOK(d.Reader, x, u.By.vlans); ok {
					u.VLANs = append(u.VLANs, v...)
				}
			} else if p, ok := document.ReadOK(d.Reader, x, userset.Prefix); ok {
				u.Named = append(u.Named, p)
			}
		}
	}
	slices.SortFunc(u.Named, netip.Prefix.Compare)
	u.Named = slices.Compact(u.Named)
	slices.SortFunc(u.Peers, netip.Prefix.Compare)
	u.Peers = slices.Compact(u.Peers)
	slices.Sort(u.VLANs)
	u.VLANs = slices.Compact(u.VLANs)
}

// customers reads users that have names, each with its addresses, prefixes and VLANs.
func (d *decoder) customers(u *Users, t *document.Node) {
	prefixes, vlans := map[netip.Prefix]string{}, map[VLANs]string{}
	for _, k := range t.Keys {
		if !userset.IsName(k.Name) {
			d.Fail(k.Place, userset.NameRule, "%q cannot be the name of a user", k.Name)
			continue
		}
		c := Customer{Name: k.Name}
		items := []*document.Node{k.Value}
		if k.Value.Kind == document.List {
			items = k.Value.Items
		}
		if len(items) == 0 {
			d.Fail(k.Value.Place, `an address, a prefix, "vlan 100", or a list of them`, "user %s has no address", k.Name)
		}
		for _, x := range items {
			if x.Kind == document.Mapping {
				d.Fail(x.Place, `an address, a prefix, "vlan 100"; IPv6 in quotes, such as "fd00::1"`, "this is %v", x.Kind)
				continue
			}
			p, tags, err := u.By.member(d.Text(x))
			if err != nil {
				d.Fail(x.Place, `an address, a prefix, "vlan 100"; with by: vlan a VLAN`, "%v", err)
				continue
			}
			other := prefixes[p]
			if !p.IsValid() {
				other = ""
			}
			for _, v := range tags {
				other = cmp.Or(other, vlans[v])
				vlans[v] = c.Name
			}
			if other != "" {
				d.Fail(x.Place, "each address and VLAN once", "%s is user %s's already", x.Text, other)
			}
			if c.VLANs = append(c.VLANs, tags...); p.IsValid() {
				c.Prefixes, prefixes[p] = append(c.Prefixes, p), c.Name
			}
		}
		u.Customers = append(u.Customers, c)
	}
}

// member reads what belongs to a customer: a prefix, or VLANs.
func (a Attribute) member(text string) (p netip.Prefix, vlans []VLANs, err error) {
	if a != ByAddress {
		vlans, err = a.vlans(text)
		return p, vlans, err
	}
	if tags, ok := strings.CutPrefix(text, "vlan "); ok {
		vlans, err = ByQinQ.vlans(tags)
		return p, vlans, err
	}
	p, err = userset.Prefix(text)
	return p, nil, err
}

// vlans reads VLANs as a file names them: 100, 100-199, or, by two tags, 100.7 with the outer one first.
func (a Attribute) vlans(s string) (all []VLANs, err error) {
	wrong := fmt.Errorf("%q is no VLAN: identifiers are 1 to 4094, in ranges such as 100-199", s)
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

// String is a VLAN as a file names it.
func (v VLANs) String() string {
	if v&0xfff == 0 {
		return strconv.Itoa(int(v >> 12))
	}
	return fmt.Sprintf("%d.%d", v>>12, v&0xfff)
}

// behind is the port behind which users are, as the codec has it.
func (u *Users) behind() packet.PortID {
	if u.Behind < 0 {
		return packet.NoPort
	}
	return packet.PortID(u.Behind)
}

// fixed is what of the rules cannot change while a switch runs.
func (u *Users) fixed() string {
	s := fmt.Sprintf("by %s, most %d, ipv4_bits %d, ipv6_bits %d, ", u.By, u.Most, u.IPv4Bits, u.IPv6Bits)
	if u.Behind < 0 {
		return s + "behind no port"
	}
	return s + "behind " + u.ports[u.Behind]
}

// String says who is a user, for people.
func (u *Users) String() string {
	s := "source addresses"
	switch {
	case u.By != ByAddress:
		s = map[Attribute]string{ByVLAN: "VLANs", ByQinQ: "pairs of VLANs"}[u.By]
	case u.Behind >= 0:
		s = "addresses behind port " + u.ports[u.Behind]
	}
	if n := u.named(); n > 0 {
		s += fmt.Sprintf(", %d named", n)
	}
	others := map[Unnamed]string{Each: "", PerPort: "; all others at a port are one", OneForAll: "; all others are one"}
	return s + fmt.Sprintf(", up to %d", u.Most) + others[u.Unnamed]
}

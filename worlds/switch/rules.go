package softswitch

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	userset "weir/core/dataplane/users"
	"weir/core/scheme"
	"weir/internal/document"
	"weir/worlds/switch/frames"
)

// maxExempt is the share of a port's rate that exempt frames may take without a warning.
const maxExempt = 0.05

// exemptWarnings warns of exempt frames that could fill a large part of a port.
func (c *Config) exemptWarnings() (warnings []document.Warning) {
	for i, p := range c.Ports {
		rate := float64(p.Rate.Bits)
		if all := float64(frames.ExemptClasses * c.Users.ExemptRate); rate > 0 && all > maxExempt*rate {
			w := document.Warn(warnExempt, c.rates[i], "port %s: ARP and neighbour discovery of another port (users: "+
				"exempt_rate %v each) may fill %.0f %% of %v, which no program limits", p.Name, c.Users.ExemptRate,
				min(100, 100*all/rate), p.Rate)
			w.Port = p.Name
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// ownUserKeys lists the keys of users without a single value.
var ownUserKeys = []string{"behind", "named", "unnamed"}

// decodeUsers decodes the users into d.c.Users, and adds missing keys with their defaults to the document. file is the
// place if the key is missing, and t is nil. It must follow the ports and the programs, which may name users.
func (d *decoder) decodeUsers(t *document.Node, file document.Position) {
	c := d.c
	if t == nil {
		t = &document.Node{Kind: document.Mapping, Position: file}
	} else if t.Kind != document.Mapping {
		d.Fail(t.Position, "{behind: PORT, …}", "the value is %v", t.Kind)
		return
	}
	s := scheme.Scheme{Name: "users", Config: scheme.NewDefault[frames.Rules, *frames.Rules]}
	u := *d.DecodeConfig(&s, t, ownUserKeys).(*frames.Rules)
	u.Behind = -1
	for _, p := range c.Ports {
		u.Ports = append(u.Ports, p.Name)
	}
	behind := t.Find("behind")
	if behind == nil && u.By != frames.ByAddress && len(u.Ports) > 0 {
		behind = d.ReadDefault(t, "behind", u.Ports[0],
			"Weir: users by VLAN are on both sides and have a meter in each direction")
	}
	if behind != nil {
		u.Behind = slices.Index(u.Ports, d.ReadWord(behind, "port", u.Ports))
	}
	d.decodeNames(&u, t.Find("named"))
	standard, why := frames.Each, "P4-ABC §5.2: no user is named"
	if u.NamedCount() > 0 {
		standard, why = frames.PerPort, "Weir: users are named"
	}
	u.Unnamed = frames.Unnamed(d.ReadWord(d.ReadDefault(t, "unnamed", string(standard), why), "value of unnamed",
		[]string{string(frames.Each), string(frames.PerPort), string(frames.OneForAll)}))
	if n := u.NamedCount(); n > frames.MaxUsers {
		d.Fail(t.Position, fmt.Sprintf("at most %d", frames.MaxUsers), "%d users are named", n)
	} else if n > u.MaxUsers {
		d.Fail(t.Position, fmt.Sprintf("most: %d", n), "%d users are named, but the maximum is %d", n, u.MaxUsers)
	}
	c.Users = u
}

// decodeNames decodes the users named by the file into u, sorted and without duplicates: those of t under users,
// which may be nil, and those in parameters of programs.
func (d *decoder) decodeNames(u *frames.Rules, t *document.Node) {
	for _, x := range d.c.Programs {
		if x.Traits.NamedUsers == nil {
			continue
		}
		names, peers := x.Traits.NamedUsers()
		if len(names) > 0 && u.By != frames.ByAddress {
			d.Fail(x.Position, "by: "+string(frames.ByAddress), "%s names users by their addresses, but users are by %s",
				x.Scheme.Name, u.By)
		}
		u.Named, u.Peers = append(u.Named, names...), append(u.Peers, peers...)
		if len(u.Peers) > frames.MaxPeers {
			d.Fail(x.Position, fmt.Sprintf("up to %d", frames.MaxPeers), "%s names %d other ends", x.Scheme.Name,
				len(u.Peers))
		}
	}
	switch {
	case t == nil:
	case t.Kind == document.Mapping:
		d.decodeCustomers(u, t)
	case t.Kind != document.List:
		d.Fail(t.Position, "a list, or {name: [addresses]}", "the value is %v", t.Kind)
		return
	default:
		for _, x := range t.Items {
			if u.By != frames.ByAddress {
				if v, ok := document.ReadValid(d.Reader, x, u.By.ParseVLANs); ok {
					u.VLANs = append(u.VLANs, v...)
				}
			} else if p, ok := document.ReadValid(d.Reader, x, userset.ParsePrefix); ok {
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

// decodeCustomers decodes users with names, each with addresses, prefixes and VLANs, and appends them to u.Customers.
// An address or VLAN of two users is an error.
func (d *decoder) decodeCustomers(u *frames.Rules, t *document.Node) {
	prefixes, vlans := map[netip.Prefix]string{}, map[frames.VLANs]string{}
	for _, k := range t.Keys {
		if !userset.IsName(k.Name) {
			d.Fail(k.Position, userset.NameRule, "%q is not a valid user name", k.Name)
			continue
		}
		c := frames.Customer{Name: k.Name}
		items := []*document.Node{k.Value}
		if k.Value.Kind == document.List {
			items = k.Value.Items
		}
		if len(items) == 0 {
			d.Fail(k.Value.Position, `an address, a prefix, "vlan 100", or a list of them`, "user %s has no address", k.Name)
		}
		for _, x := range items {
			if x.Kind == document.Mapping {
				d.Fail(x.Position, `an address, a prefix, "vlan 100"; IPv6 in quotes, such as "fd00::1"`, "the value is %v", x.Kind)
				continue
			}
			p, tags, err := u.By.ParseMember(d.ReadText(x))
			if err != nil {
				d.Fail(x.Position, `an address, a prefix, "vlan 100"; with by: vlan a VLAN`, "%v", err)
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
				d.Fail(x.Position, "each address and VLAN once", "%s already belongs to user %s", x.Text, other)
			}
			if c.VLANs = append(c.VLANs, tags...); p.IsValid() {
				c.Prefixes, prefixes[p] = append(c.Prefixes, p), c.Name
			}
		}
		u.Customers = append(u.Customers, c)
	}
}

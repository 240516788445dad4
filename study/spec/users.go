package spec

import (
	"net/netip"

	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/internal/document"
)

// users reads the customers that the file declares, and gives the point's book their addresses: of a host both, IPv4
// and IPv6.
func (d *decoder) users(root document.Map, p *Point) {
	t := root.Get("users")
	if t == nil {
		return
	}
	if t.Kind != document.Mapping {
		d.Fail(t.Place, "{home: [h0, 10.0.7.0/24, \"fd00:7::/64\"]}", "users is %v", t.Kind)
		return
	}
	d.groups = nil
	var all []packet.User
	owners := map[netip.Prefix]string{}
	for _, k := range t.Keys {
		if !users.IsName(k.Name) {
			d.Fail(k.Place, users.NameRule, "%q cannot be the name of a user", k.Name)
			continue
		}
		u := packet.User{Name: k.Name}
		items := []*document.Node{k.Value}
		if k.Value.Kind == document.List {
			items = k.Value.Items
		}
		for _, x := range items {
			for _, a := range d.addressesIn(x, p) {
				if other := owners[a]; other != "" && other != u.Name {
					d.Fail(x.Place, "each address once", "%v is user %s's already", a, other)
					return
				} else if other == "" {
					owners[a] = u.Name
					u.Prefixes = append(u.Prefixes, a)
				}
			}
		}
		all = append(all, u)
	}
	if d.OK() {
		p.book = p.book.WithUsers(all)
		p.memory += ofNode * int64(p.book.Len())
	}
}

// addressesIn returns the addresses of a host, of all hosts of a pattern, or what is an address or a prefix itself.
func (d *decoder) addressesIn(x *document.Node, p *Point) (all []netip.Prefix) {
	if a, err := users.Prefix(x.Text); err == nil {
		return []netip.Prefix{a}
	}
	for _, host := range d.hostsIn(x, p) {
		n := packet.Addr(host + 1)
		for _, a := range [2]netip.Addr{p.book.V4(n), p.book.V6(n)} {
			if a.IsValid() {
				all = append(all, netip.PrefixFrom(a, a.BitLen()))
			}
		}
	}
	return all
}

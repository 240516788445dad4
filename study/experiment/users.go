package experiment

import (
	"net/netip"
	"strings"

	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/internal/document"
)

// usersExample is the example in errors about users.
const usersExample = `{home: [h0, 10.0.7.0/24, "fd00:7::/64"]}`

// userDecoder reads the users that the file declares.
type userDecoder struct {
	*reader
	nodes *nodeNames
}

// readUsers reads the users that the file declares, and adds their addresses to the point's book. A host counts with
// both its IPv4 and its IPv6 address. It forgets the groups of hosts, so users cannot name groups. After an error the
// book is unchanged.
func (d *userDecoder) readUsers(root document.Map, p *Point) {
	t := root.Get("users")
	if t == nil {
		return
	}
	if t.Kind != document.Mapping {
		d.Fail(t.Position, usersExample, "users is %v", t.Kind)
		return
	}
	p.usersAt, d.nodes.groups = t.Position, nil
	var all []packet.User
	owners := map[netip.Prefix]string{}
	for _, k := range t.Keys {
		if !users.IsName(k.Name) {
			d.Fail(k.Position, users.NameRule, "%q is not a valid user name", k.Name)
			continue
		}
		if _, taken := d.nodes.directory.indexNetwork(p.measured.Network).nodes[k.Name]; taken {
			d.Fail(k.Position, "another name", "%q is already the name of a node", k.Name)
			continue
		}
		all = append(all, d.readUser(k, p, owners))
	}
	if d.OK() {
		p.book = p.book.WithUsers(all)
		p.memory += perNode * int64(p.book.Len())
	}
}

// readUser reads one user. owners has the users of the prefixes that were read before; it adds this user's.
func (d *userDecoder) readUser(k document.Entry, p *Point, owners map[netip.Prefix]string) packet.User {
	u := packet.User{Name: k.Name}
	items := []*document.Node{k.Value}
	if k.Value.Kind == document.List {
		items = k.Value.Items
	}
	if len(items) == 0 {
		d.Fail(k.Value.Position, usersExample, "user %s has no address", u.Name)
	}
	for _, x := range items {
		for _, a := range d.readAddresses(x, p) {
			if other := owners[a]; other != "" && other != u.Name {
				d.Fail(x.Position, "each address once", "%s already belongs to user %s", users.PrefixText(a), other)
				return u
			} else if other == "" {
				owners[a] = u.Name
				u.Prefixes = append(u.Prefixes, a)
			}
		}
	}
	return u
}

// readAddresses returns the prefixes of an address, a prefix, a host, or all hosts of a pattern. It reports an error
// for other values and returns nil.
func (d *userDecoder) readAddresses(x *document.Node, p *Point) (all []netip.Prefix) {
	a, err := users.ParsePrefix(x.Text)
	switch {
	case err == nil:
		return []netip.Prefix{a}
	case x.Kind == document.Mapping:
		d.Fail(x.Position, "an IPv6 address in quotes, such as \"fd00::1\"; a host, a pattern or a prefix", "the value is %v",
			x.Kind)
		return nil
	case strings.ContainsAny(x.Text, ":/") || x.Text != "" && strings.Trim(x.Text, ".0123456789") == "":
		d.Fail(x.Position, "an address, a prefix, a host or a pattern", "%v", err)
		return nil
	case strings.HasPrefix(x.Text, "vlan "):
		d.Fail(x.Position, "an address, a prefix, a host or a pattern",
			"frames of an experiment have no VLAN tag; only users of weir switch can have one")
		return nil
	}
	for _, host := range d.nodes.listHosts(x, p) {
		n := packet.Addr(host + 1)
		for _, a := range [2]netip.Addr{p.book.V4(n), p.book.V6(n)} {
			if a.IsValid() {
				all = append(all, netip.PrefixFrom(a, a.BitLen()))
			}
		}
	}
	return all
}

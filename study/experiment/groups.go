package experiment

import (
	"weir/internal/document"
	"weir/study/measure"
)

// readGroups reads the names that the file gives to hosts. A group may be of others that stand before it.
func (d *nodeNames) readGroups(root document.Map, p *Point) {
	d.groups = nil
	t := root.Get("groups")
	if t == nil {
		return
	}
	if t.Kind != document.Mapping {
		d.Fail(t.Place, "{storage: [h0, h1], training: \"h[2-15]\"}", "groups is %v", t.Kind)
		return
	}
	groups := map[string][]int{}
	for _, k := range t.Keys {
		if _, taken := d.directory.of(p.seen.Network).nodes[k.Name]; taken {
			d.Fail(k.Place, "another name", "a node is named %q", k.Name)
			continue
		}
		if !identifier(k.Name) || k.Name == ToRandom || k.Name == Permutation {
			d.Fail(k.Place, "a letter, then letters, digits and _", "%q is not a name", k.Name)
			continue
		}
		d.groups = groups // what stands before
		groups[k.Name] = d.listHosts(k.Value, p)
		p.seen.Groups = append(p.seen.Groups, measure.Group{Name: k.Name, Hosts: groups[k.Name]})
	}
	d.groups = groups
}

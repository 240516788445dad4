package spec

import (
	"slices"
	"strconv"

	"weir/core/topology"
	"weir/internal/document"
)

// nicChoices are the words for a host's choice among its NICs.
func nicChoices() (words []string) {
	for _, c := range topology.Choices() {
		words = append(words, string(c))
	}
	return words
}

// nic reads by which of its NICs a host sends the traffic's flows.
func (d *decoder) nic(x document.Map, tr *Traffic, p *Point) {
	tr.nic, tr.nicPort = topology.Hashed, -1
	v := x.Get("nic")
	if v == nil {
		return
	}
	if _, err := strconv.Atoi(v.Text); err == nil && v.Kind == document.Scalar {
		tr.nicPort = d.Integer(v, 0, 255)
	} else {
		tr.nic = topology.Choice(d.Word(v, "choice of a NIC", nicChoices()))
	}
	if n := p.seen.Network; n != nil && !n.NICs().Several() {
		d.Fail(v.Place, "no nic, or hosts with several links", "no host of this network has more than one NIC")
	}
	if tr.nic != "" && !slices.Contains(nicChoices(), string(tr.nic)) {
		tr.nic = topology.Hashed // it is an error already
	}
}

package experiment

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

// nicChoice is by which of its NICs a host sends the flows of a traffic.
type nicChoice struct {
	how  topology.Choice
	port int            // −1: none is named
	at   document.Place // where the file has it
}

// NoNIC is why a traffic cannot have the NICs that it, or its job, asks for.
type NoNIC struct {
	Traffic int    // by Point.Entry
	Param   string // of its job, by which that asks for them; "": the traffic does
	Allowed string
	Why     error
}

// Error names what asks for which NICs of what.
func (e *NoNIC) Error() string { return e.Why.Error() }

// Unwrap is why.
func (e *NoNIC) Unwrap() error { return e.Why }

// place is where the file asks for them.
func (e *NoNIC) place(p *Point) document.Place {
	tr := &p.entries[e.Traffic]
	if v := tr.jobNode.Find(e.Param); v != nil {
		return v.Place
	}
	return tr.nic.at
}

// readNIC reads by which of its NICs a host sends the traffic's flows.
func (d *trafficDecoder) readNIC(x document.Map, tr *Traffic, p *Point) {
	tr.nic = nicChoice{topology.Hashed, -1, x.Place}
	v := x.Get("nic")
	if v == nil {
		return
	}
	tr.nic.at = v.Place
	if _, err := strconv.Atoi(v.Text); err == nil && v.Kind == document.Scalar {
		tr.nic.port = d.Integer(v, 0, 255)
	} else {
		tr.nic.how = topology.Choice(d.Word(v, "choice of a NIC", nicChoices()))
	}
	if n := p.seen.Network; n != nil && !n.NICs().Several() {
		d.Fail(v.Place, "no nic, or hosts with several links", "no host of this network has more than one NIC")
	}
	if tr.nic.how != "" && !slices.Contains(nicChoices(), string(tr.nic.how)) {
		tr.nic.how = topology.Hashed // it is an error already
	}
}

package wiring

import (
	"fmt"

	"weir/core/fabric"
	"weir/core/unit"
)

// CheckConservation checks that no packet was lost or came from nowhere: that each link took what its port sent, and
// that in each switch what came in and what it made is what went out, ended (dropped with a reason, consumed)
// or is held. The error names the first place where that is not so. Everything before one time must have been
// carried out, and nothing after it.
func (w *Wiring) CheckConservation(f *fabric.Fabric) error {
	for i, p := range w.ports {
		if p == nil {
			continue
		}
		if sent, took := p.TxPackets(), f.Link(i).Sent; sent != took {
			return fmt.Errorf("%s sent %d packets and its link took %d", w.name(i), sent, took)
		}
		if p.Packets() == 0 && p.Bytes() != 0 {
			return fmt.Errorf("%s counts %d bytes, and no packet waits there", w.name(i), p.Bytes())
		}
	}
	for node, sw := range w.Switches {
		if sw == nil {
			continue
		}
		in, out := w.passed(f, node)
		l := sw.Ledger()
		if in+l.Made != out+l.Ended+l.Held {
			return fmt.Errorf("switch %s: %d packets came in and %d were made, but %d went out, %d ended and %d are held",
				sw.Name(), in, l.Made, out, l.Ended, l.Held)
		}
		bytes := unit.Bytes(0)
		for _, i := range w.leaving[node] {
			bytes += w.ports[i].Bytes()
		}
		if bytes != sw.Buffered() {
			return fmt.Errorf("switch %s: %d bytes wait at its ports, and its buffer counts %d", sw.Name(), bytes, sw.Buffered())
		}
	}
	return nil
}

// passed returns how many packets have come out of the links to a node, and how many its ports have sent.
func (w *Wiring) passed(f *fabric.Fabric, node int) (in, out uint64) {
	for _, i := range w.leaving[node] {
		in += f.Arrived(int(i ^ 1))
		out += w.ports[i].TxPackets()
	}
	return in, out
}

// PassedPort is passed of one port of a node; of a node without a link it is nothing.
func (w *Wiring) PassedPort(f *fabric.Fabric, node, port int) (in, out uint64) {
	if port >= len(w.leaving[node]) {
		return 0, 0
	}
	i := w.leaving[node][port]
	return f.Arrived(int(i ^ 1)), w.ports[i].TxPackets()
}

// name is a direction in words.
func (w *Wiring) name(direction int) string {
	d, n := w.Directions[direction], w.config.Network
	return fmt.Sprintf("port %d of %s", d.Port, n.Nodes[d.Node].Name)
}

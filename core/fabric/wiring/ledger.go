package wiring

import (
	"fmt"

	"weir/core/fabric"
	"weir/core/unit"
)

// CheckConservation verifies that no packet was lost or appeared without a cause. Each link must have taken what its
// port sent. In each switch, the packets that arrived or were made must equal the packets that were sent, ended
// (dropped with a reason, consumed) or are held. The error names the first violation. The network must have run
// all events before one time, and no event after it.
func (w *Wiring) CheckConservation(f *fabric.Fabric) error {
	for i, p := range w.ports {
		if p == nil {
			continue
		}
		if sent, took := p.TxPackets(), f.LinkCounters(i).Sent; sent != took {
			return fmt.Errorf("%s sent %d packets and its link took %d", w.directionName(i), sent, took)
		}
		if p.Packets() == 0 && p.Bytes() != 0 {
			return fmt.Errorf("%s counts %d bytes, and no packet waits there", w.directionName(i), p.Bytes())
		}
	}
	for node, sw := range w.Switches {
		if sw == nil {
			continue
		}
		in, out := w.countPassed(f, node)
		l := sw.Ledger()
		if in+l.Made != out+l.Ended+l.Held {
			return fmt.Errorf("switch %s: %d packets came in and %d were made, but %d went out, %d ended and %d are held",
				sw.Name(), in, l.Made, out, l.Ended, l.Held)
		}
		bytes := unit.Bytes(0)
		for _, i := range w.leaving[node] {
			bytes += w.ports[i].Bytes()
		}
		if bytes != sw.BufferedBytes() {
			return fmt.Errorf("switch %s: %d bytes wait at its ports, and its buffer counts %d", sw.Name(), bytes,
				sw.BufferedBytes())
		}
	}
	return nil
}

// countPassed returns the number of packets that arrived at a node over its links, and the number that its ports have
// sent. A packet that a link has lost was sent, but has not arrived.
func (w *Wiring) countPassed(f *fabric.Fabric, node int) (in, out uint64) {
	for _, i := range w.leaving[node] {
		in += f.CountArrived(int(i ^ 1))
		out += w.ports[i].TxPackets()
	}
	return in, out
}

// PassedPort is countPassed for one port of a node. Both are 0 for a port without a link.
func (w *Wiring) PassedPort(f *fabric.Fabric, node, port int) (in, out uint64) {
	if port >= len(w.leaving[node]) {
		return 0, 0
	}
	i := w.leaving[node][port]
	return f.CountArrived(int(i ^ 1)), w.ports[i].TxPackets()
}

// directionName returns a description of a direction for errors.
func (w *Wiring) directionName(direction int) string {
	d, n := w.Directions[direction], w.config.Network
	return fmt.Sprintf("port %d of %s", d.Port, n.Nodes[d.Node].Name)
}

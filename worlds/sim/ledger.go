package sim

import (
	"fmt"

	"weir/core/outcome"
)

// checkConservation checks that every packet was delivered, was dropped with a reason, or is in the network, at each
// node and in total. The error names the place where a packet is missing or extra; a failure of a host precedes. All
// nodes must have reached the same time.
func (r *Simulation) checkConservation() error {
	if err := r.firstFailure(); err != nil {
		return err
	}
	if err := r.wiring.CheckConservation(r.fabric); err != nil {
		return err
	}
	there := r.fabric.InFlight()
	for nic, h := range r.hosts {
		if h == nil {
			if nic < len(r.switches) && r.switches[nic] != nil {
				l := r.switches[nic].Ledger()
				there += int(l.Held)
			}
			continue
		}
		node := int(h.node)
		if h.late > 0 {
			return fmt.Errorf("host %s: %d packets arrived for flows that had ended",
				r.config.Wiring.Network.Nodes[node].Name,
				h.late)
		}
		held := uint64(h.port.Packets()) + uint64(len(h.kept))
		there += int(held)
		in, out := r.wiring.PassedPort(r.fabric, node, int(h.portID))
		if in+h.made != out+h.ended+held {
			return fmt.Errorf("host %s: %d packets arrived and %d were created, but %d were sent, %d were consumed and %d "+
				"are held",
				r.config.Wiring.Network.Nodes[node].Name, in, h.made, out, h.ended, held)
		}
	}
	if live := r.livePackets(); live != there {
		return fmt.Errorf("%d packets are in use, but %d of them are on links, in queues or held by hosts", live, there)
	}
	return nil
}

// livePackets returns the number of packets in use.
func (r *Simulation) livePackets() (n int) {
	for _, t := range r.threads {
		n += t.pool.LiveCount()
	}
	return n
}

// runAudit checks conservation. On a violation it records the error as the end of the run, and returns false.
func (d *drive) runAudit() bool {
	if err := d.checkConservation(); err != nil {
		d.reason, d.violation = outcome.Violated, err.Error()
		return false
	}
	return true
}

// audits is the number of packet-hops for each node and link between two audits. With it the cost of an audit is
// negligible.
const audits = 100

// auditDue reports whether enough packet-hops have happened since the last audit, and if so sets the next audit.
func (d *drive) auditDue() bool {
	if d.fabric.CountHops() < d.nextAudit {
		return false
	}
	d.nextAudit = d.fabric.CountHops() + audits*uint64(len(d.linkOf)+len(d.hosts))
	return true
}

package run

import (
	"fmt"
	"strings"

	"weir/core/outcome"
	"weir/internal/text"
	"weir/study/experiment"
)

// maxStrays limits the flows that a run's violation names.
const maxStrays = 5

// describeViolation describes where packets are missing or too many, or names the flows with packets that arrived at a
// NIC where no endpoint expects them. It is "" if all is well.
func describeViolation(p *experiment.Point, res *outcome.Result) string {
	if len(res.Strays) == 0 {
		return res.Violation
	}
	var b strings.Builder
	for i := range res.Strays[:min(len(res.Strays), maxStrays)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(strayText(p, &res.Strays[i]))
	}
	if n := len(res.Strays) - maxStrays; n > 0 {
		fmt.Fprintf(&b, "; and %d more", n)
	}
	return b.String()
}

// strayText names a flow, the NIC where its packets arrived and the NIC of its receiver.
func strayText(p *experiment.Point, s *outcome.Stray) string {
	x, nodes := p.Routes().NICs(), p.Network().Nodes
	host := func(nic int) string { return nodes[x.HostOf(nic)].Name }
	nic := func(nic int) string {
		port := p.Routes().Ports(x.HostOf(nic))[x.PortOf(nic)]
		return fmt.Sprintf("NIC %d of %s (%s)", x.PortOf(nic), host(nic), p.Network().PortName(port.Link, port.End))
	}
	of := fmt.Sprintf("flow %d of traffic %s", s.Flow, p.Entry(s.Group).Name())
	if s.Flow < 0 {
		of = fmt.Sprintf("a message of job %s from rank %d to rank %d", p.Entry(s.Group).Name(), s.From, s.To)
	}
	return fmt.Sprintf("%s, %s → %s: %s arrived at %s, where no endpoint expects them, and its receiver at %s got none",
		of, host(s.Src), host(s.Dst), text.Count(int(s.Packets), "packet"), nic(s.NIC), nic(s.Dst))
}

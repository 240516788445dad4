package transport

import (
	"weir/core/cc"
	"weir/core/cc/supply"
	"weir/core/scheme"
	"weir/core/unit"
)

// Responses of a sender to NACKs of the network (packet.Notification): values of the parameter nacks.
const (
	NacksIgnored = "ignore" // no response, like a host that does not know NACKs
	NacksResend  = "resend" // it resends what is lost and notifies the controller, which decides itself
	NacksLoss    = "loss"   // like NacksResend, and the controller reduces as for a loss, once a round trip
	NacksSupply  = "supply" // like NacksResend, and window and rate follow the switch's offer (cc/supply)
)

// BindNacks binds the parameter nacks to the variable choice. Every transport that knows NACKs of the network calls
// it.
func BindNacks(p *scheme.Params, choice *string) {
	p.Text(choice, "nacks", NacksLoss,
		"response to NACKs of switches; loss: reduce as for a loss; supply: follow the offered rate; resend: only "+
			"retransmit; ignore: no response",
		"BS'19 §4.3, §5; Weir: the responses").Words(NacksLoss, NacksSupply, NacksResend, NacksIgnored)
}

// WrapNacks returns the controller with which flow f responds to NACKs: with NacksSupply c limited by the switches'
// offers, otherwise c. With NacksSupply a transport calls OnNotice for every NACK that it accepts, and never OnLoss.
func WrapNacks(nacks string, c cc.Controller, f cc.Flow) (cc.Controller, error) {
	if nacks != NacksSupply {
		return c, nil
	}
	return supply.NewBounded(c, f)
}

// NackGate lets a flow reduce at most once a round trip, for any number of NACKs. BS'19 leaves this open. RFC 5681 §3.1
// has one reduction a window of data, but a switch notifies in less than a round trip. The gate also bounds what a
// forged NACK for a packet in flight can do.
type NackGate struct {
	last unit.Time
	shut bool
}

// AllowReduction reports whether a NACK that arrives now, of a packet sent at the time sent, reduces. It records the
// reduction if so. rtt is the round-trip time, or an estimate; 0: unknown, and then only the first NACK reduces. A
// packet sent before the last reduction does not reduce again: a smoothed round-trip time lags behind a queue that has
// just filled.
func (g *NackGate) AllowReduction(now, sent, rtt unit.Time) bool {
	if g.shut && (rtt <= 0 || now-g.last < rtt || sent < g.last) {
		return false
	}
	g.RecordReduction(now)
	return true
}

// RecordReduction records a reduction at now that has another cause.
func (g *NackGate) RecordReduction(now unit.Time) { g.last, g.shut = now, true }

// LastReduction returns the time of the latest reduction; 0: there was no reduction.
func (g *NackGate) LastReduction() unit.Time { return g.last }

// Reopen withdraws the latest reduction: the controller was notified and did not reduce.
func (g *NackGate) Reopen() { g.shut = false }

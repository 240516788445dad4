package transport

import (
	"weir/core/cc"
	"weir/core/cc/supply"
	"weir/core/scheme"
	"weir/core/unit"
)

// What a sender does about NACKs of the network (packet.Notification): values of the parameter nacks.
const (
	NacksIgnored = "ignore" // nothing: a host that does not know them
	NacksResend  = "resend" // it sends again what is gone; the controller is told, and decides itself
	NacksLoss    = "loss"   // and the controller reduces as for a loss, once a round trip
	NacksSupply  = "supply" // and window and rate follow what the switch offers (cc/supply)
)

// BindNacks binds what a sender does about NACKs of the network, for every transport that
// knows them.
func BindNacks(p *scheme.Params, to *string) {
	p.Text(to, "nacks", NacksLoss,
		"NACKs of switches: reduce as for a loss; follow the rate that they offer; only send again; ignore them",
		"BS'19 §4.3, §5; ours: the reactions").Words(NacksLoss, NacksSupply, NacksResend, NacksIgnored)
}

// WrapNacks is the controller of flow f as NACKs want it: beneath what they offer with
// NacksSupply, otherwise c itself. With NacksSupply a transport calls OnNotice for every NACK that it
// accepts, and OnLoss for none.
func WrapNacks(nacks string, c cc.Controller, f cc.Flow) (cc.Controller, error) {
	if nacks != NacksSupply {
		return c, nil
	}
	return supply.Wrap(c, f)
}

// NackGate lets a flow reduce at most once a round trip, however many NACKs come (BS'19
// leaves it open; RFC 5681 §3.1 has one reduction a window of data, but a switch tells in
// less than a round trip). What a forged NACK for a packet in flight can do is bounded by it.
type NackGate struct {
	last unit.Time
	shut bool
}

// Reduce reports whether a NACK that has come now, of a packet that was sent then, reduces,
// and takes note of it if so. rtt is the round-trip time, or an estimate; 0: not known, and
// then only the first one does. What was sent before the last reduction says nothing new: a
// smoothed round-trip time is behind a queue that has just filled.
func (g *NackGate) Reduce(now, sent, rtt unit.Time) bool {
	if g.shut && (rtt <= 0 || now-g.last < rtt || sent < g.last) {
		return false
	}
	g.Note(now)
	return true
}

// Note takes note of a reduction at now that has another reason.
func (g *NackGate) Note(now unit.Time) { g.last, g.shut = now, true }

// Last returns when the latest reduction was; 0: there was none.
func (g *NackGate) Last() unit.Time { return g.last }

// Reopen takes the latest reduction back: the controller was notified, and did not reduce.
func (g *NackGate) Reopen() { g.shut = false }

package ncf

import (
	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/unit"
)

// notifyEarly sends a NACK to a sending elephant while packets of elephants use the given share of the port's memory.
// It reports whether it did. Only elephants use that share, so mice cause no notice, and no budget applies. Elephants
// below their offer are notified, too. A rate over n·d, as in tell: above_share, or a present rate would notify an
// elephant in slow start too late (experiments/spikes.yaml).
func (g *Program) notifyEarly(env *dataplane.Env, x *port, o *Origin) bool {
	if g.config.EarlyShare == 0 || x.memory == nil {
		return false
	}
	m := x.ownMemory()
	return float64(m.Used(Elephants)) >= g.config.EarlyShare*float64(m.Size()) && g.notifyElephant(env, x, o)
}

// checkEarly appends to all a warning if early is given and has no effect at port p: it is for elephants with a queue
// of their own.
func (o *Options) checkEarly(all []scheme.Remark, s *dataplane.SwitchContext, p *dataplane.Peer) []scheme.Remark {
	switch {
	case o.EarlyShare <= 0:
	case o.Nack == NackNone:
		all = append(all, warnEarlyIdle.NewRemark("early", "it has no effect, since with nack: none no sender is notified"))
	case s.Queues < 3:
		all = append(all, warnEarlyIdle.NewRemark("early",
			"it has no effect, since with %d queues elephants have no queue of their own; use queues: 3", max(s.Queues, 1)))
	case float64(p.Senders)*o.Detector.Threshold >= 1:
		all = append(all, warnEarlyIdle.NewRemark("early", "it notifies elephants only, but an equal share of the %d flows "+
			"to %s is not above the threshold of %s, so they are mice while all send", p.Senders, p.To,
			unit.FormatShare(o.Detector.Threshold)))
	default:
		all = o.warnOfWait(all, s, p)
	}
	return all
}

// warnOfWait appends to all a warning of elephants that early does not notify for a long time. While packets of an
// elephant wait in the mice's queue, the elephant stays there for change_wait, and early counts only the elephants'
// queue.
func (o *Options) warnOfWait(all []scheme.Remark, s *dataplane.SwitchContext, p *dataplane.Peer) []scheme.Remark {
	d, _ := o.windowAt(s, p)
	nd := unit.Time(o.Sketch.Windows) * d
	if !o.ChangesByFlowlet || o.MaxChangeDelay <= nd { // a wait of 0s is d
		return all
	}
	return append(all, warnEarlyWait.NewRemark("change_wait", "an elephant that does not pause stays in the mice's queue "+
		"for %v, but early counts only the elephants' queue, so its sender is not notified in that time; use change: "+
		"at_once or at most n·d, %v", o.MaxChangeDelay.RoundRough(), nd.RoundRough()).WithPort(p.PortName(),
		float64(o.MaxChangeDelay)/float64(nd)))
}

// checkUnresponsive appends to all a warning if no elephant can be found unresponsive, so no elephant is trimmed first.
// For that it must be notified in two windows within n, with a whole one between, and its traffic be known in bytes.
func (o *Options) checkUnresponsive(all []scheme.Remark) []scheme.Remark {
	n, d := o.Sketch.Windows, o.Sketch.Duration
	if d == 0 && !o.derivesDuration() {
		d = defaultDuration
	}
	const nothing = "deaf: first has no effect: "
	switch {
	case o.TrimsAlike || o.Nack == NackNone || o.Top == 0 && o.EarlyShare == 0:
	case o.Sketch.Packets:
		all = append(all, warnUnresponsive.NewRemark("count", nothing+"the bytes of elephants are unknown"))
	case n < 2:
		all = append(all, warnUnresponsive.NewRemark("windows",
			nothing+"detecting whether an elephant continues needs a whole window between two notices, within n windows, but "+
				"n is 1"))
	case d > 0 && o.NoticeInterval > unit.Time(n)*d:
		all = append(all, warnUnresponsive.NewRemark("every", nothing+
			"an elephant is notified every %v, but a notice is forgotten after n·d, %v", o.NoticeInterval.RoundRough(),
			(unit.Time(n)*d).RoundRough()))
	}
	return all
}

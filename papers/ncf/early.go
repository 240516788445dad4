package ncf

import (
	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/unit"
)

// suitsEarly tells where early decides nothing: it is for elephants, whose queue is their own.
func (o *Options) suitsEarly(all []scheme.Remark, s *dataplane.Setting, p *dataplane.Facing) []scheme.Remark {
	switch {
	case o.Early <= 0:
	case o.Nack == NackNone:
		all = append(all, dataplane.Remark("early", "it decides nothing: with nack: none no sender is told"))
	case s.Queues < 3:
		all = append(all, dataplane.Remark("early", "it decides nothing: with %d queues elephants have none of their own, "+
			"and queues: 3 is needed", max(s.Queues, 1)))
	case float64(p.Senders)*o.Detector.Threshold >= 1:
		all = append(all, dataplane.Remark("early", "it tells elephants only: an equal share of the %d flows to %s is not "+
			"above the threshold of %s, so while all send they are mice", p.Senders, p.To,
			unit.FormatShare(o.Detector.Threshold)))
	}
	return all
}

package p4abc

import (
	"weir/core/dataplane"
	"weir/core/unit"
)

// Average is UTEMA, the unbiased time-dependent exponential moving average of
// §3.3 (ICPE'17, equations (18)–(20)): S/N with both weighted by exp(−age/M).
type Average struct {
	sum, count float64   // S, N, as of last
	last       unit.Time `state:"instant"`
}

// Update adds a sample.
func (a *Average) Update(now unit.Time, x float64, memory unit.Time) {
	d := decay(now-a.last, memory)
	a.sum = float64(a.sum*d) + x
	a.count = float64(a.count*d) + 1
	a.last = now
}

// Value returns S/N, 0 where there were no samples. It does not change between
// samples: both decay alike.
func (a *Average) Value() float64 {
	if a.count <= 0 {
		return 0
	}
	return a.sum / a.count
}

// Threshold is equation (2): T_drop(A) = max(Q_min, Q_base − γ·(A − A_avg)). A
// packet is dropped if the queue is longer.
func Threshold(activity, average, qMin, qBase, gamma float64) float64 {
	return max(qMin, qBase-float64(gamma*(activity-average)))
}

// activityAQM is that of an egress port.
type activityAQM struct {
	thresholds
	average  Average
	register int64 // queue length as the prototype's ingress sees it
}

// thresholds are equation (2)'s, in packets or in bytes.
type thresholds struct{ qMin, qBase, gamma float64 }

// of returns T_drop of an activity.
func (t *thresholds) of(activity, average float64) float64 {
	return Threshold(activity, average, t.qMin, t.qBase, t.gamma)
}

// newAQMs makes one for each port of a site.
func newAQMs(c *Config, site *dataplane.Site) []activityAQM {
	frame := unit.Bytes(site.MaxFrame)
	if frame == 0 {
		frame = paperFrame
	}
	all := make([]activityAQM, site.Ports)
	for i := range all {
		var rate unit.Rate
		if i < len(site.Lines) {
			rate = site.Lines[i].Rate.Bits
		}
		all[i].thresholds = c.thresholds(rate, frame)
	}
	return all
}

// queue is Q in the thresholds' unit: the packets that wait, without the one on the wire.
func (a *Program) queue(env *dataplane.Env, out dataplane.PortID) int64 {
	switch {
	case a.config.Register:
		return a.aqms[out].register
	case a.inBytes:
		return int64(env.Port(out).Bytes())
	}
	return int64(env.Port(out).Packets())
}

package ncf

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Form is the way in which F (BS'19 §4.1) judges a flow by the windows of a sketch.
type Form uint8

// Forms of F: the text's, and the others of its footnote 1.
const (
	Average      Form = iota // the sums of all windows: Σ c_j > threshold · Σ T_j
	MeanOfShares             // the mean of c_j/T_j over the windows: a quiet window weighs as much as a busy one (Weir's)
	AnyWindow                // one window is enough
	AllWindows               // every window
	FormCount                // number of forms
)

var formNames = [FormCount]string{"average", "mean_of_shares", "any", "all"}

// String returns the form's name in specs, such as "mean_of_shares"; "unknown" for FormCount and above.
func (f Form) String() string {
	if f < FormCount {
		return formNames[f]
	}
	return "unknown"
}

// Detector is F: it decides whether a flow is an elephant by its share of the traffic.
//
// The paper does not define how the current, partial window counts. Here it counts as follows:
//   - Average: unchanged, in the sums of flow and total alike, so it weighs by its traffic; the judged period is the
//     last (n − 1)·d to n·d.
//   - MeanOfShares: by its elapsed part, Elapsed/Duration of a whole window. Otherwise the first packet of a window,
//     which has all of its traffic, would count as 1/n of everything.
//   - AnyWindow: like the others, once its total reaches MinWindowTotal.
//   - AllWindows: once its total reaches MinWindowTotal; before, it is left out, unless n = 1.
//
// In a whole window whose total is below MinWindowTotal, or 0, no flow exceeds the threshold: its share counts as 0
// with MeanOfShares, and with AllWindows there is no elephant until that window has expired. Average does
// not use MinWindowTotal. A share equal to the threshold does not exceed it: with 100 % there are no elephants.
type Detector struct {
	Form       Form
	Threshold  float64 // in (0, 1]: an elephant has more than this share; 5 % in the paper
	MinTraffic uint64  // an elephant has at least this in all windows together; 0: no such bound
	// MinWindowTotal is the minimum total of a window for AnyWindow, AllWindows and MeanOfShares to judge it: one frame
	// over the threshold, so that a single frame does not exceed it.
	MinWindowTotal uint64
}

// IsElephant reports whether a flow with this estimate is an elephant.
func (d *Detector) IsElephant(c *FlowEstimate) bool {
	flow, total := c.Sum()
	if flow < d.MinTraffic || flow == 0 {
		return false
	}
	switch d.Form {
	case Average:
		return float64(flow) > d.Threshold*float64(total)
	case MeanOfShares:
		sum, windows := 0.0, 0.0
		for j := range c.Windows {
			weight := 1.0
			if j == 0 && c.Duration > 0 {
				weight = float64(c.Elapsed) / float64(c.Duration)
			}
			windows += weight
			if c.Total[j] > 0 && c.Total[j] >= d.MinWindowTotal {
				sum += float64(weight * (float64(c.Flow[j]) / float64(c.Total[j])))
			}
		}
		return sum > d.Threshold*windows
	case AnyWindow:
		for j := range c.Windows {
			if c.Total[j] >= d.MinWindowTotal && d.exceeds(c, j) {
				return true
			}
		}
		return false
	default:
		for j := range c.Windows {
			if j == 0 && c.Total[0] < max(d.MinWindowTotal, 1) && c.Windows > 1 {
				continue
			}
			if c.Total[j] < d.MinWindowTotal || !d.exceeds(c, j) {
				return false
			}
		}
		return true
	}
}

// exceeds reports whether the flow's share of window j is above the threshold.
func (d *Detector) exceeds(c *FlowEstimate, j int) bool {
	return float64(c.Flow[j]) > d.Threshold*float64(c.Total[j])
}

// isElephant reports whether the flow of p, which goes to port x, is an elephant. key is the flow's, and c must be the
// result of the last call of the port's sketch, which keeps it. F judges twice: by all arrivals, and by what the port
// can send of them. By arrivals alone, a flood of several times the port's rate would make mice of all other flows,
// even of one with half of the port, since the attacker chooses the total. Two further rules apply in a flood
// (crowdRate).
func (g *Program) isElephant(env *dataplane.Env, x *port, key uint64, p *packet.Packet, c *FlowEstimate) bool {
	if g.detector.IsElephant(c) {
		return true
	}
	d := g.detector
	crowded := g.canRespond(p) && g.miceExceed(env, x, crowdRate)
	if crowded {
		d.Threshold *= crowdThreshold
	}
	// F grows with the flow's counts, which still include its losses here.
	if sent := g.limitToForwarded(env, x, c); sent != nil && d.IsElephant(sent) {
		x.sketch.ForwardedFlow(sent)
		if d.IsElephant(sent) {
			return true
		}
	}
	return crowded && slices.Contains(x.top.keys, key)
}

// Elephants in a flood. While arrivals of mice exceed half of the port's capacity, the scheduler decides an elephant's
// rate, and the elephant sends what its NACKs offer. By F alone, an elephant that reduces would become a mouse in the
// flood's queue, where nearly all its packets are dropped, and would not recover. So until mice arrive at less, the
// heaviest flows stay elephants as long as they send, also those that were mice before the flood, and a part of the
// threshold makes an elephant. Flows that do not respond are trimmed (unresponsive.go). Datagrams without NACKs are
// judged by F alone. The paper has no such rule.
const (
	crowdRate      = 0.5    // of what the port can send in n·d
	crowdThreshold = 1. / 2 // of the threshold
)

// canRespond reports whether the flow of p can respond to NACKs.
func (g *Program) canRespond(p *packet.Packet) bool {
	return p.Proto != packet.ProtoUDP || g.config.UDP
}

// limitToForwarded returns c with totals of the traffic that the port did not drop, limited to what it can send in the
// time of the windows, since the rest waits. It returns nil if that is all that arrived. c must be the result of the
// last call of the port's sketch. The sketch reuses the result at the next call.
func (g *Program) limitToForwarded(env *dataplane.Env, x *port, c *FlowEstimate) *FlowEstimate {
	sent := x.sketch.ForwardedTotals(c)
	_, total := c.Sum()
	if sent != nil {
		_, total = sent.Sum()
	}
	most := g.capacity(env, x) * float64(coveredTime(env.Now(), c.Windows, c.Duration))
	if g.config.Sketch.Packets {
		most /= defaultFrame
	}
	if most == 0 || float64(total) <= most {
		return sent
	}
	if sent == nil {
		sent = x.sketch.copyEstimate(c)
	}
	for j := range sent.Windows {
		sent.Total[j] = uint64(float64(sent.Total[j]) * (most / float64(total)))
	}
	return sent
}

// capacity returns the bytes per ps that the port, or with sketch: switch all ports together, can send; 0 if unknown.
func (g *Program) capacity(env *dataplane.Env, x *port) (bytes float64) {
	first, last := int(x.out), int(x.out)
	if g.config.Scope == PerSwitch {
		first, last = 0, env.Ports()-1
	}
	for i := first; i <= last && i < env.Ports(); i++ {
		bytes += bytesPerPs(env.Port(packet.PortID(i)).Rate())
	}
	return bytes
}

// miceExceed reports whether arrivals of mice in n·d exceed this share of what the port can send in it.
func (g *Program) miceExceed(env *dataplane.Env, x *port, share float64) bool {
	if int(x.out) >= env.Ports() {
		return false
	}
	whole := bytesPerPs(env.Port(x.out).Rate()) * float64(x.history())
	return float64(x.mice.sum(env.Now())) > share*whole
}

// bytesPerPs returns a rate in bytes per ps, with frames of defaultFrame for a rate in packets.
func bytesPerPs(rate unit.LinkRate) float64 {
	return float64(float64(rate.Bits)/8e12) + float64(float64(rate.Packets)*(defaultFrame/1e12))
}

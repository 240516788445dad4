package ncf

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Form is how F (BS'19 §4.1) judges a flow by the windows of a sketch.
type Form uint8

// Forms of F: the text's, and those of its footnote 1.
const (
	Average      Form = iota // the sums of all windows: Σ c_j > threshold · Σ T_j
	MeanOfShares             // the mean of c_j/T_j over the windows: a quiet window weighs as much as a busy one (ours)
	AnyWindow                // one window is enough
	AllWindows               // every window
	Forms                    // how many there are
)

var formNames = [Forms]string{"average", "mean_of_shares", "any", "all"}

// String returns the form as experiments name it, such as "mean_of_shares"; "unknown" for Forms and above.
func (f Form) String() string {
	if f < Forms {
		return formNames[f]
	}
	return "unknown"
}

// Detector is F: it decides whether a flow is an elephant.
//
// The paper does not say how the current, partial window counts. We count it so:
//   - Average: as it is, in the sums of flow and total alike, so that it weighs by its traffic; the period
//     judged is the last (n − 1)·d to n·d.
//   - MeanOfShares: by the part of it that has passed, Elapsed/Duration of a whole window. Otherwise the
//     first packet of a window, which has all of its traffic, would count as 1/n of everything.
//   - AnyWindow: like the others, once its total reaches Floor.
//   - AllWindows: once its total reaches Floor; it is left out before, unless n = 1.
//
// In a whole window whose total is below Floor, or 0, no flow exceeds the threshold: its share counts as 0
// with MeanOfShares, and with AllWindows there is no elephant until that window has expired. Average does
// not use Floor. A share equal to the threshold does not exceed it: with 100 % there are no elephants.
type Detector struct {
	Form      Form
	Threshold float64 // in (0, 1]: a flow with more than this share is an elephant; 5 % in the paper
	Least     uint64  // and at least so much in all windows together; 0: no such bound
	// least total of a window for AnyWindow, AllWindows and MeanOfShares to judge it: one frame over the
	// threshold, so that a single frame does not exceed it
	Floor uint64
}

// Elephant judges a flow.
func (d *Detector) Elephant(c *FlowEstimate) bool {
	flow, total := c.Sum()
	if flow < d.Least || flow == 0 {
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
			if c.Total[j] > 0 && c.Total[j] >= d.Floor {
				sum += float64(weight * (float64(c.Flow[j]) / float64(c.Total[j])))
			}
		}
		return sum > d.Threshold*windows
	case AnyWindow:
		for j := range c.Windows {
			if c.Total[j] >= d.Floor && d.exceeds(c, j) {
				return true
			}
		}
		return false
	default:
		for j := range c.Windows {
			if j == 0 && c.Total[0] < max(d.Floor, 1) && c.Windows > 1 {
				continue
			}
			if c.Total[j] < d.Floor || !d.exceeds(c, j) {
				return false
			}
		}
		return true
	}
}

func (d *Detector) exceeds(c *FlowEstimate, j int) bool {
	return float64(c.Flow[j]) > d.Threshold*float64(c.Total[j])
}

// isElephant decides whether the flow of p, which goes to port x, is an elephant. Of c, the result of the last call of
// the port's sketch, F is asked twice: of all that arrived, and of what the port can send of it. By arrivals alone, a
// flood of several times the port's rate makes mice of all other flows, also of one with half of the port: the
// attacker chooses the total.
func (g *Program) isElephant(env *dataplane.Env, x *port, key uint64, p *packet.Packet, c *FlowEstimate) bool {
	if g.detector.Elephant(c) {
		return true
	}
	d := g.detector
	crowded := g.canRespond(p) && g.miceExceed(env, x, crowdRate)
	if crowded {
		d.Threshold *= crowdThreshold
	}
	// F grows with the flow's counts: they have its losses first.
	if sent := g.forwarded(env, x, c); sent != nil && d.Elephant(sent) {
		x.sketch.ForwardedFlow(sent)
		if d.Elephant(sent) {
			return true
		}
	}
	return crowded && slices.Contains(x.top.keys, key)
}

// Elephants in a flood. While mice bring more than half of what the port can send, the scheduler decides what an
// elephant gets, and the elephant sends what its NACKs offer. By F alone, an elephant that gives way would share the
// mice's queue, in which nearly all its packets are dropped, and would not return. So until mice bring less, the
// heaviest flows are elephants as long as they send, also those that F called mice before the flood, and a part of the
// threshold makes an elephant. Flows that do not respond are trimmed (unresponsive.go). Datagrams, about which no NACK
// is sent, are what F calls them. The paper has no such rule.
const (
	crowdRate      = 0.5    // of what the port can send in n·d
	crowdThreshold = 1. / 2 // of the threshold
)

// canRespond reports whether the flow of p can respond to NACKs.
func (g *Program) canRespond(p *packet.Packet) bool {
	return p.Proto != packet.ProtoUDP || g.config.UDP
}

// forwarded returns c with totals of what the port did not drop, but no more than it can send in the time of the
// windows, since the rest waits. It returns nil if that is all that arrived.
func (g *Program) forwarded(env *dataplane.Env, x *port, c *FlowEstimate) *FlowEstimate {
	sent := x.sketch.ForwardedTotals(c)
	_, total := c.Sum()
	if sent != nil {
		_, total = sent.Sum()
	}
	most := g.capacity(env, x) * float64(span(env.Now(), c.Windows, c.Duration))
	if g.config.Sketch.Packets {
		most /= defaultFrame
	}
	if most == 0 || float64(total) <= most {
		return sent
	}
	if sent == nil {
		sent = x.sketch.copied(c)
	}
	for j := range sent.Windows {
		sent.Total[j] = uint64(float64(sent.Total[j]) * (most / float64(total)))
	}
	return sent
}

// capacity is how many bytes the port, or with sketch: switch all ports, can send in 1 ps; 0: not known.
func (g *Program) capacity(env *dataplane.Env, x *port) (bytes float64) {
	first, last := int(x.out), int(x.out)
	if g.config.Scope == PerSwitch {
		first, last = 0, env.Ports()-1
	}
	for i := first; i <= last && i < env.Ports(); i++ {
		bytes += bytesOf(env.Port(packet.PortID(i)).Rate())
	}
	return bytes
}

// miceExceed reports whether mice bring more to a port in n·d than this share of what it can send.
func (g *Program) miceExceed(env *dataplane.Env, x *port, share float64) bool {
	if int(x.out) >= env.Ports() {
		return false
	}
	whole := bytesOf(env.Port(x.out).Rate()) * float64(x.history())
	return float64(x.mice.sum(env.Now())) > share*whole
}

// bytesOf is a rate in bytes per ps.
func bytesOf(rate unit.LinkRate) float64 {
	return float64(float64(rate.Bits)/8e12) + float64(float64(rate.Packets)*(defaultFrame/1e12))
}

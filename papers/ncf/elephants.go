package ncf

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
func (d *Detector) Elephant(c *Counts) bool {
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

func (d *Detector) exceeds(c *Counts, j int) bool {
	return float64(c.Flow[j]) > d.Threshold*float64(c.Total[j])
}

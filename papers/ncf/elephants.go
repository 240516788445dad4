package ncf

import "fmt"

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

// Detector is F: it says of a flow whether it is an elephant.
//
// How the current window counts, which is partial, is ours, for the paper does not say:
//
//   - Average: as it is, in the flow's sum as in the total, so that it weighs by its traffic;
//     judged are the last (n − 1)·d to n·d.
//   - MeanOfShares: by how much of it is over, Elapsed/Duration of a whole window; else the first
//     packet of a window, which has all of its traffic, would be 1/n of everything.
//   - AnyWindow: as any other, once its total is Floor.
//   - AllWindows: once its total is Floor; before, it is left out, but for n = 1.
//
// A whole window whose total is below Floor, or 0, is one in which no flow exceeds the
// threshold: its share there is 0 with MeanOfShares, and with AllWindows there is no
// elephant until it has left. Average does not read Floor. A share of exactly the
// threshold is not more than it: with 100 % there are no elephants.
type Detector struct {
	Form      Form
	Threshold float64 // in (0, 1]: a flow with more than this share is an elephant; 5 % in the paper
	Least     uint64  // and only with so much in all windows together; 0: no such bound
	// least total of a window that AnyWindow, AllWindows and MeanOfShares judge; a frame divided by
	// the threshold, so that one frame alone does not exceed it
	Floor uint64
}

// Check tells what of a detector cannot be.
func (d *Detector) Check() error {
	if !(d.Threshold > 0 && d.Threshold <= 1) {
		return fmt.Errorf("threshold %.4g%%; above 0, at most 100%% is possible", 100*d.Threshold)
	}
	if d.Form >= Forms {
		return fmt.Errorf("elephants by form %d; 0 … %d are possible", d.Form, Forms-1)
	}
	return nil
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

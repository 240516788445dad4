package claim

// Verdict is an experiment's result for a claim.
type Verdict string

// Verdicts. A claim is undecided if the 95 % interval over seeds crosses the bound, if it has no runs, or if the
// machine disturbed a run of the lab that decides it.
const (
	Holds     Verdict = "holds"
	Fails     Verdict = "fails"
	Undecided Verdict = "undecided"
)

// Claim is a claim of a paper with its verdict.
type Claim struct {
	ID       string  `json:"id"`
	Says     string  `json:"says"`
	Paper    string  `json:"paper"`
	Measured string  `json:"measured"` // the deciding point with its numbers
	Verdict  Verdict `json:"verdict"`
	N        int     `json:"n"` // number of runs that the verdict is based on
}

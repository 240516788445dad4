package claim

// Verdict is what an experiment says about a claim.
type Verdict string

// Verdicts. Undecided: the 95 % interval over seeds crosses the bound, no run bears on the claim, or the machine
// disturbed a run of the lab on which the verdict rests.
const (
	Holds     Verdict = "holds"
	Fails     Verdict = "fails"
	Undecided Verdict = "undecided"
)

// Claim is a claim of the paper with its verdict.
type Claim struct {
	ID       string  `json:"id"`
	Says     string  `json:"says"`
	Paper    string  `json:"paper"`
	Measured string  `json:"measured"` // the point that decides, with its numbers
	Verdict  Verdict `json:"verdict"`
	N        int     `json:"n"` // runs that it rests on
}

package experiment

// Run is one finished run as runs/<id>.json keeps it and --json prints it.
// Numbers are in base units with the unit in the measure's name (goodput_bps).
type Run struct {
	ID         string             `json:"id"`
	Seed       uint64             `json:"seed"`
	Point      []Coordinate       `json:"-"` // in JSON an object in the sweep's order
	End        End                `json:"end"`
	Measures   []Measured         `json:"-"` // in JSON an object in the spec's order
	Unfinished []UnfinishedFlow   `json:"unfinished,omitempty"`
	Drops      []Count            `json:"-"` // by reason; in JSON an object
	Series     []Series           `json:"series,omitempty"`
	Engine     map[string]float64 `json:"engine,omitempty"` // events, packet_hops: deterministic figures of the loop
}

// Coordinate is one sweep key's value at a point: the text that the spec gives
// and, if it is a quantity, its value in base units.
type Coordinate struct {
	Key   string
	Text  string
	Value float64
	IsNum bool
}

// End is how a run ended.
type End struct {
	Reason string  `json:"reason"`
	TimeS  float64 `json:"time_s"`
}

// Measured is one measure's outcome in one run: a number, or a number a group
// (traffic, port). NaN is a value that is not defined (printed as a dash, null
// in JSON).
type Measured struct {
	Name   string // goodput_bps
	Value  float64
	Groups []Grouped // nil: Value holds
}

// Grouped is one group's number.
type Grouped struct {
	Group string
	Value float64
}

// UnfinishedFlow is a flow that had an end and did not reach it.
type UnfinishedFlow struct {
	Flow      int    `json:"flow"`
	Traffic   string `json:"traffic"`
	Src       string `json:"src"`
	Dst       string `json:"dst"`
	SizeBytes int64  `json:"size_bytes"`
	DoneBytes int64  `json:"done_bytes"`
}

// Count is a number of something by name.
type Count struct {
	Name  string
	Count uint64
}

// Series is a quantity over time: queue lengths.
type Series struct {
	Name   string    `json:"name"`  // queue_packets
	Group  string    `json:"group"` // s1->server
	StartS float64   `json:"start_s"`
	StepS  float64   `json:"step_s"`
	Values []float64 `json:"values"`
}

// Verdict is what an experiment says about a claim.
type Verdict string

// Verdicts. Undecided: the 95 % interval over seeds crosses the bound.
const (
	Holds     Verdict = "holds"
	Fails     Verdict = "fails"
	Undecided Verdict = "undecided"
)

// Claim is a claim of the paper with its verdict.
type Claim struct {
	ID       string  `json:"id"`
	Says     string  `json:"says"`
	Paper    string  `json:"paper"`    // "p4-abc, figure 4"
	Measured string  `json:"measured"` // the point nearest to (or furthest beyond) the bound, in words and numbers
	Verdict  Verdict `json:"verdict"`
	N        int     `json:"n"` // runs that it rests on
}

// Outcome is all that one invocation of an experiment gives: what tables, plots,
// JSON and the report are made of. Runs are in the order of the expansion
// (sweep keys vary slowest first, seeds fastest).
type Outcome struct {
	Name   string // p4abc/fig4
	World  string // sim
	Spec   *Spec  // resolved
	Runs   []Run
	Claims []Claim
	Failed []RunError // runs that could not be carried out
}

// RunError is a run that ended with an error.
type RunError struct {
	ID    string
	Point []Coordinate
	Seed  uint64
	Err   error
}

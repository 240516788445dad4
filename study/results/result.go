package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/internal/text"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// Format is the version of what a results folder has: runs.json and runs/<id>.json.
// It changes whenever an older weir could not read them, or a newer one would take
// them for something else.
const Format = 2

// formatError is a file of results in another format than Format.
type formatError struct{ format int }

func (e formatError) Error() string {
	if e.format == 0 {
		return fmt.Sprintf("it has no format: another version of weir wrote it; this one reads and writes format %d", Format)
	}
	return fmt.Sprintf("it has format %d, of another version of weir; this one reads and writes format %d",
		e.format, Format)
}

// Run is one finished run as runs/<id>.json keeps it. Numbers are in base units
// with the unit in the measure's JSON name (goodput_bps).
type Run struct {
	ID         string
	Seed       uint64
	Point      []measure.Coordinate
	End        End
	Drops      []Count // by reason, those above 0
	Unfinished []UnfinishedFlow
	Events     uint64 // of the event loop
	PacketHops uint64
	Attempts   []Attempt // of a run in the lab: what each says of the machine; the last one counts. nil: the simulator's
	measure.Values
	Ratios []measure.Measured // over those of reference points: made of all runs, and not in runs/<id>.json
	PFC    []PFCFrame         // only in runs/<id>.json
}

// PFCFrame is what a Pause or Resume frame did at the port that it reached, or a pause
// that ended by itself.
type PFCFrame struct {
	TimeNs int64 `json:"time_ns"`
	Node   int   `json:"node"`
	Port   int   `json:"port"` // of the node, from 0, in the order of links
	Class  int   `json:"class"`
	Paused bool  `json:"paused"`
}

// End is how a run ended.
type End struct {
	Reason string  `json:"reason"`
	TimeS  float64 `json:"time_s"`
	// Ports are those of a PFC deadlock, each of which waits for the next, and the last for
	// the first; or those with a queue that was not served.
	Ports []string `json:"ports,omitempty"`
	// WaitsFor says what the first unfinished flow was waiting for, unless all flows are done.
	WaitsFor string `json:"waits_for,omitempty"`
	// Iterations says which of a job's were taken from another one, as the network's state recurred; nil: there are none.
	Iterations *Iterations `json:"iterations,omitempty"`
	// Aligned are the jobs with iterations that begin at multiples of a period.
	Aligned []Aligned `json:"aligned,omitempty"`
	// Network is the ideal network that carried jobs in place of packets.
	Network string `json:"network,omitempty"`
	// Jobs are the jobs with operations that never ended.
	Jobs []UnfinishedJob `json:"jobs,omitempty"`
	// Violation is where packets are missing or too many, or the flows with packets that no endpoint expects.
	Violation string `json:"violation,omitempty"`
	// Spurious counts the data packets that were sent again although they had arrived; nil: unknown, as in the lab.
	Spurious *Spurious `json:"spurious,omitempty"`
}

// UnfinishedJob is a job with operations that never ended.
type UnfinishedJob struct {
	Traffic  string   `json:"traffic"`
	WaitsFor []string `json:"waits_for"`          // how many operations are left, then what the first ones wait for
	Messages []string `json:"messages,omitempty"` // up to 3 that did not end: what they waited for
}

// Spurious counts data packets of a run that were sent again although they had arrived.
type Spurious struct {
	Packets int64            `json:"packets"`
	By      map[string]int64 `json:"by,omitempty"` // by the cause of the copy that arrived in addition
}

// NewSpurious counts by cause.
func NewSpurious(counts [packet.ResendCauses]int64) *Spurious {
	s := &Spurious{}
	for cause := range packet.ResendCauses {
		if n := counts[cause]; n > 0 {
			if s.By == nil {
				s.By = map[string]int64{}
			}
			s.Packets += n
			s.By[cause.String()] = n
		}
	}
	return s
}

// Aligned is a job of hosts that begin each iteration together (align).
type Aligned struct {
	Traffic string  `json:"traffic"`
	PeriodS float64 `json:"period_s"` // iterations begin at multiples of it
}

// String says what that means for measures.
func (a *Aligned) String() string {
	return fmt.Sprintf("iterations of job %s begin at multiples of %.9g s (align): waiting for that is in job and "+
		"job_waiting, and in no other measure", a.Traffic, a.PeriodS)
}

// Iterations is how many of a job's were taken from another one in place of being carried out.
type Iterations struct {
	Repeated int     `json:"repeated"`
	First    int     `json:"first,omitempty"`    // number of the first of them, from 1
	Cycle    int     `json:"cycle,omitempty"`    // iterations that recur together
	PeriodS  float64 `json:"period_s,omitempty"` // of a cycle
	Words    int     `json:"words,omitempty"`    // of the network's state that were compared, all the same
	Why      string  `json:"why,omitempty"`      // there are none: the word of the state that differs, or what else it is
}

// String says it in words.
func (i *Iterations) String() string {
	if i.Repeated == 0 {
		return "each was carried out: " + i.Why
	}
	which := "one"
	if i.Cycle > 1 {
		which = fmt.Sprint(i.Cycle)
	}
	return fmt.Sprintf("%d, from number %d on, are the %s before them once more, every %.9g s: all %d words of the "+
		"network's state recurred", i.Repeated, i.First, which, i.PeriodS, i.Words)
}

// String returns the number of packets, and by cause, or the word for no packet.
func (s *Spurious) String() string {
	if s.Packets == 0 {
		return "none"
	}
	var parts []string
	for cause := range packet.ResendCauses {
		if n := s.By[cause.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%v %d", cause, n))
		}
	}
	return fmt.Sprintf("%d (%s)", s.Packets, strings.Join(parts, ", "))
}

// Stuck reports whether the run was cut because something went wrong in the network: queues that block each other,
// one that is not served, packets unaccounted for or misdelivered. A run without progress is none of these: nothing
// could change any more, so that its measures are those of its whole duration.
func (e *End) Stuck() bool {
	switch outcome.EndReason(e.Reason) {
	case outcome.Deadlock, outcome.Starved, outcome.Violated, outcome.Misdelivered:
		return true
	}
	return false
}

// UnfinishedFlow is a flow that had an end and did not reach it.
type UnfinishedFlow struct {
	Flow      int    `json:"flow"`
	Traffic   string `json:"traffic"`
	Src       string `json:"src"`
	Dst       string `json:"dst"`
	SizeBytes int64  `json:"size_bytes"`
	DoneBytes int64  `json:"done_bytes"`
	WaitsFor  string `json:"waits_for,omitempty"` // what it was waiting for when the run ended; of the first ones only
}

// Count is a number of something by name.
type Count struct {
	Name  string
	Count uint64
}

// Outcome is all that one invocation of an experiment gives. Runs are in the order
// of the expansion.
type Outcome struct {
	Name        string // p4abc/fig4
	World       string // Sim or Lab
	Spec        *experiment.Spec
	Runs        []*Run // those that are finished
	Claims      []claim.Claim
	Failed      []RunError // those that could not be carried out
	Missing     int        // those that were not begun, or were interrupted
	Found       int        // of Runs, those that were there already
	Traces      int        // of Runs, those that left the trace that was wanted
	Untraced    int        // of Runs, those that were there already and whose trace was interrupted
	Dir         string     // results folder, "" if nothing was written
	Command     string     // that asked for it, "" if not known
	Version     string     // of the program that carried the runs out, as people call it; "" if not known
	Program     string     // its revision; "" if not known, or there are several
	Counterpart *Outcome   // of the lab: what the simulator gives for the same, as far as it is there; nil: nothing
	Chosen      *Chosen    // how many seeds count, by what is measured; nil: the experiment has the number
	Programs    []Program  // that carried the runs out, if there are several; nil: one
	Hosts       *Hosts     // where, and what happened; no part of the results; nil: not known
}

// Program is what of merged results one of several programs has carried out.
type Program struct {
	Revision string   `json:"revision"` // as weir version prints it, or what is known of it
	Runs     []string `json:"runs"`     // their ids
}

// Seeds is how many of each point count.
func (o *Outcome) Seeds() int {
	if o.Chosen != nil {
		return o.Chosen.N
	}
	return o.Spec.RepeatOn(o.World)
}

// RunError is a run that ended with an error.
type RunError struct {
	ID    string
	Point []measure.Coordinate
	Seed  uint64
	Err   error
}

// object writes a JSON object whose keys keep their order.
type object struct {
	b     bytes.Buffer
	count int
	lines bool // each key on a line of its own
}

func (o *object) add(key string, value any) {
	if o.count++; o.count == 1 {
		o.b.WriteByte('{')
	} else {
		o.b.WriteByte(',')
	}
	if o.lines {
		o.b.WriteString("\n  ")
	}
	o.encode(key)
	if o.b.WriteByte(':'); o.lines {
		o.b.WriteByte(' ')
	}
	switch v := value.(type) {
	case float64:
		o.b.WriteString(measure.JsonNumber(v))
	case json.RawMessage:
		o.b.Write(v)
	default:
		o.encode(v)
	}
}

// encode appends a value as JSON, with <, > and & as they are: port names have them. What would act on a
// terminal is escaped, which JSON reads as the same.
func (o *object) encode(v any) {
	var enc bytes.Buffer
	e := json.NewEncoder(&enc)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only values of this file come here
	}
	value := bytes.TrimSpace(enc.Bytes())
	if at, _, _ := text.Find(value); at >= 0 {
		value = []byte(text.Shown(string(value)))
	}
	o.b.Write(value)
}

func (o *object) bytes() json.RawMessage {
	if o.count == 0 {
		return json.RawMessage("{}")
	}
	end := "}"
	if o.lines {
		end = "\n}\n"
	}
	return append(json.RawMessage(nil), append(o.b.Bytes(), end...)...)
}

// Json writes the run; series only for the run's own file.
func (r *Run) Json(whole bool) json.RawMessage {
	var o, point, measures, drops object
	o.lines = whole
	if whole {
		o.add("format", Format)
	}
	o.add("id", r.ID)
	o.add("seed", r.Seed)
	for _, c := range r.Point {
		point.add(c.Key, c.Text)
	}
	o.add("point", point.bytes())
	o.add("end", r.End)
	listed := r.Measures
	if !whole {
		listed = r.Listed()
	}
	for i := range listed {
		m := &listed[i]
		if m.Groups == nil {
			measures.add(m.JSONName(), m.Value)
			continue
		}
		var g object
		for _, x := range m.Groups {
			g.add(x.Group, x.Value)
		}
		measures.add(m.JSONName(), g.bytes())
	}
	o.add("measures", measures.bytes())
	for _, c := range r.Drops {
		drops.add(c.Name, c.Count)
	}
	o.add("drops", drops.bytes())
	if r.Unfinished != nil {
		o.add("unfinished", r.Unfinished)
	}
	o.add("events", r.Events)
	o.add("packet_hops", r.PacketHops)
	if r.Bins != nil {
		o.add("bins", r.Bins)
	}
	if r.Attempts != nil {
		o.add("attempts", r.Attempts)
	}
	if whole {
		o.add("record", record{r.Point, r.Measures, r.Drops}.encode())
		if r.Series != nil {
			o.add("series", r.Series)
		}
		if r.Distributions != nil {
			o.add("distributions", r.Distributions)
		}
		if r.Histograms != nil {
			o.add("histograms", r.Histograms)
		}
		if r.Timelines != nil {
			o.add("timelines", r.Timelines)
		}
		if r.Flows != nil {
			o.add("flows", r.Flows)
		}
		if r.PFC != nil {
			o.add("pfc", r.PFC)
		}
		return seal(o.bytes())
	}
	return o.bytes()
}

// record is what reading a run back needs beyond the document: the order of keys
// and the units of measures.
type record struct {
	Point    []measure.Coordinate
	Measures []measure.Measured
	Drops    []Count
}

type recordMeasure struct {
	Name, Unit string
	Value      *float64   `json:",omitempty"`
	Groups     []string   `json:",omitempty"`
	Values     []*float64 `json:",omitempty"`
}

func pointer(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func value(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

func (r record) encode() json.RawMessage {
	var measures []recordMeasure
	for _, m := range r.Measures {
		x := recordMeasure{Name: m.Name, Unit: m.Unit}
		if m.Groups == nil {
			x.Value = pointer(m.Value)
		}
		for _, g := range m.Groups {
			x.Groups = append(x.Groups, g.Group)
			x.Values = append(x.Values, pointer(g.Value))
		}
		measures = append(measures, x)
	}
	var o object
	o.add("point", r.Point)
	o.add("measures", measures)
	o.add("drops", r.Drops)
	return o.bytes()
}

// ReadRun reads what Json(true) has written. The error is a formatError if another
// version of weir has, and a DamagedError if nobody has.
func ReadRun(data []byte) (*Run, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, DamagedError{fmt.Sprintf("it is damaged: %v", err)}
	}
	if version.Format != Format {
		return nil, formatError{version.Format}
	}
	if err := unsealed(data); err != nil {
		return nil, err
	}
	var f struct {
		Format     int                    `json:"format"`
		Point      json.RawMessage        `json:"point"` // these three are in the record too, in order
		Measures   json.RawMessage        `json:"measures"`
		Drops      json.RawMessage        `json:"drops"`
		ID         string                 `json:"id"`
		Seed       uint64                 `json:"seed"`
		End        End                    `json:"end"`
		Unfinished []UnfinishedFlow       `json:"unfinished"`
		Events     uint64                 `json:"events"`
		PacketHops uint64                 `json:"packet_hops"`
		Bins       []measure.Binned       `json:"bins"`
		Attempts   []Attempt              `json:"attempts"`
		Series     []measure.Series       `json:"series"`
		Dists      []measure.Distribution `json:"distributions"`
		Histograms []measure.Histogram    `json:"histograms"`
		Timelines  []*measure.Timeline    `json:"timelines"`
		Flows      *measure.FlowTable     `json:"flows"`
		PFC        []PFCFrame             `json:"pfc"`
		Record     struct {
			Point    []measure.Coordinate `json:"point"`
			Measures []recordMeasure      `json:"measures"`
			Drops    []Count              `json:"drops"`
		} `json:"record"`
		Digest string `json:"sha256"` // checked above
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	if !plan.IsID(f.ID) {
		return nil, DamagedError{fmt.Sprintf("no run has the id %q", f.ID)}
	}
	values := measure.Values{Bins: f.Bins, Series: f.Series, Distributions: f.Dists, Histograms: f.Histograms,
		Timelines: f.Timelines, Flows: f.Flows}
	if err := columns(&values); err != nil {
		return nil, err
	}
	r := &Run{ID: f.ID, Seed: f.Seed, Point: f.Record.Point, End: f.End, Drops: f.Record.Drops, Unfinished: f.Unfinished,
		Attempts: f.Attempts, PFC: f.PFC, Events: f.Events, PacketHops: f.PacketHops, Values: values}
	for _, m := range f.Record.Measures {
		if len(m.Groups) != len(m.Values) {
			return nil, fmt.Errorf("%s has %d groups and %d values", m.Name, len(m.Groups), len(m.Values))
		}
		x := measure.Measured{Name: m.Name, Unit: m.Unit, Value: value(m.Value)}
		for i, g := range m.Groups {
			x.Groups = append(x.Groups, measure.Grouped{Group: g, Value: value(m.Values[i])})
		}
		r.Measures = append(r.Measures, x)
	}
	return r, nil
}

// columns reports whether the columns of a run's tables belong together.
func columns(v *measure.Values) error {
	for _, d := range v.Distributions {
		if len(d.Values) != len(d.Counts) {
			return fmt.Errorf("the distribution of %s has %d values and %d counts", d.Name, len(d.Values), len(d.Counts))
		}
	}
	for _, b := range v.Bins {
		for _, x := range b.Bins {
			if len(x.Percentiles) != len(b.Percentiles) {
				return fmt.Errorf("%s by size has %d percentiles and %d values", b.Name, len(b.Percentiles), len(x.Percentiles))
			}
		}
	}
	for _, x := range v.Timelines {
		if err := x.Check(); err != nil {
			return err
		}
	}
	if v.Flows != nil {
		return v.Flows.Check()
	}
	return nil
}

// json is the one document of --json and runs.json.
func (o *Outcome) JSON() []byte {
	var doc object
	doc.add("format", Format)
	doc.add("experiment", o.Name)
	doc.add("world", o.World)
	if o.Programs != nil {
		doc.add("programs", o.Programs)
	}
	if o.Chosen != nil {
		doc.add("seeds", o.Chosen.json())
	}
	if left := o.withoutJSON(); left != nil {
		doc.add("without", left)
	}
	runs := []json.RawMessage{}
	for _, r := range o.Runs {
		runs = append(runs, r.Json(false))
	}
	var list bytes.Buffer // not through encoding/json, which would escape again
	for i, r := range runs {
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(r)
	}
	doc.add("runs", json.RawMessage("["+list.String()+"]"))
	claims := o.Claims
	if claims == nil {
		claims = []claim.Claim{}
	}
	doc.add("claims", claims)
	o.besideJSON(&doc)
	return Indent(doc.bytes())
}

// Listed are the run's measures, and their ratios to those of reference points.
func (r *Run) Listed() []measure.Measured { return append(slices.Clip(r.Measures), r.Ratios...) }

// disturbed reports whether the attempt that counts was disturbed.
func (r *Run) disturbed() bool {
	n := len(r.Attempts)
	return n > 0 && r.Attempts[n-1].disturbed()
}

// sampled are runs as the experiment's claims see them.
func sampled(runs []*Run) (samples []claim.FinishedRun) {
	for _, r := range runs {
		samples = append(samples, claim.FinishedRun{Point: r.Point, Seed: r.Seed, Values: &r.Values,
			Disturbed: r.disturbed()})
	}
	return samples
}

// Judge gives the finished runs their ratios, and every claim of the experiment its verdict over so many seeds.
func Judge(s *experiment.Spec, runs []*Run, seeds int) []claim.Claim {
	samples := sampled(runs)
	for i, ratios := range s.Ratios(samples) {
		if runs[i].Ratios = ratios; ratios != nil {
			all := *samples[i].Values
			all.Measures = runs[i].Listed()
			samples[i].Values = &all
		}
	}
	return s.Judge(samples, seeds)
}

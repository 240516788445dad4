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

// Format is the version of runs.json and runs/<id>.json. It changes when older versions could not read a folder or
// newer ones would misinterpret it.
const Format = 2

// formatError reports results in a format other than Format.
type formatError struct{ format int }

// Error states the file's format and the supported one.
func (e formatError) Error() string {
	if e.format == 0 {
		return fmt.Sprintf("the format is missing, so another version of weir wrote the file; this version supports format "+
			"%d", Format)
	}
	return fmt.Sprintf("the file has format %d of another version of weir; this version supports format %d",
		e.format, Format)
}

// Run is a finished run as in runs/<id>.json. Values are in base units; a measure's JSON name includes the unit
// (goodput_bps).
type Run struct {
	ID         string
	Seed       uint64
	Point      []measure.Coordinate
	End        End
	Drops      []Count // by reason, counts above 0
	Unfinished []UnfinishedFlow
	Events     uint64 // processed by the event loop
	PacketHops uint64
	Attempts   []Attempt // attempts of a run in the lab; the last one counts; nil: simulator
	measure.Values
	Ratios []measure.Measured // ratios to reference points, computed from all runs; not in runs/<id>.json
	PFC    []PFCFrame         // only in runs/<id>.json
}

// PFCFrame is the effect of a Pause or Resume frame at the port where it arrived, or of the end of a pause.
type PFCFrame struct {
	TimeNs int64 `json:"time_ns"`
	Node   int   `json:"node"`
	Port   int   `json:"port"` // of the node, from 0, in the order of links
	Class  int   `json:"class"`
	Paused bool  `json:"paused"`
}

// End describes how a run ended.
type End struct {
	Reason string  `json:"reason"`
	TimeS  float64 `json:"time_s"`
	// Ports are the ports of a PFC deadlock, each waiting for the next and the last for the first; or ports with a queue
	// that was not served.
	Ports []string `json:"ports,omitempty"`
	// WaitsFor describes what the first unfinished flow waited for; "" if all flows finished.
	WaitsFor string `json:"waits_for,omitempty"`
	// Iterations describes iterations of a job that repeat earlier ones because the network's state recurred; nil: the
	// run has no iterations.
	Iterations *Iterations `json:"iterations,omitempty"`
	// Aligned are the jobs with iterations that begin at multiples of a period.
	Aligned []Aligned `json:"aligned,omitempty"`
	// Network is the ideal network that carried jobs in place of packets.
	Network string `json:"network,omitempty"`
	// Jobs are the jobs with unfinished operations.
	Jobs []UnfinishedJob `json:"jobs,omitempty"`
	// Violation describes missing or excess packets, or flows with packets without an endpoint.
	Violation string `json:"violation,omitempty"`
	// Spurious counts the data packets that were sent again although they had arrived; nil: unknown, as in the lab.
	Spurious *Spurious `json:"spurious,omitempty"`
}

// UnfinishedJob is a job with unfinished operations.
type UnfinishedJob struct {
	Traffic  string   `json:"traffic"`
	WaitsFor []string `json:"waits_for"`          // number of remaining operations, then what the first ones wait for
	Messages []string `json:"messages,omitempty"` // what up to 3 unfinished messages waited for
}

// Spurious counts data packets of a run that were sent again although they had arrived.
type Spurious struct {
	Packets int64            `json:"packets"`
	By      map[string]int64 `json:"by,omitempty"` // by the cause of the duplicate
}

// NewSpurious converts the counts by cause. By has only counts above 0.
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

// Aligned is a job with hosts that begin each iteration together (align).
type Aligned struct {
	Traffic string  `json:"traffic"`
	PeriodS float64 `json:"period_s"` // iterations begin at multiples of it
}

// String describes the alignment and its effect on measures, in a sentence without a full stop.
func (a *Aligned) String() string {
	return fmt.Sprintf("iterations of job %s begin at multiples of %.9g s (align); only the measures job and "+
		"job_waiting include the time waited for this", a.Traffic, a.PeriodS)
}

// Iterations counts iterations of a job that were copied from earlier ones instead of simulated.
type Iterations struct {
	Repeated int     `json:"repeated"`
	First    int     `json:"first,omitempty"`    // number of the first copied one, from 1
	Cycle    int     `json:"cycle,omitempty"`    // iterations that recur together
	PeriodS  float64 `json:"period_s,omitempty"` // of a cycle
	Words    int     `json:"words,omitempty"`    // compared words of the network's state, all equal
	Why      string  `json:"why,omitempty"`      // if Repeated is 0: the differing word of the state, or another reason
}

// String describes the repetition, or why all iterations were simulated.
func (i *Iterations) String() string {
	if i.Repeated == 0 {
		return "all were simulated: " + i.Why
	}
	which := "one"
	if i.Cycle > 1 {
		which = fmt.Sprint(i.Cycle)
	}
	return fmt.Sprintf("%d, from number %d on, repeat the %s before them every %.9g s and were not simulated, because "+
		"all %d words of the network's state recurred", i.Repeated, i.First, which, i.PeriodS, i.Words)
}

// String returns the number of packets by cause; "none" for 0.
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

// Stuck reports whether an error in the network ended the run: a deadlock of queues, a queue that is not served,
// packets unaccounted for or misdelivered. A run without progress is not stuck: its state could not change any more, so
// that its measures are valid for the whole duration.
func (e *End) Stuck() bool {
	switch outcome.EndReason(e.Reason) {
	case outcome.Deadlock, outcome.Starved, outcome.Violated, outcome.Misdelivered:
		return true
	}
	return false
}

// UnfinishedFlow is a flow of limited size that did not finish.
type UnfinishedFlow struct {
	Flow      int    `json:"flow"`
	Traffic   string `json:"traffic"`
	Src       string `json:"src"`
	Dst       string `json:"dst"`
	SizeBytes int64  `json:"size_bytes"`
	DoneBytes int64  `json:"done_bytes"`
	WaitsFor  string `json:"waits_for,omitempty"` // what it waited for at the end of the run; only for the first flows
}

// Count is a named count.
type Count struct {
	Name  string
	Count uint64
}

// Outcome holds the results of one invocation of an experiment. Runs are in the order of the plan.
type Outcome struct {
	Name        string // p4abc/fig4
	World       string // Sim or Lab
	Spec        *experiment.Spec
	Runs        []*Run // finished runs
	Claims      []claim.Claim
	Failed      []RunError  // runs that ended with an error
	Missing     int         // runs not begun or interrupted
	Found       int         // of Runs, those that existed before
	Traces      int         // of Runs, those with the requested trace
	Untraced    int         // of Runs, existing ones with an interrupted trace
	Dir         string      // results folder; "" if no results were written
	Command     string      // command that asked for it; "" if unknown
	Version     string      // version of the program that executed the runs; "" if unknown
	Program     string      // revision of that program; "" if unknown, or several programs
	Counterpart *Outcome    // for the lab: the simulator's results of the same experiment; nil without
	Chosen      *SeedChoice // number of seeds chosen by the data; nil: the experiment gives the number
	Programs    []Program   // if several programs executed the runs; nil: one
	Hosts       *Hosts      // machines and executions, not part of the results; nil: unknown
}

// Program lists the runs of merged results that one of several programs executed.
type Program struct {
	Revision string   `json:"revision"` // as printed by weir version, or another identification
	Runs     []string `json:"runs"`     // their ids
}

// Seeds returns the number of seeds that count for each point: the chosen one, or the experiment's in its world.
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

// jsonObject builds a JSON object with keys in the order of insertion.
type jsonObject struct {
	b     bytes.Buffer
	count int
	lines bool // each key on its own line
}

// addKey adds a key with its value. A json.RawMessage is added unchanged; NaN and infinities become null. It does not
// check that keys differ.
func (o *jsonObject) addKey(key string, value any) {
	if o.count++; o.count == 1 {
		o.b.WriteByte('{')
	} else {
		o.b.WriteByte(',')
	}
	if o.lines {
		o.b.WriteString("\n  ")
	}
	o.writeValue(key)
	if o.b.WriteByte(':'); o.lines {
		o.b.WriteByte(' ')
	}
	switch v := value.(type) {
	case float64:
		o.b.WriteString(measure.FormatJSON(v))
	case json.RawMessage:
		o.b.Write(v)
	default:
		o.writeValue(v)
	}
}

// writeValue appends a value as JSON without escaping <, > and &, which occur in port names. Characters that would act
// on a terminal are escaped. It panics for values that JSON cannot represent.
func (o *jsonObject) writeValue(v any) {
	var enc bytes.Buffer
	e := json.NewEncoder(&enc)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // all callers pass valid values
	}
	value := bytes.TrimSpace(enc.Bytes())
	if at, _, _ := text.FindActing(value); at >= 0 {
		value = []byte(text.EscapeLine(string(value)))
	}
	o.b.Write(value)
}

// finishJSON returns the object as JSON. Keys must not be added afterwards.
func (o *jsonObject) finishJSON() json.RawMessage {
	if o.count == 0 {
		return json.RawMessage("{}")
	}
	end := "}"
	if o.lines {
		end = "\n}\n"
	}
	return append(json.RawMessage(nil), append(o.b.Bytes(), end...)...)
}

// EncodeJSON returns the run as JSON: with whole, the content of its own file with series, tables and digest, otherwise
// its entry in runs.json, which also has the ratios. The same run gives the same bytes.
func (r *Run) EncodeJSON(whole bool) json.RawMessage {
	var o, point, measures, drops jsonObject
	o.lines = whole
	if whole {
		o.addKey("format", Format)
	}
	o.addKey("id", r.ID)
	o.addKey("seed", r.Seed)
	for _, c := range r.Point {
		point.addKey(c.Key, c.Text)
	}
	o.addKey("point", point.finishJSON())
	o.addKey("end", r.End)
	listed := r.Measures
	if !whole {
		listed = r.AllMeasures()
	}
	for i := range listed {
		m := &listed[i]
		if m.Groups == nil {
			measures.addKey(m.JSONName(), m.Value)
			continue
		}
		var g jsonObject
		for _, x := range m.Groups {
			g.addKey(x.Group, x.Value)
		}
		measures.addKey(m.JSONName(), g.finishJSON())
	}
	o.addKey("measures", measures.finishJSON())
	for _, c := range r.Drops {
		drops.addKey(c.Name, c.Count)
	}
	o.addKey("drops", drops.finishJSON())
	if r.Unfinished != nil {
		o.addKey("unfinished", r.Unfinished)
	}
	o.addKey("events", r.Events)
	o.addKey("packet_hops", r.PacketHops)
	if r.Bins != nil {
		o.addKey("bins", r.Bins)
	}
	if r.Attempts != nil {
		o.addKey("attempts", r.Attempts)
	}
	if whole {
		o.addKey("record", runRecord{r.Point, r.Measures, r.Drops}.encodeRecord())
		if r.Series != nil {
			o.addKey("series", r.Series)
		}
		if r.Distributions != nil {
			o.addKey("distributions", r.Distributions)
		}
		if r.Histograms != nil {
			o.addKey("histograms", r.Histograms)
		}
		if r.Timelines != nil {
			o.addKey("timelines", r.Timelines)
		}
		if r.Flows != nil {
			o.addKey("flows", r.Flows)
		}
		if r.PFC != nil {
			o.addKey("pfc", r.PFC)
		}
		return appendDigest(o.finishJSON())
	}
	return o.finishJSON()
}

// runRecord holds what a reader of a run needs in addition to the document: the order of keys and the units of
// measures.
type runRecord struct {
	Point    []measure.Coordinate
	Measures []measure.Measured
	Drops    []Count
}

// recordMeasure is a measure with its groups in order.
type recordMeasure struct {
	Name, Unit string
	Value      *float64   `json:",omitempty"`
	Groups     []string   `json:",omitempty"`
	Values     []*float64 `json:",omitempty"`
}

// finitePointer returns a pointer to v; nil if v is not finite.
func finitePointer(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// pointerValue returns *p; NaN for nil.
func pointerValue(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// encodeRecord returns the record as JSON.
func (r runRecord) encodeRecord() json.RawMessage {
	var measures []recordMeasure
	for _, m := range r.Measures {
		x := recordMeasure{Name: m.Name, Unit: m.Unit}
		if m.Groups == nil {
			x.Value = finitePointer(m.Value)
		}
		for _, g := range m.Groups {
			x.Groups = append(x.Groups, g.Group)
			x.Values = append(x.Values, finitePointer(g.Value))
		}
		measures = append(measures, x)
	}
	var o jsonObject
	o.addKey("point", r.Point)
	o.addKey("measures", measures)
	o.addKey("drops", r.Drops)
	return o.finishJSON()
}

// ReadRun parses the output of EncodeJSON(true). The error is a formatError for another version of weir, and a
// DamagedError for a damaged file. Any other error is about content that no version writes. Ratios are not set.
func ReadRun(data []byte) (*Run, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, DamagedError{fmt.Sprintf("the file is damaged: %v", err)}
	}
	if version.Format != Format {
		return nil, formatError{version.Format}
	}
	if err := checkDigest(data); err != nil {
		return nil, err
	}
	var f struct {
		Format     int                    `json:"format"`
		Point      json.RawMessage        `json:"point"` // also in the record, in order
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
	if err := checkColumns(&values); err != nil {
		return nil, err
	}
	r := &Run{ID: f.ID, Seed: f.Seed, Point: f.Record.Point, End: f.End, Drops: f.Record.Drops, Unfinished: f.Unfinished,
		Attempts: f.Attempts, PFC: f.PFC, Events: f.Events, PacketHops: f.PacketHops, Values: values}
	for _, m := range f.Record.Measures {
		if len(m.Groups) != len(m.Values) {
			return nil, fmt.Errorf("%s has %d groups and %d values", m.Name, len(m.Groups), len(m.Values))
		}
		x := measure.Measured{Name: m.Name, Unit: m.Unit, Value: pointerValue(m.Value)}
		for i, g := range m.Groups {
			x.Groups = append(x.Groups, measure.GroupValue{Group: g, Value: pointerValue(m.Values[i])})
		}
		r.Measures = append(r.Measures, x)
	}
	return r, nil
}

// checkColumns returns an error if the columns of a run's tables have different lengths, or an index in them is out of
// range.
func checkColumns(v *measure.Values) error {
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

// JSON returns the document of --json and runs.json, indented, with a final line break.
func (o *Outcome) JSON() []byte {
	var doc jsonObject
	doc.addKey("format", Format)
	doc.addKey("experiment", o.Name)
	doc.addKey("world", o.World)
	if o.Programs != nil {
		doc.addKey("programs", o.Programs)
	}
	if o.Chosen != nil {
		doc.addKey("seeds", o.Chosen.encodeJSON())
	}
	if left := o.withoutJSON(); left != nil {
		doc.addKey("without", left)
	}
	runs := []json.RawMessage{}
	for _, r := range o.Runs {
		runs = append(runs, r.EncodeJSON(false))
	}
	var list bytes.Buffer // encoding/json would escape it again
	for i, r := range runs {
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(r)
	}
	doc.addKey("runs", json.RawMessage("["+list.String()+"]"))
	claims := o.Claims
	if claims == nil {
		claims = []claim.Claim{}
	}
	doc.addKey("claims", claims)
	o.addCounterpart(&doc)
	return IndentJSON(doc.finishJSON())
}

// AllMeasures returns the run's measures followed by their ratios to reference points, which JudgeClaims sets.
func (r *Run) AllMeasures() []measure.Measured { return append(slices.Clip(r.Measures), r.Ratios...) }

// isDisturbed reports whether the attempt that counts was disturbed; false for a run in the simulator.
func (r *Run) isDisturbed() bool {
	n := len(r.Attempts)
	return n > 0 && r.Attempts[n-1].isDisturbed()
}

// newSamples converts runs to samples of the experiment's claims. They share the runs' values.
func newSamples(runs []*Run) (samples []claim.FinishedRun) {
	for _, r := range runs {
		samples = append(samples, claim.FinishedRun{Point: r.Point, Seed: r.Seed, Values: &r.Values,
			Disturbed: r.isDisturbed()})
	}
	return samples
}

// JudgeClaims sets the ratios of the finished runs, and returns the experiment's claims with verdicts over the given
// number of seeds, from the experiment's first on. It changes runs.
func JudgeClaims(s *experiment.Spec, runs []*Run, seeds int) []claim.Claim {
	samples := newSamples(runs)
	for i, ratios := range s.Ratios(samples) {
		if runs[i].Ratios = ratios; ratios != nil {
			all := *samples[i].Values
			all.Measures = runs[i].AllMeasures()
			samples[i].Values = &all
		}
	}
	return s.JudgeClaims(samples, seeds)
}

package experiment

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// Run is one finished run as runs/<id>.json keeps it. Numbers are in base units
// with the unit in the measure's JSON name (goodput_bps).
type Run struct {
	ID         string
	Seed       uint64
	Point      []Coordinate
	End        End
	Measures   []Measured
	Drops      []Count // by reason, those above 0
	Unfinished []UnfinishedFlow
	Series     []Series // only in runs/<id>.json
	Events     uint64   // of the event loop
	PacketHops uint64
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

// Measured is one measure's outcome in one run: a number, or one a group. NaN is a
// value that is not defined: a dash in tables, null in JSON.
type Measured struct {
	Name   string // goodput
	Unit   string // bps, s, packets, …; "" for none
	Value  float64
	Groups []Grouped // nil: Value holds
}

// JSONName is the name with the unit: goodput_bps.
func (m *Measured) JSONName() string {
	if m.Unit == "" {
		return m.Name
	}
	return m.Name + "_" + m.Unit
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

// Verdicts. Undecided: the 95 % interval over seeds crosses the bound, or no run
// bears on the claim.
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

// Outcome is all that one invocation of an experiment gives. Runs are in the order
// of the expansion.
type Outcome struct {
	Name    string // p4abc/fig4
	World   string // sim
	Spec    *Spec
	Runs    []*Run // those that are finished
	Claims  []Claim
	Failed  []RunError // those that could not be carried out
	Missing int        // those that were not begun, or were interrupted
	Found   int        // of Runs, those that were there already
	Dir     string     // results folder, "" if nothing was written
}

// RunError is a run that ended with an error.
type RunError struct {
	ID    string
	Point []Coordinate
	Seed  uint64
	Err   error
}

// object writes a JSON object whose keys keep their order.
type object struct {
	b     bytes.Buffer
	count int
}

func (o *object) add(key string, value any) {
	if o.count++; o.count == 1 {
		o.b.WriteByte('{')
	} else {
		o.b.WriteByte(',')
	}
	o.encode(key)
	o.b.WriteByte(':')
	switch v := value.(type) {
	case float64:
		o.b.WriteString(jsonNumber(v))
	case json.RawMessage:
		o.b.Write(v)
	default:
		o.encode(v)
	}
}

// encode appends a value as JSON, with <, > and & as they are: port names have them.
func (o *object) encode(v any) {
	var enc bytes.Buffer
	e := json.NewEncoder(&enc)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only values of this file come here
	}
	o.b.Write(bytes.TrimSpace(enc.Bytes()))
}

func (o *object) bytes() json.RawMessage {
	if o.count == 0 {
		return json.RawMessage("{}")
	}
	return append(json.RawMessage(nil), append(o.b.Bytes(), '}')...)
}

// jsonNumber writes a number, null for what is not one.
func jsonNumber(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "null"
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// json writes the run; series only for the run's own file.
func (r *Run) json(whole bool) json.RawMessage {
	var o, point, measures, drops object
	o.add("id", r.ID)
	o.add("seed", r.Seed)
	for _, c := range r.Point {
		point.add(c.Key, c.Text)
	}
	o.add("point", point.bytes())
	o.add("end", r.End)
	for i := range r.Measures {
		m := &r.Measures[i]
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
	if whole {
		o.add("record", record{r.Point, r.Measures, r.Drops}.encode())
		if r.Series != nil {
			o.add("series", r.Series)
		}
	}
	return o.bytes()
}

// record is what reading a run back needs beyond the document: the order of keys
// and the units of measures.
type record struct {
	Point    []Coordinate
	Measures []Measured
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

// readRun reads what json(true) has written.
func readRun(data []byte) (*Run, error) {
	var f struct {
		ID         string           `json:"id"`
		Seed       uint64           `json:"seed"`
		End        End              `json:"end"`
		Unfinished []UnfinishedFlow `json:"unfinished"`
		Events     uint64           `json:"events"`
		PacketHops uint64           `json:"packet_hops"`
		Series     []Series         `json:"series"`
		Record     struct {
			Point    []Coordinate    `json:"point"`
			Measures []recordMeasure `json:"measures"`
			Drops    []Count         `json:"drops"`
		} `json:"record"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	r := &Run{ID: f.ID, Seed: f.Seed, Point: f.Record.Point, End: f.End, Drops: f.Record.Drops, Unfinished: f.Unfinished,
		Series: f.Series, Events: f.Events, PacketHops: f.PacketHops}
	for _, m := range f.Record.Measures {
		x := Measured{Name: m.Name, Unit: m.Unit, Value: value(m.Value)}
		for i, g := range m.Groups {
			x.Groups = append(x.Groups, Grouped{g, value(m.Values[i])})
		}
		r.Measures = append(r.Measures, x)
	}
	return r, nil
}

// JSON is the one document of --json and runs.json.
func (o *Outcome) JSON() []byte {
	var doc object
	doc.add("experiment", o.Name)
	doc.add("world", o.World)
	runs := []json.RawMessage{}
	for _, r := range o.Runs {
		runs = append(runs, r.json(false))
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
		claims = []Claim{}
	}
	doc.add("claims", claims)
	return indent(doc.bytes())
}

func indent(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic(err) // what this file has written is JSON
	}
	b.WriteByte('\n')
	return b.Bytes()
}

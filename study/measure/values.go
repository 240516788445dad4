package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Coordinate is the value of one sweep key at a point: the text in the spec and, if it is a quantity, the value in
// base units.
type Coordinate struct {
	Key   string
	Text  string
	Value float64
	IsNum bool
}

// Measured is the outcome of one measure in one run: a number, or a number for each group. NaN is an undefined value:
// a dash in tables, null in JSON.
type Measured struct {
	Name   string // goodput
	Unit   string // bps, s, packets, …; "" without a unit
	Value  float64
	Groups []GroupValue // nil: Value holds
}

// JSONName returns the name with the unit: goodput_bps. Without a unit it is the name.
func (m *Measured) JSONName() string {
	if m.Unit == "" {
		return m.Name
	}
	return m.Name + "_" + m.Unit
}

// GroupValue is the number of one group.
type GroupValue struct {
	Group string
	Value float64
}

// Number is a value that may be undefined: NaN here, null in JSON.
type Number float64

// MarshalJSON writes null for NaN.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(FormatJSON(float64(n))), nil }

// UnmarshalJSON reads a number; null is NaN.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(data), 64)
	*n = Number(v)
	return err
}

// Series is a quantity over time. Values of goodput, throughput, utilisation and jain are means over the interval that
// begins at their time. Other values are samples at their time.
type Series struct {
	Name   string   `json:"name"`  // queue
	Unit   string   `json:"unit"`  // packets
	Group  string   `json:"group"` // s1->server
	StartS float64  `json:"start_s"`
	StepS  float64  `json:"step_s"`
	Values []Number `json:"values"`
}

// Time returns the time of value k in seconds, rounded to picoseconds.
func (s *Series) Time(k int) float64 {
	return math.Round((s.StartS+float64(float64(k)*s.StepS))*1e12) / 1e12
}

// Distribution counts how often a quantity had each value. The values ascend.
type Distribution struct {
	Name   string    `json:"name"` // fct, slowdown, delay, queue
	Unit   string    `json:"unit"`
	Group  string    `json:"group"`
	Values []float64 `json:"values"`
	Counts []uint64  `json:"counts"`
}

// Add counts value v n times. v must not be below the values so far.
func (d *Distribution) Add(v float64, n uint64) {
	if k := len(d.Values); k > 0 && d.Values[k-1] == v {
		d.Counts[k-1] += n
		return
	}
	d.Values, d.Counts = append(d.Values, v), append(d.Counts, n)
}

// Count returns the number of values counted, with repetitions.
func (d *Distribution) Count() (n uint64) {
	for _, c := range d.Counts {
		n += c
	}
	return n
}

// Percentile returns the p-th percentile by nearest rank; NaN with fewer than ten values on its smaller side. p is from
// 0 to 100.
func (d *Distribution) Percentile(p float64) float64 {
	k, sum := percentileRank(d.Count(), p), uint64(0)
	if k == 0 {
		return math.NaN()
	}
	for i, c := range d.Counts {
		if sum += c; sum >= k {
			return d.Values[i]
		}
	}
	return math.NaN()
}

// maxPoints limits the values of a distribution that a run keeps.
const maxPoints = 1000

// MergeValues shortens a distribution of more than maxPoints values: it merges neighbouring values, in parts of equal
// counts, into the largest value of each part. It changes d.
func (d *Distribution) MergeValues() {
	if len(d.Values) <= maxPoints {
		return
	}
	each := float64(d.Count()) / maxPoints
	var values []float64
	var counts []uint64
	sum, held := 0.0, uint64(0)
	for i, c := range d.Counts {
		held += c
		sum += float64(c)
		if sum >= each*float64(len(values)+1) || i == len(d.Counts)-1 {
			values, counts, held = append(values, d.Values[i]), append(counts, held), 0
		}
	}
	d.Values, d.Counts = values, counts
}

// Binned is a table of a measure of flows by their size.
type Binned struct {
	Name        string    `json:"name"` // fct, slowdown
	Unit        string    `json:"unit"`
	Traffic     string    `json:"traffic"`
	Percentiles []float64 `json:"percentiles"`
	Bins        []Bin     `json:"bins"`
}

// Bin is the outcome for the finished flows of a range of sizes: FromBytes < size ≤ ToBytes.
type Bin struct {
	FromBytes   int64    `json:"from_bytes"`
	ToBytes     int64    `json:"to_bytes"`
	N           int      `json:"n"`
	Mean        Number   `json:"mean"`
	Percentiles []Number `json:"percentiles"`
}

// FlowTable is the outcome of every flow, column by column. Traffic, Src and Dst are indices
// into Names.
type FlowTable struct {
	Names                []string `json:"names"`
	Traffic              []int32  `json:"traffic"`
	Src                  []int32  `json:"src"`
	Dst                  []int32  `json:"dst"`
	SrcPort              []uint16 `json:"src_port"`
	DstPort              []uint16 `json:"dst_port"`
	SizeBytes            []int64  `json:"size_bytes"`  // 0: no end
	StartS               []Number `json:"start_s"`     // null: it did not begin
	FCTS                 []Number `json:"fct_s"`       // null: not finished, or no end
	IdealS               []Number `json:"ideal_fct_s"` // null: no end
	ReceivedBytes        []int64  `json:"received_bytes"`
	SentPackets          []int64  `json:"sent_packets"`
	RetransmittedPackets []int64  `json:"retransmitted_packets"`
}

// newFlowTable returns an empty table with capacity for n flows. There may be millions.
func newFlowTable(n int) *FlowTable {
	if n == 0 {
		return &FlowTable{}
	}
	return &FlowTable{Traffic: make([]int32, 0, n), Src: make([]int32, 0, n), Dst: make([]int32, 0, n),
		SrcPort: make([]uint16, 0, n), DstPort: make([]uint16, 0, n), SizeBytes: make([]int64, 0, n),
		StartS: make([]Number, 0, n), FCTS: make([]Number, 0, n), IdealS: make([]Number, 0, n),
		ReceivedBytes: make([]int64, 0, n), SentPackets: make([]int64, 0, n), RetransmittedPackets: make([]int64, 0, n)}
}

// Check returns an error if the columns have different lengths, or an index is not in Names.
func (t *FlowTable) Check() error {
	n := len(t.Traffic)
	for _, l := range []int{len(t.Src), len(t.Dst), len(t.SrcPort), len(t.DstPort), len(t.SizeBytes), len(t.StartS),
		len(t.FCTS), len(t.IdealS),
		len(t.ReceivedBytes), len(t.SentPackets), len(t.RetransmittedPackets)} {
		if l != n {
			return fmt.Errorf("the table of flows has columns of %d and of %d rows", n, l)
		}
	}
	for i := range n {
		for _, x := range []int32{t.Traffic[i], t.Src[i], t.Dst[i]} {
			if x < 0 || int(x) >= len(t.Names) {
				return fmt.Errorf("flow %d names entry %d of %d", i, x, len(t.Names))
			}
		}
	}
	return nil
}

// FormatJSON returns a number as JSON; null for NaN and infinities.
func FormatJSON(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "null"
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// PointName returns the name of a point for readers: "scheme=abc r0=10Mbps"; "" without a sweep.
func PointName(point []Coordinate) string {
	var s []string
	for _, c := range point {
		s = append(s, c.Key+"="+c.Text)
	}
	return strings.Join(s, " ")
}

// Values is the outcome of one run's measures. Numbers are in base units; a measure's JSON name includes the unit
// (goodput_bps).
type Values struct {
	Measures []Measured
	Bins     []Binned

	// Only in a run's own file:
	Series        []Series
	Distributions []Distribution
	Histograms    []Histogram
	Timelines     []*Timeline
	Flows         *FlowTable
}

// FindMeasure returns the measure with the given name; nil if it does not exist. The result points into v.
func (v *Values) FindMeasure(name string) *Measured {
	for i := range v.Measures {
		if v.Measures[i].Name == name {
			return &v.Measures[i]
		}
	}
	return nil
}

// Histogram counts samples of a quantity in bins of its unit.
type Histogram struct {
	Name   string   `json:"name"`   // queue
	Unit   string   `json:"unit"`   // kB: sample b counts in Counts[b/1000]
	Group  string   `json:"group"`  // s1->server
	Counts []uint64 `json:"counts"` // up to the largest sample's bin
}

// addSample counts a sample in bytes in its bin of 1000. A negative one counts as 0.
func (h *Histogram) addSample(bytes int64) {
	step := max(bytes, 0) / 1000
	for int64(len(h.Counts)) <= step {
		h.Counts = append(h.Counts, 0)
	}
	h.Counts[step]++
}

// FindDistribution returns the distribution with a name and a group; an empty one if it does not exist. An existing one
// is in v.
func (v *Values) FindDistribution(name, group string) *Distribution {
	for i := range v.Distributions {
		if d := &v.Distributions[i]; d.Name == name && d.Group == group {
			return d
		}
	}
	return &Distribution{}
}

// distributionOf returns the distribution of ascending values.
func distributionOf(name, unitName, group string, ascending []float64) Distribution {
	d := Distribution{Name: name, Unit: unitName, Group: group}
	for _, v := range ascending {
		d.Add(v, 1)
	}
	return d
}

// Dimension is one key of the sweep with its values.
type Dimension struct {
	Key    string
	Values []Coordinate
}

// IsNumeric reports whether all values of the dimension are quantities; true without values.
func (d *Dimension) IsNumeric() bool {
	for _, v := range d.Values {
		if !v.IsNum {
			return false
		}
	}
	return true
}

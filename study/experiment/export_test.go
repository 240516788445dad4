package experiment

import (
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/claim"
	"weir/study/experiment/plots"
	"weir/study/measure"
)

// Shape is what runs of an experiment have.
func Shape(s *Spec) *measure.Values { return s.shape() }

// LimitPoints sets the limits of the points of a sweep: of the nodes, links and listed flows of all together, and of
// the bytes that they take.
func (o *Options) LimitPoints(parts int, memory int64) { o.limits = &pointLimits{parts, memory} }

// Tables are the tables of the keys of experiments, as docs/spec.md names them.
var Tables = []struct {
	Name  string
	Table *document.Table
}{
	{"top-level", top}, {"repeat", need},
	{"topology", network}, {"link", link}, {"switches", perSwitch}, {"recirculation", recirculation},
	{"clock", clock}, {"traffic", traffic}, {"sizes", sizes}, {"sets", sets}, {"ports", ports}, {"events", event},
	{"stalls", stalls}, {"iterations", iterations},
	{"framing", switchfile.LineKeys},
	{"without", without}, {"tables", tables},
	{"ratio", claim.RatioTable}, {"plot", plots.Table}, {"expect", claim.Table},
	{"paper", paper}, {"values", paperValue}, {"from", drawn}, {"to", strided},
}

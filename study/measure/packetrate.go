package measure

import (
	"weir/core/outcome"
)

// packetRate is how many packets a port has sent: what a NIC has to take in and an engine to work through,
// whatever their bytes. Of a port that only acknowledgements leave by, it is their rate.
type packetRate struct{ port }

// Needs is what the port has sent.
func (m *packetRate) Needs(*Point, *outcome.Load) Needs { return m.watch(outcome.SentPackets) }

// Evaluate adds it.
func (m *packetRate) Evaluate(e *Evaluation) {
	e.Add(Measured{Name: "packet_rate", Unit: "pps",
		Groups: []Grouped{{Group: m.label, Value: float64(e.Result.Ports[m.index].TxPackets) / e.seconds}}})
	if m.every > 0 {
		e.AddSeries("packet_rate", "pps", m.label, m.every, e.sent(m.every, 1))
	}
}

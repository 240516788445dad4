package measure

import (
	"weir/core/outcome"
)

// packetRate measures the packets per second that a port has sent. For NICs and engines they are the load, more than
// the bytes. If a port sends only acknowledgements it is their rate.
type packetRate struct{ port }

// ListNeeds requests samples of the port's sent packets, if `every` is given.
func (m *packetRate) ListNeeds(*Point, *outcome.Load) Needs { return m.watchPort(outcome.SentPackets) }

// AddValues adds the mean rate, and with `every` the rate over time.
func (m *packetRate) AddValues(e *Evaluation) {
	e.Add(Measured{Name: "packet_rate", Unit: "pps",
		Groups: []GroupValue{{Group: m.label, Value: float64(e.Result.Ports[m.index].TxPackets) / e.seconds}}})
	if m.every > 0 {
		e.AddSeries("packet_rate", "pps", m.label, m.every, e.sentRates(m.every, 1))
	}
}

package schemelint

import (
	"testing"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/testkit/warntest"
)

// watched returns the warnings about a program with admit's verdicts on packets of data.
func watched(admit func(p *packet.Packet) dataplane.Verdict) func(*testing.T, bool) []document.Warning {
	return func(t *testing.T, fires bool) []document.Warning {
		return issued(find(t, registry(program{admit: func(p *packet.Packet) dataplane.Verdict {
			if fires {
				return admit(p)
			}
			return dataplane.Accept
		}}), "transport: udp, rate: 8Mbps"))
	}
}

// issued returns the warnings for the mistakes that are not fatal.
func issued(found []Mistake) (all []document.Warning) {
	for _, x := range found {
		if !x.Fatal {
			all = append(all, document.Warning{Kind: x.Kind, Text: x.Text})
		}
	}
	return all
}

// TestWarnings_FireAndStayQuiet checks that each kind of mistake that is not fatal is found in one program or
// controller, and not in another.
func TestWarnings_FireAndStayQuiet(t *testing.T) {
	warntest.Run(t, []warntest.Row{
		{ID: "trap-drops", Issue: watched(func(*packet.Packet) dataplane.Verdict {
			return dataplane.Drop(dataplane.EarlyDrop)
		})},
		{ID: "trap-marks", Issue: watched(func(p *packet.Packet) dataplane.Verdict {
			p.TOS |= packet.CE
			return dataplane.Accept
		})},
		{ID: "trap-costs", Issue: watched(func(p *packet.Packet) dataplane.Verdict {
			taken = make([]byte, p.Size)
			return dataplane.Accept
		})},
		{ID: "trap-controller", Issue: func(t *testing.T, fires bool) []document.Warning {
			r := registry(program{admit: func(*packet.Packet) dataplane.Verdict { return dataplane.Accept }})
			mine := cubic.Scheme()
			build := mine.Build
			mine.Name = "mine"
			mine.Build = func(f cc.Flow, c scheme.Config) (cc.Controller, error) {
				own, err := build(f, c)
				return &controller{Controller: own, ack: func(c *controller, a *cc.Ack) {
					if fires {
						c.more = unit.Bytes(a.ECN.Delivered) // which no packet carries
					}
				}}, err
			}
			r.Controllers = append(r.Controllers, mine)
			return issued(find(t, r, "transport: tcp, cc: mine"))
		}},
	}, nil)
}

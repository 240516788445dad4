package e2e

import (
	"testing"

	"weir/app"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/internal/testkit/warntest"
	"weir/study/experiment"
)

// opaque is a program whose configuration declares no traits. It accepts packets and chooses no port.
type opaque struct{}

func (opaque) Name() string { return "opaque" }
func (opaque) Ingress(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	return dataplane.Accept
}

// opaqueWarnings returns the warnings about an experiment with the program opaque, standalone or behind forward.
func opaqueWarnings(t *testing.T, standalone bool) []document.Warning {
	r := app.Registry()
	r.Programs = append(r.Programs, dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "opaque", Doc: "accepts packets", Source: "tests"},
		Build:  func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return opaque{}, nil },
	})
	programs := "forward, opaque"
	if standalone {
		programs = "opaque"
	}
	return plantest.Load(t, r, fabric(programs, "tcp", ""), experiment.Options{}).Warnings()
}

// TestDropsEarly_OfFullBuffersIsNoSignal checks that programs which only choose the packets that a full buffer drops
// do not count as a signal at ports without a limit.
func TestDropsEarly_OfFullBuffersIsNoSignal(t *testing.T) {
	const kind = "cc-no-signal" // its row is in warned
	text := `duration: 1ms
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 200Gbps, delay: 2us}
    - {ends: [s, b], rate: 100Gbps, delay: 2us}
switches: {s: {queues: 2, scheduler: least, programs: [forward#]}}
traffic: [{name: x, from: a, to: b, transport: tcp, cc: ¦cubic}]
measure: [goodput]
`
	for _, fires := range []string{", fdpa", ", {ppv: {drop: smallest}}"} {
		warntest.Run(t, []warntest.Row{{ID: kind, Text: text, Fires: fires, Quiet: ", {ppv: {target: 10us, update: 15ms}}",
			Port: "s->b"}}, experimentWarnings)
	}
}

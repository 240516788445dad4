package schemelint_test

import (
	"fmt"
	"strings"

	"weir/core/cc"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/schemelint"
)

// heedless is Reno that responds to the queue of its path's last hop, but does not request it.
type heedless struct{ cc.Controller }

func (h heedless) OnAck(now unit.Time, a *cc.Ack) {
	if n := len(a.Telemetry.Hops); n == 0 || a.Telemetry.Hops[n-1].Queue < 10_000 {
		h.Controller.OnAck(now, a)
	}
}

// Example runs the beginning of an experiment and finds a controller that reads telemetry without asking for it.
func Example() {
	mine := reno.Scheme()
	mine.Name = "mine"
	build := mine.Build
	mine.Build = func(f cc.Flow, c scheme.Config) (cc.Controller, error) {
		x, err := build(f, c)
		return heedless{x}, err
	}
	registry, watched := schemelint.Watch(&experiment.Registry{Measures: measure.Definitions(),
		Topologies: topology.Schemes(),
		Programs:   []dataplane.Scheme{forward.Scheme()}, Transports: []transport.Scheme{tcp.Scheme()},
		Controllers: []cc.Scheme{mine}})
	s, err := plan.Load(registry, &experiment.Source{Name: "mine", File: "mine.yaml", Data: []byte(`duration: 1s
topology: {dumbbell: {hosts: 1, rate: 100Mbps, bottleneck: 10Mbps, delay: 1ms}}
switch: [forward]
traffic:
  - {name: x, from: left0, to: right0, transport: tcp, cc: mine}
measure: [goodput]
`)}, experiment.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, _ := watched.Find(s)
	for _, t := range found {
		text, _, _ := strings.Cut(t.Text, ",")
		fmt.Println(text)
	}
	// Output:
	// mine.yaml:5:60: cc mine: it reads telemetry (Ack.Telemetry) and asks for none
}

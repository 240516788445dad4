package e2e

import (
	"fmt"
	"slices"
	"testing"

	"weir/app"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
)

// managed is a way to manage a queue, in a file's notation: the switch's programs after forward, and its other
// keys.
type managed struct {
	name, programs, keys string
	// most limits the wait of the median packet, in targets of the scheme; least is the minimum share of the link that
	// its senders use
	target unit.Time
	most   float64
	least  float64
	// each is the number of frames that a flow may have in the queue at any target: its law uses a separate list
	each int
}

// crowded has the given number of CUBIC flows of each of three hosts over one link, with a round trip of 30 ms and
// a buffer of 400 ms.
const crowded = `duration: %s
warmup: %s
topology: {dumbbell: {hosts: 3, rate: 10Gbps, bottleneck: %v, delay: 5ms, buffer: %v}}
switches: {"*": {programs: [forward%s]%s}}
traffic: [{name: x, from: "left*", to: right0, transport: tcp, cc: cubic, flows: %d, start: 0s..10ms}]
measure: [goodput]
`

// measureQueue runs the flows. It returns the median of the queue as time at the link's rate, and the used share of the
// link.
func (m managed) measureQueue(t *testing.T, rate unit.Rate, flows int, seconds float64) (median unit.Time,
	used float64) {
	t.Helper()
	buffer := rate.BytesIn(400 * unit.Millisecond)
	text := fmt.Sprintf(crowded, unit.Time(seconds*float64(unit.Second)), unit.Time(seconds*float64(unit.Second)/2),
		rate, buffer, m.programs, m.keys, flows)
	c := plantest.Configure(t, app.Registry(), text)
	port := 2 * (len(c.Wiring.Network.Links) - 1) // the last link, from the left
	c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: port, Every: unit.Millisecond})
	out := plantest.Simulate(t, c)
	queue := slices.Clone(out.Watched[0])
	queue = queue[len(queue)/2:]
	slices.Sort(queue)
	bytes := int64(0)
	for i := range out.Flows {
		bytes += int64(out.Flows[i].Receiver.ReceivedBytes)
	}
	return unit.TransmitTime(unit.Bytes(queue[len(queue)/2]), rate), float64(bytes) * 8 / float64(rate) /
		out.Measured.Seconds()
}

// schemes are Weir's ways to manage a queue.
var schemes = []managed{
	{name: "tail drop", target: 400 * unit.Millisecond, most: 1, least: 0.9},
	{name: "codel", programs: ", codel", target: 5 * unit.Millisecond, most: 4, least: 0.8},
	{name: "fq_codel", keys: ", scheduler: fq_codel", target: 5 * unit.Millisecond, most: 4, least: 0.8,
		each: 2},
	{name: "cake", keys: ", scheduler: cake", target: 5 * unit.Millisecond, most: 4, least: 0.8, each: 4},
	{name: "red", programs: ", red", target: 5 * unit.Millisecond, most: 4, least: 0.8},
	{name: "dualpi2", programs: ", dualpi2", keys: ", queues: 2, scheduler: {deadline: {step: 50ms}}",
		target: 15 * unit.Millisecond, most: 3, least: 0.8},
	{name: "dualpi2, weighted round robin", programs: ", dualpi2",
		keys: ", queues: 2, scheduler: {dwrr: {weights: {0: 15}}}", target: 15 * unit.Millisecond, most: 3, least: 0.8},
	{name: "pie, active from 2 %", programs: ", {pie: {active_from: 2%}}",
		target: 15 * unit.Millisecond, most: 3, least: 0.8},
	{name: "pie", programs: ", pie", target: 15 * unit.Millisecond, most: 3, least: 0.8},
}

// holds runs the flows, and checks the queue and the use of the link against the scheme's target.
func (m managed) holds(t *testing.T, rate unit.Rate, flows int, seconds float64) {
	t.Helper()
	median, used := m.measureQueue(t, rate, flows, seconds)
	t.Logf("median %v, used %.3f", median, used)
	own := unit.TransmitTime(unit.Bytes(3*flows*m.each*1514), rate)
	if most := unit.Time(m.most*float64(m.target)) + own; median > most || used < m.least {
		t.Errorf("the median queue is %v, want at most %v; %.2f of the link are used, want %.2f", median, most, used, m.least)
	}
	if m.name == "tail drop" && rate < unit.Gbps && median < 100*unit.Millisecond {
		t.Errorf("tail drop has a queue of %v: the load would not show a standing queue", median)
	}
}

// TestStandingQueue checks that each scheme keeps the queue near its target and the link busy at 10 Mb/s, with one
// flow of CUBIC per host. The slow stage has more flows and rates.
func TestStandingQueue(t *testing.T) {
	for _, m := range schemes {
		t.Run(m.name, func(t *testing.T) { m.holds(t, 10*unit.Mbps, 1, 20) })
	}
}

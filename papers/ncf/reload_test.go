package ncf

import (
	"reflect"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/unit"
)

// TestBuiltForNewRates checks that d, memory and thresholds follow from the rates and limits that will hold, also where
// the live ports still have the last file's.
func TestBuiltForNewRates(t *testing.T) {
	const ports = 2
	newLimit := tm.Limit{Bytes: 1 << 20}
	build := func(live unit.Rate, limit tm.Limit, given ...string) *Program {
		site := &dataplane.Site{Switch: "s", Ports: ports, Queues: 1, MaxFrame: 1514,
			Random: func(entity string) unit.Random { return unit.NewRandom(1, entity) }}
		for range ports {
			site.At = append(site.At, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, limit), tm.NewFIFO(), unit.LinkRate{Bits: live}))
			site.Lines = append(site.Lines, dataplane.Line{Rate: unit.LinkRate{Bits: 3 * unit.Mbps}})
			site.Limits = append(site.Limits, newLimit)
		}
		p, err := dataplanetest.BuildProgram(Scheme(), site, given...)
		if err != nil {
			t.Fatal(err)
		}
		if !site.LimitsRead {
			t.Error("the program is not built again where buffers change")
		}
		return p.(*Program)
	}
	for _, given := range [][]string{{"form", "ece"}, {"form", "ece", "round_trip", "20ms"},
		{"form", "ece", "round_trip", "20ms", "senders", "50"}, {"form", "ece", "pool", "switch"},
		{"form", "ece", "memory", "2MB"}} {
		fresh := build(3*unit.Mbps, newLimit, given...)
		for _, live := range []unit.Rate{100, 1000, 20 * unit.Mbps, 400 * unit.Gbps} {
			p := build(live, tm.Limit{Packets: 100}, given...)
			if p.config != fresh.config {
				t.Errorf("%v after %v: %+v, want %+v", given, live, p.config, fresh.config)
			}
			for i := range p.ports {
				x, y := &p.ports[i], &fresh.ports[i]
				if x.input != y.input || x.offer != y.offer || !reflect.DeepEqual(x.memory, y.memory) {
					t.Errorf("%v after %v: port %d: %+v %+v %+v, want %+v %+v %+v", given, live, i, x.input, x.offer, x.memory,
						y.input, y.offer, y.memory)
				}
			}
		}
	}
}

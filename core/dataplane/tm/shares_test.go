package tm

import (
	"fmt"
	"math"
	"testing"

	"weir/core/unit"
)

// TestPort_MinQueueSharesMatchSchedulers checks that MinQueueShare returns a queue's part while all are busy: its
// share, or its guarantee and its part of the rest. Only the former is fixed. Telemetry takes it for the class's port
// (inband), while a guarantee lets classes have more.
func TestPort_MinQueueSharesMatchSchedulers(t *testing.T) {
	ncf, err := NewNCF(4, NCF{Control: 0.05, Mice: 0.1, Elephants: 0.2}, unit.Gbps, 1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	needed, err := NewNCF(4, NCF{Control: 0.05, Mice: 0.1, Elephants: 0.2}, unit.Gbps, 1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	needed.(*guarantee).SetAsNeeded(unit.Second)
	even, err := NewGuarantee([]Share{{Guarantee: 0.5, Ceiling: 1}, {Ceiling: 1}}, unit.Gbps, 1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name      string
		scheduler Scheduler
		fixed     bool
		want      []float64 // nil: nothing is promised
	}{
		{"ncf", ncf, false, []float64{0.05, 0.1 + 0.65/2, 0.1 + 0.65/4, 0.1 + 0.65/4}},
		{"ncf, mice as needed", needed, false, []float64{0.05, 0.75, 0.1, 0.1}},
		{"guarantee", even, false, []float64{0.75, 0.25}},
		{"dwrr", NewDWRR([]int32{1, 3}, 1514), true, []float64{0.25, 0.75}},
		{"strict", NewStrict(), false, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := NewPort(NewBuffer(max(len(x.want), 1), Limit{}, Limit{}), x.scheduler, unit.LinkRate{Bits: unit.Gbps})
			for q, want := range x.want {
				if got, ok := p.MinQueueShare(QueueID(q)); !ok || math.Abs(got-want) > 1e-9 {
					t.Errorf("queue %d has %g, want %g", q, got, want)
				}
			}
			if _, ok := p.MinQueueShare(0); ok != (x.want != nil) {
				t.Errorf("something is promised: %v", ok)
			}
			if ok := p.HasShares(); ok != x.fixed {
				t.Errorf("shares are fixed: %v", ok)
			}
		})
	}
}

// TestSharesUnderPriority checks that queues in strict priority over a deficit round robin have no share, and that the
// others share the rest. The scheduler promises the whole rate to the first queue and no part of it to the others.
func TestSharesUnderPriority(t *testing.T) {
	for queues := 2; queues <= 8; queues++ {
		weights := make([]int32, queues)
		for q := range weights {
			weights[q] = int32(1 + 3*q%5)
		}
		for priority := range queues + 1 {
			t.Run(fmt.Sprintf("%d of %d", priority, queues), func(t *testing.T) {
				p := NewPort(NewBuffer(queues, Limit{}, Limit{}), NewPriorityDWRR(priority, weights, 1514),
					unit.LinkRate{Bits: unit.Gbps})
				all := 0.0
				for _, w := range weights[priority:] {
					all += float64(w)
				}
				for q, w := range weights {
					want := 1.0
					if q >= priority {
						want = float64(w) / all
					}
					if got, ok := p.QueueShare(QueueID(q)); ok != (q >= priority) || math.Abs(got-want) > 1e-9 {
						t.Errorf("queue %d has the share %g, %v; want %g", q, got, ok, want)
					}
					got, ok := p.MinQueueShare(QueueID(q))
					if ok != (priority == 0 || q == 0) || ok && math.Abs(got-want) > 1e-9 {
						t.Errorf("queue %d is promised %g, %v", q, got, ok)
					}
				}
				if p.HasShares() != (priority < queues) {
					t.Errorf("shares are fixed: %v", p.HasShares())
				}
			})
		}
	}
}

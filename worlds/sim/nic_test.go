package sim

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/unit"
)

// TestHost_ServesQueuePairsRoundRobin checks that a host's NIC serves its queue pairs round robin, one packet each,
// with acknowledgements before them all (HPCC simulator). A class that PFC has paused is skipped, the others continue,
// and it returns with its turn.
func TestHost_ServesQueuePairsRoundRobin(t *testing.T) {
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: leafSpine(2, 1, unit.Length{})}, Duration: unit.Second}
	lossless(t, c, 4, []string{"alpha", "0"}, nil)
	for i, class := range []uint8{0, 2, 0, 3} {
		greedy(c, 0, 2+i%2, unit.MB, 0, class)
	}
	greedy(c, 2, 0, unit.MB, 0, 2) // what it acknowledges
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.fabric.Run(0, nil)
	h := s.hosts[0]
	now := unit.Time(0)
	take := func(n int) string {
		order := ""
		for range n {
			now += unit.Microsecond
			p, _ := h.Dequeue(now, 0)
			if p == nil {
				order += "-"
				continue
			}
			order += fmt.Sprint(p.Flow)
		}
		return order
	}
	arrive := func(kind packet.Kind, class uint8) {
		p := s.threads[0].pool.Get()
		p.Kind, p.Meta.Class = kind, class
		h.Receive(now, 0, p)
	}
	if got := take(12); got != "123012301230" { // the first packet went at time 0
		t.Errorf("round robin: %s", got)
	}
	p := s.threads[0].pool.Get()
	p.Flow, p.Src, p.Dst = 4, 3, 1
	c.Endpoints[4].Sender.Emit(now, p)
	h.Receive(now, 0, p)
	if got := take(5); got != "41230" {
		t.Errorf("an acknowledgement: %s", got)
	}
	arrive(packet.Pause, 2)
	if got := take(7); got != "2302302" {
		t.Errorf("class 2 paused: %s", got)
	}
	arrive(packet.Pause, 0)
	if got := take(3); got != "333" {
		t.Errorf("class 0, too: %s", got)
	}
	arrive(packet.Resume, 2)
	if got := take(4); got != "3131" && got != "1313" {
		t.Errorf("class 2 again: %s", got)
	}
	arrive(packet.Resume, 0)
	if got := take(8); got[:4] != got[4:] || strings.Count(got[:4], "0")*strings.Count(got[:4], "1")*strings.Count(got[:4],
		"2")*strings.Count(got[:4], "3") != 1 {
		t.Errorf("all again: %s", got)
	}
}

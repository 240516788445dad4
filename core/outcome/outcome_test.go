package outcome

import (
	"strings"
	"testing"

	"weir/core/topology"
	"weir/core/unit"
)

// TestWatchSamples checks that a watch samples from the later of the warm-up's end and its own From, and before its
// Until.
func TestWatchSamples(t *testing.T) {
	for _, c := range []struct {
		from, until unit.Time
		want        int64
	}{{0, 0, 4}, {11, 0, 3}, {5, 16, 2}, {0, 17, 3}, {18, 0, 1}, {20, 0, 0}, {0, 9, 0}} {
		w := Watch{Every: 3, From: c.from, Until: c.until}
		if n := w.Samples(10, 19); n != c.want {
			t.Errorf("%+v has %d samples, want %d", c, n, c.want)
		}
	}
}

// TestSelectionCheck checks that each impossible watch and onset is an error that names it. The network is a host, a
// switch and a host. Ports 1 and 2 are the switch's.
func TestSelectionCheck(t *testing.T) {
	n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "s", Switch: true}, {Name: "b"}},
		Links: []topology.Link{{Ends: [2]int{0, 1}}, {Ends: [2]int{1, 2}}}}
	onset := Onset{Port: 1, Above: unit.Length{Packets: 1}, By: 0.5, Flows: []int{0}}
	valid := Selection{Watches: []Watch{{What: QueueBytes, Index: 3, Every: 1}, {What: RTT, Index: 1, Every: 1},
		{What: BufferBytes, Index: 1, Every: 1}, {What: MessageBytes, Index: 0, Every: 1}}, Onsets: []Onset{onset,
		{Port: -1, By: 0.5, Flows: []int{1}}}}
	if err := valid.Check(n, 2, 1); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(s *Selection){
		"watch 0: port":       func(s *Selection) { s.Watches[0].Index = 4 },
		"watch 1: flow":       func(s *Selection) { s.Watches[1].Index = 2 },
		"watch 2: host":       func(s *Selection) { s.Watches[2].Index = 0 },
		"watch 3: job":        func(s *Selection) { s.Watches[3].Index = 1 },
		"watch 1: period":     func(s *Selection) { s.Watches[1].Every = 0 },
		"onset 0: host":       func(s *Selection) { s.Onsets[0].Port = 0 },
		"onset 0: port":       func(s *Selection) { s.Onsets[0].Port = 4 },
		"onset 0: threshold":  func(s *Selection) { s.Onsets[0].Above = unit.Length{} },
		"onset 1: share":      func(s *Selection) { s.Onsets[1].By = 1 },
		"onset 1: time":       func(s *Selection) { s.Onsets[1].After = -1 },
		"onset 1: same flow":  func(s *Selection) { s.Onsets[1].Flows = []int{0} },
		"onset 1: other flow": func(s *Selection) { s.Onsets[1].Flows = []int{2} },
	} {
		s := Selection{Watches: append([]Watch(nil), valid.Watches...), Onsets: append([]Onset(nil), valid.Onsets...)}
		change(&s)
		what, _, _ := strings.Cut(name, ":")
		if err := s.Check(n, 2, 1); err == nil || !strings.HasPrefix(err.Error(), what+" ") &&
			!strings.HasPrefix(err.Error(), what+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAddRepeated checks that counters that are added n times grow as if the same had been counted n more times. Delays
// keep their extremes.
func TestAddRepeated(t *testing.T) {
	var first, last, sum RankCounters
	first.Sent.SentPackets, first.Received.DelayMin, first.Received.DelayMax = 5, 7, 9
	last = first
	last.Add(&RankCounters{Timeouts: 2, Got: 30})
	last.Sent.SentPackets, last.Sent.SentBytes, last.Received.DelaySum = 8, 3000, 24
	sum = last
	sum.AddRepeated(4, &first, &last)
	if s := &sum.Sent; s.SentPackets != 8+4*3 || s.SentBytes != 15000 || sum.Timeouts != 10 || sum.Got != 150 ||
		sum.Received.DelaySum != 120 || sum.Received.DelayMin != 7 || sum.Received.DelayMax != 9 {
		t.Errorf("%+v", sum)
	}
}

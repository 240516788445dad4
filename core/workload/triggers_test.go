package workload

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/unit"
)

// chained reads a connection matrix of four nodes.
func chained(connections int, lines string) ([]Flow, []Trigger, error) {
	m, err := ReadHTSimTriggers(strings.NewReader(fmt.Sprintf("Nodes 4\nConnections %d\n%s", connections, lines)), "x.cm",
		unit.Microsecond)
	return m.Flows, m.Triggers, err
}

// TestReadHTSimTriggers_JoinFlowsByNumber checks that triggers join flows by their numbers, for any order of lines, and
// that each kind begins the right flows.
func TestReadHTSimTriggers_JoinFlowsByNumber(t *testing.T) {
	flows, triggers, err := chained(5, `Triggers 3
trigger id 7 multishot
0->1 id 1 start 3 size 10 send_done_trigger 7 recv_done_trigger 9
1->2 id 2 start 0 size 10 send_done_trigger 7
2->3 id 3 trigger 7 size 20
3->0 id 4 trigger 7 size 20 send_done_trigger 9
0->2 id 5 trigger 9 size 30
trigger id 9 barrier count 2
trigger id 1 oneshot
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(flows) != 5 || flows[0].Start != 3*unit.Microsecond || flows[2].Start != 0 || flows[4].Size != 30 {
		t.Errorf("%+v", flows)
	}
	want := "[{1 0 [0 1] [] [2 3] 4} {2 2 [3] [0] [4] 10} {0 0 [] [] [] 11}]"
	if got := fmt.Sprint(triggers); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, c := range []struct {
		kind  TriggerKind
		count int
		want  string
	}{{OneShot, 0, "[[4 5 6] [] []]"}, {MultiShot, 0, "[[4] [5] [6]]"}, {Barrier, 2, "[[] [4 5 6] []]"}} {
		x := Trigger{Kind: c.kind, Count: c.count, Begins: []int{4, 5, 6}}
		if got := fmt.Sprint([][]int{x.BegunBy(1), x.BegunBy(2), x.BegunBy(3)}); got != c.want {
			t.Errorf("kind %d: %s, want %s", c.kind, got, c.want)
		}
	}
}

// TestReadHTSimTriggers_BarrierWaitsForAll checks that a barrier without a number waits for all flows that activate it.
func TestReadHTSimTriggers_BarrierWaitsForAll(t *testing.T) {
	for _, text := range []string{"barrier", "barrier 2", "barrier count 2"} {
		t.Run(text, func(t *testing.T) {
			_, triggers, err := chained(3, "0->1 start 0 size 1 send_done_trigger 1\n1->2 start 0 size 1 recv_done_trigger 1\n"+
				"2->3 trigger 1 size 1\ntrigger id 1 "+text+"\n")
			if err != nil || triggers[0].Count != 2 {
				t.Errorf("%+v, %v", triggers, err)
			}
		})
	}
}

// TestBadTriggers checks that errors about impossible triggers have the line and what is possible.
func TestBadTriggers(t *testing.T) {
	for name, c := range map[string]struct {
		connections int
		lines       string
		at, want    string
	}{
		"unknown": {1, "0->1 trigger 5 size 1\ntrigger id 4 oneshot\n", "x.cm:3:14",
			"there is no trigger 5; the file declares 4"},
		"unknown that is fired": {1, "0->1 start 0 size 1 send_done_trigger 5\n", "x.cm:3:39",
			"there is no trigger 5; the file declares none"},
		"nobody": {1, "0->1 trigger 4 size 1\ntrigger id 4 oneshot\n", "x.cm:4:1",
			"nothing activates trigger 4, for which the flow of line 3 waits"},
		"itself": {1, "0->1 trigger 4 size 1 send_done_trigger 4\ntrigger id 4 oneshot\n", "x.cm:3:14", "of lines 3"},
		"circle": {3, "0->1 trigger 1 size 1 send_done_trigger 2\n1->2 trigger 2 size 1 recv_done_trigger 1\n" +
			"2->3 start 0 size 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n", "x.cm:3:14", "of lines 3, 4"},
		"barrier in a circle": {3, "0->1 start 0 size 1 send_done_trigger 1\n1->2 trigger 1 size 1 send_done_trigger 1\n" +
			"2->3 start 0 size 1\ntrigger id 1 barrier 2\n", "x.cm:4:14", "of lines 4"},
		"too few": {2, "0->1 start 0 size 1 send_done_trigger 1\n1->2 trigger 1 size 1\ntrigger id 1 barrier 3\n",
			"x.cm:5:1", "barrier 1 waits for 3 activations, and there are 1; the flow of line 4 waits"},
		"shots": {3, "0->1 start 0 size 1 send_done_trigger 1\n1->2 trigger 1 size 1\n1->3 trigger 1 size 1\n" +
			"trigger id 1 multishot\n", "x.cm:6:1", "trigger 1 is activated 1 times, and 2 flows wait, the first in line 4"},
		"twice":   {0, "trigger id 1 oneshot\ntrigger id 1 oneshot\n", "x.cm:4:12", "declared twice, first in line 3"},
		"kind":    {0, "trigger id 1 never\n", "x.cm:3:14", "oneshot, multishot and barrier"},
		"no kind": {0, "trigger id 1\n", "x.cm:3:13", "oneshot, multishot or barrier is missing"},
		"no id":   {0, "trigger 1 oneshot\n", "x.cm:3:1", "trigger id n"},
		"same id": {2, "0->1 id 7 start 0 size 1\n1->2 id 7 start 0 size 1\n", "x.cm:4:9",
			"the id 7 is taken by the connection of line 3"},
		"number":    {0, "trigger id x oneshot\n", "x.cm:3:12", "a number from 0"},
		"behind":    {0, "trigger id 1 oneshot 5\n", "x.cm:3:22", "stands behind the trigger"},
		"count":     {0, "trigger id 1 barrier count\n", "x.cm:3:27", "the number of activations is missing"},
		"more":      {0, "Triggers 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n", "x.cm:5:1", "more than the 1 triggers"},
		"fewer":     {0, "Triggers 2\ntrigger id 1 oneshot\n", "x.cm:4:21", "after 1 of the 2 triggers"},
		"both":      {1, "0->1 start 0 trigger 1 size 1\ntrigger id 1 oneshot\n", "x.cm:3:1", "a start and a trigger"},
		"no size":   {1, "0->1 trigger 1\ntrigger id 1 oneshot\n", "x.cm:3:15", "the size is missing"},
		"no number": {1, "0->1 size 1 trigger\n", "x.cm:3:20", "the trigger is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := chained(c.connections, c.lines)
			if err == nil || !strings.HasPrefix(err.Error(), c.at+":") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s: … %s", err, c.at, c.want)
			}
		})
	}
	// a reader that does not support triggers returns an error
	if _, err := readHTSimFlows(strings.NewReader("Nodes 2\nConnections 0\ntrigger id 1 oneshot\n"), "x",
		unit.Second); err == nil || !strings.Contains(err.Error(), "triggers are not possible") {
		t.Errorf("%v", err)
	}
}

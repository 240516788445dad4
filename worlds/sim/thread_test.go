package sim

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/fabric"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// TestDivideNodes_KeepsNeighboursTogether checks that hosts are divided by their flows' load, neighbours together.
// Switches go to the part of the majority of their neighbours.
func TestDivideNodes_KeepsNeighboursTogether(t *testing.T) {
	n := &topology.Network{}
	for range 8 {
		n.Nodes = append(n.Nodes, topology.Node{})
	}
	var links []fabric.Link
	join := func(a, b int, delay unit.Time) {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{a, b}, Delay: delay})
		links = append(links, fabric.Link{From: a, To: b, Delay: delay}, fabric.Link{From: b, To: a, Delay: delay})
	}
	for leaf := range 4 { // nodes 8 to 11, two hosts each; 12 and 13 are spines
		n.Nodes = append(n.Nodes, topology.Node{Switch: true})
		join(2*leaf, 8+leaf, unit.Microsecond)
		join(2*leaf+1, 8+leaf, unit.Microsecond)
	}
	for spine := 12; spine < 14; spine++ {
		n.Nodes = append(n.Nodes, topology.Node{Switch: true})
		for leaf := range 4 {
			join(8+leaf, spine, unit.Microsecond)
		}
	}
	permutation, incast := []outcome.Flow{}, []outcome.Flow{}
	for h := range 8 {
		permutation = append(permutation, outcome.Flow{Src: h, Dst: (h + 3) % 8, Size: 100_000})
		if h > 0 {
			incast = append(incast, outcome.Flow{Src: h, Dst: 0, Size: 1_000_000})
		}
	}
	for _, c := range []struct {
		name    string
		flows   []outcome.Flow
		threads int
		window  unit.Time
		want    string
	}{
		{"one", permutation, 1, 0, "00000000 0000 00"},
		{"two", permutation, 2, 0, "00001111 0011 01"},
		{"four", permutation, 4, 0, "00112233 0123 01"},
		{"more than hosts", permutation, 99, 0, "01234567 0246 02"},
		{"half of all packets are at host 0", incast, 2, 0, "01111111 0111 11"},
		{"one group", permutation, 2, unit.Millisecond, "00000000 0000 00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := &Config{Wiring: wiring.Config{Network: n}, Load: outcome.Load{Flows: c.flows},
				Threads: c.threads, Window: c.window}
			of, threads := divideNodes(config, links)
			got := ""
			for i, k := range of {
				if got += string(rune('0' + k)); i == 7 || i == 11 {
					got += " "
				}
				if int(k) >= threads {
					t.Errorf("node %d is at thread %d of %d", i, k, threads)
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestGatherThreads_ReturnsPackets checks that packets that die on another thread than they were made on return.
func TestGatherThreads_ReturnsPackets(t *testing.T) {
	r := &Simulation{threads: []*thread{{}, {}}}
	for range 100 {
		var out []*packet.Packet
		for range 5000 {
			out = append(out, r.threads[0].pool.Get())
		}
		for _, p := range out {
			r.threads[1].pool.Put(p)
		}
		r.gatherThreads()
	}
	if made := r.threads[0].pool.MadeCount() + r.threads[1].pool.MadeCount(); made > 20_000 || r.livePackets() != 0 {
		t.Errorf("%d packets were made for 5000 at a time; %d are in use", made, r.livePackets())
	}
}

// TestThreadsTracedAndStopped checks that a run's trace, in either form of packets, its state when it is stopped, and
// its end do not depend on the number of threads, fewer or more than cores. (.ci/race has this test, as it is short.).
func TestThreadsTracedAndStopped(t *testing.T) {
	short := func(c *Config) { c.Duration = 400 * unit.Microsecond }
	for name, change := range map[string]func(*Config){
		"fast":       short,
		"wire":       func(c *Config) { short(c); c.Wire = true },
		"until done": func(c *Config) { untilDone(t, c) },
	} {
		want := ""
		for _, threads := range []int{1, 3, 99} {
			c := config(t, 1, change)
			c.Threads = threads
			r, text, _ := traced(t, c, "*")
			if got := fmt.Sprint(r.End, r.Time, r.Events, text); want == "" {
				want = got
			} else if got != want {
				t.Errorf("%s, %d threads: another trace: %s", name, threads, difference(got, want))
			}
		}
	}
	want := ""
	for _, threads := range []int{1, 3, 99} {
		c, asked := config(t, 1, nil), 0
		c.Threads = threads
		c.Stopped = func() bool { asked++; return asked > 150 }
		got := transcript(t, c)
		if !strings.Contains(got, `"End":"interrupted"`) {
			t.Fatalf("%d threads: %.200s", threads, got)
		}
		if want == "" {
			want = got
		} else if got != want {
			t.Errorf("stopped with %d threads: another result\n%s\n%s", threads, got, want)
		}
	}
}

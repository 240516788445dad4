package inputring

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

const us = unit.Microsecond

func makeProgram(t testing.TB, given ...string) *program {
	t.Helper()
	s := dataplanetest.Setup{Ports: make([]dataplanetest.Port, 3)}
	p, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), given...)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*program)
}

// arrivals sends packets to the program, one each gap, and returns which were taken: y or n.
func arrivals(r *program, from, gap unit.Time, ports ...int) string {
	var b strings.Builder
	for i, in := range ports {
		b.WriteByte("ny"[map[bool]int{true: 1}[r.takePacket(from+unit.Time(i)*gap, in)]])
	}
	return b.String()
}

// TestByHand checks D/D/1/K by hand: 10,000 packets/s take 100 us each; two may wait.
func TestByHand(t *testing.T) {
	zeros := make([]int, 15)
	for _, c := range []struct {
		name, want string
		gap        unit.Time
		n          int
	}{
		// at the capacity no packet waits: one that arrives when another was read finds the reader free
		{"as fast as it reads", "yyyyyyyyyyyy", 100 * us, 12},
		// one is read, two wait, and no further packet fits at that instant
		{"all at once", "yyynnn", 0, 6},
		// One arrives each 50 us: at 0 it is read until 100; at 50 it waits (1); at 100 that one is being read, and the new
		// one waits (1); 150: 2; 200: one departs, one arrives, 2; 250: full; 300: room again, and from there on every other
		// one is lost.
		{"twice as fast", "yyyyynynynyn", 50 * us, 12},
		// One each 80 us: when packet i arrives (from 0), ⌊0.8·i⌋ + 1 of those before it have begun to be read, and i −
		// ⌊0.8·i⌋ − 1 wait: two at i = 11, the first to be lost; then one less.
		{"a little faster", "yyyyyyyyyyynyyy", 80 * us, 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := arrivals(makeProgram(t, "capacity", "10kpps", "ring", "2 packets"), 0, c.gap,
				zeros[:c.n]...); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	// Without a ring a packet is taken only while no other is read.
	if got := arrivals(makeProgram(t, "capacity", "10kpps", "ring", "0 packets"), 0, 60*us,
		zeros[:6]...); got != "ynynyn" {
		t.Errorf("no ring: %s", got)
	}
}

// TestLongRun checks that in the long run the loss is 1 − capacity/rate, and 0 below the capacity. Rates are 1000 to
// 10⁷ packets/s and rings 1 to 1000 packets; jitter is included.
func TestLongRun(t *testing.T) {
	for _, capacity := range []int64{1000, 9700, 10_000_000} {
		for _, load := range []float64{0.5, 0.999, 1.01, 1.5, 10} {
			for _, ring := range []int{1, 32, 1000} {
				for _, jitter := range []string{"0%", "50%"} {
					t.Run(fmt.Sprintf("%dpps/%g/%d/%s", capacity, load, ring, jitter), func(t *testing.T) {
						r := makeProgram(t, "capacity", fmt.Sprintf("%dpps", capacity), "ring", fmt.Sprintf("%d packets", ring),
							"jitter", jitter)
						const n = 200_000
						taken := 0
						for i := range n {
							at := unit.Time(float64(i) / (load * float64(capacity)) * float64(unit.Second))
							if r.takePacket(at, 0) {
								taken++
							}
						}
						want, off := min(1, 1/load), 0.001
						if jitter != "0%" { // a random queue: below the capacity a short ring loses, too
							off = 0.12
							if ring >= 32 {
								off = 0.005
							}
						}
						if got := float64(taken) / n; got < want-off || got > want+off+float64(ring)/n {
							t.Errorf("%.4f are taken, want %.4f", got, want)
						}
					})
				}
			}
		}
	}
}

// TestProgram_PortRingsSpareLightPort checks that a ring shared by all ports loses packets from each port that arrive
// at the wrong time. Rings per port, read in turn, lose packets only from the port that sends more than its turn.
func TestProgram_PortRingsSpareLightPort(t *testing.T) {
	lost := func(rings string) (heavy, light float64) {
		r := makeProgram(t, "capacity", "10kpps", "ring", "8 packets", "rings", rings)
		var sent, gone [2]int
		next := [2]unit.Time{0, 37 * us}
		gap := [2]unit.Time{90 * us, 333 * us} // 11,111/s and 3003/s
		for next[0] < unit.Second {
			in := 0
			if next[1] < next[0] {
				in = 1
			}
			sent[in]++
			if !r.takePacket(next[in], in) {
				gone[in]++
			}
			next[in] += gap[in]
		}
		return float64(gone[0]) / float64(sent[0]), float64(gone[1]) / float64(sent[1])
	}
	if heavy, light := lost("shared"); heavy < 0.15 || light < 0.05 {
		t.Errorf("shared: %.3f and %.3f are lost", heavy, light)
	}
	// in turn: the light port is read whenever it has something; 10,000 − 3003 are left of 11,111
	if heavy, light := lost("port"); light > 0 || heavy < 0.36 || heavy > 0.38 {
		t.Errorf("port: %.3f and %.3f are lost, want 0.370 and 0", heavy, light)
	}
	// By hand: port 0 has four at once: one is read, three wait, and a fifth is lost. Port 2 has two. Then one departs
	// each 100 us, of 2, 0, 2, 0.
	r := makeProgram(t, "capacity", "10kpps", "ring", "3 packets", "rings", "port")
	arrivals(r, 0, 0, 0, 0, 0, 0, 0, 2, 2)
	for i, want := range []string{"[3 0 1]", "[2 0 1]", "[2 0 0]", "[1 0 0]"} {
		r.takePacket(unit.Time(i+1)*100*us, 1) // a packet of port 1 that comes now, and is taken away again
		r.waiting[1]--
		r.waitingTotal--
		if got := fmt.Sprint(r.waiting); got != want {
			t.Errorf("after %d reads: %s, want %s", i+1, got, want)
		}
	}
}

// TestProgram_DropsInputBeyondRing checks that packets that the switch made do not enter the ring. The same seed loses
// the same packets, and each loss is counted.
func TestProgram_DropsInputBeyondRing(t *testing.T) {
	s := dataplanetest.Setup{Ports: make([]dataplanetest.Port, 2)}
	if _, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), "capacity", "10Mbps"); err == nil ||
		!strings.Contains(err.Error(), "in packets") {
		t.Errorf("capacity in bit/s: %v", err)
	}
	if _, err := dataplanetest.BuildProgram(Scheme(), s.NewSite()); err == nil {
		t.Error("no capacity is taken")
	}
	a, err := dataplanetest.NewSingleSwitch(Scheme(), dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 2, Up: 1},
		"capacity", "10kpps", "ring", "1 packet")
	if err != nil {
		t.Fatal(err)
	}
	r := a.Program.(*program)
	var env dataplane.Env
	for i, want := range []dataplane.Verdict{dataplane.Accept, dataplane.Accept, dataplane.Drop(dataplane.InputLoss)} {
		if got := r.Ingress(&env, &packet.Packet{}); got != want {
			t.Errorf("packet %d: %v, want %v", i, got, want)
		}
	}
	own := packet.Packet{Meta: packet.Metadata{In: packet.NoPort}}
	if r.Ingress(&env, &own) != dataplane.Accept {
		t.Error("a packet that the switch made is lost at its input")
	}
}

// TestProgram_DoesNotAllocate checks that no packet allocates memory.
func TestProgram_DoesNotAllocate(t *testing.T) {
	r := makeProgram(t, "capacity", "10kpps", "rings", "port", "jitter", "10%")
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() { now += 70 * us; r.takePacket(now, 1) }); n > 0 {
		t.Errorf("%g allocations a packet", n)
	}
}

func ExampleScheme() {
	fmt.Println(Scheme().Name, Scheme().Parameters()[0].Name)
	// Output: input capacity
}

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port { return p }, nil, "capacity",
		"100kpps", "ring", "16 packets")
}

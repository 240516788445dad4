package afq

import (
	"bytes"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

// judge follows the program in the list, and keeps what each user has bid, as a sketch of unlimited size would.
type judge struct {
	t    *testing.T
	x    *program
	bids map[int32]uint64
}

func (*judge) Name() string { return "judge" }

func (j *judge) Book(env *dataplane.Env, p *packet.Packet) {
	u, perRound := j.x.table.UserOf(p), uint64(j.x.config.Round)
	round, _ := env.Port(p.Meta.Out).CurrentRound()
	j.bids[u] = max(j.bids[u], round*perRound) + uint64(math.Ceil(float64(p.Size)/j.x.table.Weight(u)))
	got := j.x.readBid(j.x.bids[p.Meta.Out], uint32(u))
	if got < j.bids[u] || got/perRound-round >= j.x.queues || uint64(p.Meta.Queue) != got/perRound%j.x.queues {
		j.t.Errorf("user %d bids %d, %d in the sketch: queue %d in round %d", u, j.bids[u], got, p.Meta.Queue, round)
	}
}

// FuzzProgram_KeepsRoundsAndOrder checks any arrivals, in a sketch of any size. It never has less than a user's bid, a
// packet is in the queue of its round, and the packets of a user keep their order.
func FuzzProgram_KeepsRoundsAndOrder(f *testing.F) {
	f.Add(uint8(255), []byte{0, 255, 31, 200, 9, 250, 40, 31, 31, 31, 29, 30, 63, 63, 28, 0, 31})
	f.Add(uint8(0), []byte("a link that is congested, and then idle for some time, and congested again for longer"))
	f.Add(uint8(3), bytes.Repeat([]byte{28, 61, 30, 0, 93}, 60))
	f.Fuzz(func(t *testing.T, columns uint8, b []byte) {
		s := ports(4, 6, 10*unit.Mbps, 25)
		c := weighed(2000, 20)
		c.Columns = int(columns) + 1
		site := s.NewSite()
		x, err := newProgram(site, c)
		if err != nil {
			t.Fatal(err)
		}
		s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x, &judge{t, x, map[int32]uint64{}}}
		script := dataplanetest.FuzzTraffic(b, 4, unit.Millisecond)
		got := dataplanetest.RunDirect(s, script)
		dataplanetest.CheckConservation(t, script, got)
		last := [4]int64{-1, -1, -1, -1}
		for _, d := range got.Departures {
			from := script[d.Seq].Port
			if d.Seq < last[from] {
				t.Errorf("packet %d of user %d leaves behind packet %d", d.Seq, from, last[from])
			}
			last[from] = d.Seq
		}
	})
}

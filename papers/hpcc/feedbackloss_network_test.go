package hpcc_test

import (
	"fmt"
	"testing"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/worlds/sim"
)

// pausing is a sender that loses a share of the packets that return, and sends no packet within some times.
type pausing struct {
	transport.Endpoint
	random   unit.Random
	share    float64
	pauses   [][2]unit.Time
	lost     int
	received int
	paused   unit.Time // until when it pauses, at the latest call
}

func (s *pausing) call(now unit.Time) {
	s.paused = 0
	for _, x := range s.pauses {
		if x[0] <= now && now < x[1] {
			s.paused = x[1]
		}
	}
}

func (s *pausing) NextSend() unit.Time { return max(s.Endpoint.NextSend(), s.paused) }

func (s *pausing) Emit(now unit.Time, p *packet.Packet) {
	s.call(now)
	s.Endpoint.Emit(now, p)
}

func (s *pausing) Advance(now unit.Time) {
	s.call(now)
	s.Endpoint.Advance(now)
}

func (s *pausing) Receive(now unit.Time, p *packet.Packet) bool {
	s.call(now)
	if s.received++; s.random.Float64() < s.share {
		s.lost++
		return false
	}
	return s.Endpoint.Receive(now, p)
}

// TestReceiverFeedbackLost checks Rx-HPCC where a hundredth or a tenth of the feedback is lost. A flow pauses for less
// than a round trip, a few, and a hundred. The link stays full and its queue short. The bound of TCP is lower, because
// it delays acknowledgements.
func TestReceiverFeedbackLost(t *testing.T) {
	for protocol, least := range map[string]float64{"rdma": 0.93, "tcp": 0.92, "udp_controlled": 0.93} {
		for _, share := range []float64{0, 0.01, 0.1} {
			t.Run(fmt.Sprint(protocol, " ", share), func(t *testing.T) {
				port, lost, received := 0, 0, 0
				var all []*pausing
				r := runNetwork(t, fmt.Sprintf(`
duration: 2ms
warmup: 1ms
topology: {dumbbell: {hosts: 4, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps, buffer: 64MB}}
mtu: 1000 B payload
switches: {"*": {programs: [ecmp, telemetry]}}
traffic: [{name: x, from: "left*", to: right0, transport: %s, cc: rx_hpcc, start: 0s..10us}]
`, protocol), func(c *sim.Config) {
					port = 2 * (len(c.Wiring.Network.Links) - 1)
					c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: port, Every: us})
					for i := range c.Flows {
						s := &pausing{Endpoint: c.Endpoints[i].Sender, random: unit.NewRandom(uint64(i), "feedback"), share: share}
						if i == 0 {
							s.pauses = [][2]unit.Time{{1200 * us, 1203 * us}, {1500 * us, 1520 * us}, {2 * ms, 2500 * us}}
						}
						c.Endpoints[i].Sender, all = s, append(all, s)
					}
				})
				for _, s := range all {
					lost, received = lost+s.lost, received+s.received
				}
				used := float64(r.Ports[port].TxBytes) * 8 / (100e9 * r.Measured.Seconds())
				queue := percentile(r.Watched[0], 95)
				if used < least || queue > 20_000 {
					t.Errorf("utilisation %.3f, p95 of the queue %d bytes", used, queue)
				}
				if x := float64(lost) / float64(received); x < 0.8*share || x > 1.2*share {
					t.Errorf("%d of %d packets back are lost", lost, received)
				}
			})
		}
	}
}

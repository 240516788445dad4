package tcp_test

import (
	"fmt"

	"weir/core/cc/reno"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/unit"
)

// ExampleNew carries 4000 bytes over a path of 5 ms each way. The example drives both ends by hand: one receives what
// the other emits, and Receive turns a segment into its answer.
func ExampleNew() {
	scheme := reno.Scheme()
	s, r, err := tcp.New(transport.Flow{SrcPort: 10000, DstPort: 5000, Version: 4, Size: 4000, Payload: 1448,
		Framing: packet.Framings[0], Random: unit.NewRandom(1, "flow"), CC: &scheme}, tcp.Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	const way = 5 * unit.Millisecond
	now := unit.Time(0)
	for s.Counters().Finished == unit.Never {
		var answers []*packet.Packet
		for s.NextSend() <= now { // the other end is way away
			p := &packet.Packet{Sent: now}
			s.Emit(now, p)
			fmt.Printf("%v %d bytes at %d\n", now, p.Payload, p.Seq)
			if r.Receive(now+way, p) {
				answers = append(answers, p)
			}
		}
		now += 2 * way
		for _, p := range answers {
			s.Receive(now, p)
		}
	}
	fmt.Println("acknowledged at", s.Counters().Finished, "with an RTT of", s.SRTT())
	// Output:
	// 0s 0 bytes at 0
	// 10ms 1448 bytes at 1
	// 10ms 1448 bytes at 1449
	// 10ms 1104 bytes at 2897
	// acknowledged at 20ms with an RTT of 10ms
}

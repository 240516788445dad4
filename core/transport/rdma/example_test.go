package rdma_test

import (
	"fmt"

	"weir/core/cc"
	"weir/core/cc/none"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/unit"
)

// ExampleNew sends three packets and loses the second. Go-back-N resends it and its successors when the receiver's NACK
// arrives.
func ExampleNew() {
	scheme := none.Scheme()
	s, r, err := rdma.New(transport.Flow{SrcPort: 10, DstPort: 20, Version: 4, Size: 3000, Payload: 1000,
		Framing: packet.Framings[0], Stop: unit.Never, CC: &scheme,
		Path: cc.Path{NICRate: 10 * unit.Gbps, BaseRTT: 4 * unit.Microsecond}}, rdma.Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	lost := false
	for now := unit.Time(0); s.Counters().Finished == unit.Never; now += 2 * unit.Microsecond {
		var answers []*packet.Packet
		for s.NextSend() <= now {
			p := &packet.Packet{Sent: now}
			s.Emit(now, p)
			if p.Seq == 1 && !lost {
				lost = true
				fmt.Println("lost", p.Seq)
				continue
			}
			fmt.Println("data", p.Seq)
			if r.Receive(now, p) {
				answers = append(answers, p)
			}
		}
		for _, p := range answers {
			fmt.Println(map[packet.Kind]string{packet.Ack: "ACK", packet.Nack: "NACK"}[p.Kind], p.Ack)
			s.Receive(now, p)
		}
	}
	// Output:
	// data 0
	// lost 1
	// data 2
	// ACK 1
	// NACK 1
	// data 1
	// data 2
	// ACK 2
	// ACK 3
}

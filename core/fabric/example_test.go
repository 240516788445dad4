package fabric_test

import (
	"fmt"

	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/unit"
)

// sender sends one frame at time 0; receiver prints when it arrives.
type sender struct{ frame *packet.Packet }

func (s *sender) Receive(unit.Time, packet.PortID, *packet.Packet) {}
func (s *sender) Dequeue(unit.Time, packet.PortID) (*packet.Packet, unit.Time) {
	p := s.frame
	s.frame = nil
	return p, unit.Never
}
func (s *sender) Advance(unit.Time) {}

func (s *sender) Wants() *packet.NodeRequests {
	w := &packet.NodeRequests{Timer: unit.Never}
	if s.frame != nil {
		w.WakePort(0)
	}
	return w
}

type receiver struct{ sender }

func (r *receiver) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	fmt.Println(p.Size, "bytes arrive at", now)
}

func ExampleNew() {
	f, err := fabric.New(fabric.Config{
		Nodes: []fabric.Node{&sender{&packet.Packet{Size: 1514}}, &receiver{}},
		Links: []fabric.Link{{From: 0, To: 1, Rate: unit.LinkRate{Bits: 50 * unit.Mbps}, Delay: 5 * unit.Millisecond}},
		Pool:  &packet.Pool{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f.Run(unit.Second, nil)
	// Output: 1514 bytes arrive at 5242.24us
}

package bolt_test

import (
	"fmt"

	"weir/core/cc"
	"weir/core/cc/bolt"
	"weir/core/unit"
)

// ExampleNew notifies a sender of a queue of 10 packets at a switch of 100 Gb/s: its window shrinks by one packet.
func ExampleNew() {
	b, err := bolt.New(cc.Flow{MSS: 1000, MTU: 1000, InitialWindow: 80, Path: cc.Path{NICRate: 100 * unit.Gbps}},
		bolt.Defaults())
	fmt.Println(b.Window(), err)
	b.OnNotice(4*unit.Microsecond, cc.Notice{Kind: cc.QueueNotice, Queue: 10_000, Link: 100 * unit.Gbps})
	fmt.Println(b.Window())
	// Output:
	// 80000 <nil>
	// 79000
}

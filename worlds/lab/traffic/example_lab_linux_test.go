//go:build lab

package traffic_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/unit"
	"weir/worlds/lab/traffic"
)

// ExampleRun sends a megabyte from host 0 to host 1, which are both this machine's loopback here. In a lab, Do is its
// network's, and Epoch its data plane's.
func ExampleRun() {
	hosts := packet.NewBook()
	hosts.Add(netip.MustParseAddr("127.0.0.1"), netip.Addr{})
	hosts.Add(netip.MustParseAddr("127.0.0.2"), netip.Addr{})
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		fmt.Println(err)
		return
	}
	r, err := traffic.Run(context.Background(), traffic.Config{
		Flows: []traffic.Flow{{
			Src: 0, Dst: 1, SrcPort: 19000, DstPort: 19001, Version: 4, Size: unit.MB, Payload: 1448,
			TCP: &traffic.TCP{CongestionControl: "reno"},
		}},
		Epoch: now.Nano() + int64(50*time.Millisecond), Duration: 10 * unit.Second, UntilDone: true,
		Book: hosts, Do: func(_ int, what func() error) error { return what() },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f := r.Flows[0]
	fmt.Println(r.End, f.Receiver.ReceivedBytes, f.Written <= f.FCT, f.Failed, r.Errors())
	// Output: all done 1MB true <nil> []
}

package kernel_test

import (
	"fmt"

	"weir/worlds/lab/kernel"
)

// ExampleKernel_CheckCongestionControl reports the congestion controls that a kernel offers, and how to load another
// one.
func ExampleKernel_CheckCongestionControl() {
	k := &kernel.Kernel{CongestionControls: []string{"reno", "cubic"}, Modules: []string{"dctcp"}}
	fmt.Println(k.CheckCongestionControl("dctcp"))
	fmt.Println(k.CheckCongestionControl("bbr"))
	// Output:
	// <nil>
	// the kernel has no bbr, only reno, cubic, dctcp; enable CONFIG_TCP_CONG_BBR or load the module tcp_bbr
}

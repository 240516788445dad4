package kernel_test

import (
	"fmt"

	"weir/worlds/lab/kernel"
)

// A kernel says which congestion controls it offers, and what would bring another one.
func ExampleKernel_CheckCongestionControl() {
	k := &kernel.Kernel{CongestionControls: []string{"reno", "cubic"}, Modules: []string{"dctcp"}}
	fmt.Println(k.CheckCongestionControl("dctcp"))
	fmt.Println(k.CheckCongestionControl("bbr"))
	// Output:
	// <nil>
	// the kernel has no bbr, only reno, cubic, dctcp; enable CONFIG_TCP_CONG_BBR or load the module tcp_bbr
}

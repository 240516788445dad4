//go:build !linux

package iperf

import (
	"context"

	"weir/worlds/lab"
	"weir/worlds/lab/traffic"
)

// Run carries the traffic of a run out with iperf3; there is no lab on this system.
func Run(context.Context, traffic.Config) (*Result, error) { return nil, lab.ErrNotLinux }

//go:build !linux

package iperf

import (
	"context"

	"weir/worlds/lab"
	"weir/worlds/lab/traffic"
)

// Run always fails on this system.
func Run(context.Context, traffic.Config) (*Result, error) { return nil, lab.ErrNotLinux }

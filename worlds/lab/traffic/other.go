//go:build !linux

package traffic

import (
	"context"

	"weir/worlds/lab"
)

// Run always fails on this system.
func Run(context.Context, Config) (*Result, error) { return nil, lab.ErrNotLinux }

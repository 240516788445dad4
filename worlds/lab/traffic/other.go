//go:build !linux

package traffic

import (
	"context"

	"weir/worlds/lab"
)

// Run carries the traffic of a run out; there is none on this system.
func Run(context.Context, Config) (*Result, error) { return nil, lab.ErrNotLinux }

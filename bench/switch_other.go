//go:build !linux

package bench

import (
	"context"

	"weir/experiment"
	"weir/lab"
)

// Switch times the lab's data plane; there is none on this system.
func Switch(context.Context, *experiment.Registry, SwitchOptions) (*SwitchFigures, error) {
	return nil, lab.ErrNotLinux
}

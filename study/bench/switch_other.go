//go:build !linux

package bench

import (
	"context"

	"weir/study/experiment"
	"weir/worlds/lab"
)

// Switch times the lab's data plane; there is none on this system.
func Switch(context.Context, *experiment.Registry, SwitchOptions) (*SwitchFigures, error) {
	return nil, lab.ErrNotLinux
}

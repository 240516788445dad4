//go:build !linux

package bench

import (
	"context"

	"weir/study/experiment"
	"weir/worlds/lab"
)

// Switch returns lab.ErrNotLinux: the lab needs Linux.
func Switch(context.Context, *experiment.Registry, SwitchOptions) (*SwitchFigures, error) {
	return nil, lab.ErrNotLinux
}

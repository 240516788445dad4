//go:build !linux

package experiment

import (
	"context"

	"weir/worlds/lab"
)

// carryOut has no lab on this system.
func (o *LabOptions) carryOut(context.Context, *RunSpec, string, string, func(float64)) (*Run, error) {
	return nil, lab.ErrNotLinux
}

//go:build !linux

package run

import (
	"context"

	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
)

// execute returns an error: this system has no lab.
func (o *Lab) execute(context.Context, *plan.Run, string, string, func(float64)) (*results.Run, error) {
	return nil, lab.ErrNotLinux
}

//go:build linux && !amd64 && !arm64

package control

import (
	"errors"
	"fmt"
	"runtime"
)

// filterError returns the error of an architecture without a filter.
func filterError() error {
	return fmt.Errorf("the system calls of %s are unknown: %w", runtime.GOARCH, errors.ErrUnsupported)
}

// ConfineDataPlane always fails on this architecture.
func ConfineDataPlane() error { return filterError() }

// ConfineSupervisor always fails on this architecture.
func ConfineSupervisor(int) error { return filterError() }

//go:build linux && !amd64 && !arm64

package control

import (
	"errors"
	"fmt"
	"runtime"
)

func noFilter() error {
	return fmt.Errorf("system calls of %s are not known: %w", runtime.GOARCH, errors.ErrUnsupported)
}

// ConfineDataPlane leaves this process only the calls of the data plane; they are not known on this architecture.
func ConfineDataPlane() error { return noFilter() }

// ConfineSupervisor leaves this process only the calls of the supervisor; they are not known on this architecture.
func ConfineSupervisor(int) error { return noFilter() }

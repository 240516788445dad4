//go:build linux && !amd64 && !arm64

package softswitch

import (
	"errors"
	"fmt"
	"runtime"
)

func noFilter() error {
	return fmt.Errorf("system calls of %s are not known: %w", runtime.GOARCH, errors.ErrUnsupported)
}

func confineDataPlane() error     { return noFilter() }
func confineSupervisor(int) error { return noFilter() }

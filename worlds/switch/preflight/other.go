//go:build !linux

package preflight

import (
	"io"

	softswitch "weir/worlds/switch"
)

// Check always fails on this system.
func Check(softswitch.Schemes, string, bool, io.Writer) error {
	return softswitch.SetupError("it needs Linux")
}

// Restore always fails on this system.
func Restore() ([]string, error) { return nil, softswitch.SetupError("it needs Linux") }

//go:build !linux

package preflight

import (
	"io"

	softswitch "weir/worlds/switch"
)

// Check reports what a start would do; on this system there is no switch.
func Check(softswitch.Schemes, string, bool, io.Writer) error {
	return softswitch.SetupError("it needs Linux")
}

// Restore restores what switches that died have left; there are none on this system.
func Restore() ([]string, error) { return nil, softswitch.SetupError("it needs Linux") }

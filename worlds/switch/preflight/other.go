//go:build !linux

package preflight

import (
	"io"

	softswitch "weir/worlds/switch"
)

// CheckFile always fails on this system.
func CheckFile(softswitch.Schemes, string, bool, io.Writer) error {
	return softswitch.SetupError("it requires Linux")
}

// RestoreDead always fails on this system.
func RestoreDead() ([]string, error) { return nil, softswitch.SetupError("it requires Linux") }

//go:build !linux

package supervisor

import (
	"io"

	softswitch "weir/worlds/switch"
)

// Start always fails on this system.
func Start(softswitch.Schemes, string, bool, []string, io.Writer) error {
	return softswitch.SetupError("it requires Linux")
}

// Supervise always fails on this system.
func Supervise(softswitch.Schemes, int, []string, string, io.Writer, io.Writer) error {
	return softswitch.SetupError("it requires Linux")
}

//go:build !linux

package softswitch

import "io"

// Serve always fails on this system.
func Serve(Schemes, io.Reader, io.Writer) error { return SetupError("it requires Linux") }

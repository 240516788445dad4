//go:build !linux

package softswitch

import "io"

// Serve is the process of the data plane; there is none on this system.
func Serve(Schemes, io.Reader, io.Writer) error { return SetupError("it needs Linux") }

//go:build !linux

package softswitch

import (
	"fmt"
	"io"
)

func notLinux() error { return fmt.Errorf("%w: it needs Linux", ErrSetup) }

// Start starts a switch; there is none on this system.
func Start(Schemes, string, bool, []string, io.Writer) error { return notLinux() }

// Supervise is the supervisor; there is none on this system.
func Supervise(Schemes, int, []string, string, io.Writer, io.Writer) error {
	return notLinux()
}

// Serve is the process of the data plane; there is none on this system.
func Serve(Schemes, io.Reader, io.Writer) error { return notLinux() }

// Check says what a start would do; on this system, that there is none.
func Check(known Schemes, file string, bypass bool, out io.Writer) error { return notLinux() }

// Restore restores what switches that died have left; there are none on this system.
func Restore() ([]string, error) { return nil, notLinux() }

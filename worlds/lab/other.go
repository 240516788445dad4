//go:build !linux

package lab

import (
	"io"
	"os"
)

// Serve is the data plane's process; there is none on this system.
func Serve(*Config, *os.File, io.Writer) error { return ErrNotLinux }

// ServeHosts is the process of Weir's own hosts; there is none on this system.
func ServeHosts(*HostsConfig, *os.File, io.Writer) error { return ErrNotLinux }

// Clean removes what dead labs have left; there are none on this system.
func Clean() ([]string, error) { return nil, ErrNotLinux }

// CloseAll removes the namespaces of all labs of this process; there are none on this system.
func CloseAll() error { return nil }

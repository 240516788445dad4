//go:build !linux

package lab

import (
	"io"
	"os"
)

// Serve always fails on this system.
func Serve(*Config, *os.File, io.Writer) error { return ErrNotLinux }

// ServeHosts always fails on this system.
func ServeHosts(*HostsConfig, *os.File, io.Writer) error { return ErrNotLinux }

// RemoveDead always fails on this system.
func RemoveDead() ([]string, error) { return nil, ErrNotLinux }

// CloseLabs has no effect on this system.
func CloseLabs() error { return nil }

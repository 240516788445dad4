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

// Clean always fails on this system.
func Clean() ([]string, error) { return nil, ErrNotLinux }

// CloseAll has no effect on this system.
func CloseAll() error { return nil }

//go:build !linux

package kernel

import "errors"

// Probe always fails on this system.
func Probe() (*Kernel, error) { return nil, errors.New("the lab requires Linux") }

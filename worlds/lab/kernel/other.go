//go:build !linux

package kernel

import "errors"

// Ask always fails on this system.
func Ask() (*Kernel, error) { return nil, errors.New("the lab needs Linux") }

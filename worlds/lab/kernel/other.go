//go:build !linux

package kernel

import "errors"

// Ask asks the kernel; there is none to ask on this system.
func Ask() (*Kernel, error) { return nil, errors.New("the lab needs Linux") }

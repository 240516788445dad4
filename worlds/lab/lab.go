package lab

import "errors"

// Errors of Open and Clean.
var (
	// ErrNotRoot: network namespaces and packet sockets are root's.
	ErrNotRoot = errors.New("the lab needs root: it makes network namespaces and packet sockets")
	// ErrNotLinux: there is no lab on this system.
	ErrNotLinux = errors.New("the lab needs Linux")
)

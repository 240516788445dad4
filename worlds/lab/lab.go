package lab

import "errors"

// Errors of Open and RemoveDead.
var (
	// ErrNotRoot means that the process may not create network namespaces and packet sockets.
	ErrNotRoot = errors.New("the lab requires root, because it creates network namespaces and packet sockets")
	// ErrNotLinux means that this system has no lab.
	ErrNotLinux = errors.New("the lab requires Linux")
)

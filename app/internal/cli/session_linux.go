package cli

import "syscall"

// ownSession keeps signals of a terminal and of a process group from a process.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

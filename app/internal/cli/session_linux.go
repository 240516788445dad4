package cli

import "syscall"

// ownSession separates a process from the signals of the terminal and of the process group.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

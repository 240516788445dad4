//go:build !linux

package cli

import "syscall"

func ownSession() *syscall.SysProcAttr { return nil }

package agent

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrOther is that another agent is there already.
var ErrOther = errors.New("agent: there is one already")

// claimed is the abstract name (unix(7)) that the one agent of a network namespace has. Such names are of a namespace,
// one socket at most has one, and it goes with the process, however that dies.
const claimed = "@weir-agent"

// claim makes the calling thread's network namespace this agent's, or says whose it is.
func claim() (net.Listener, error) {
	l, err := net.Listen("unix", claimed)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("%w: %s has this network namespace; each can have one, of all of its interfaces, or of one "+
			"cgroup and those below it", ErrOther, holder())
	}
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	go func() { // who asks knows the owner when connected
		for {
			c, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // no descriptors are left, for now
				time.Sleep(time.Second)
			default:
				c.Close()
			}
		}
	}()
	return l, nil
}

// holder is the process that has the namespace.
func holder() string {
	const unknown = "another process"
	c, err := (&net.Dialer{Timeout: time.Second}).Dial("unix", claimed)
	if err != nil {
		return unknown
	}
	defer c.Close()
	s, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return unknown
	}
	var of *unix.Ucred
	e := s.Control(func(fd uintptr) { of, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if e != nil || err != nil || of.Pid <= 0 { // 0: of another namespace of processes
		return unknown
	}
	if of.Pid == int32(syscall.Getpid()) {
		return "this process"
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", of.Pid))
	if err != nil {
		return fmt.Sprintf("process %d", of.Pid)
	}
	return fmt.Sprintf("process %d (%s)", of.Pid, bytes.TrimSpace(name))
}

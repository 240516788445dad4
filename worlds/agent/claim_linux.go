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

// ErrRunning means that the network namespace has another agent.
var ErrRunning = errors.New("agent: another agent is running")

// claimName is the abstract socket name (unix(7)) that an agent holds. Such names belong to a network namespace,
// have at most one socket, and disappear with the process.
const claimName = "@weir-agent"

// claimNamespace takes the calling thread's network namespace for this agent until the listener is closed; a goroutine
// accepts connections meanwhile. If another agent has it, the error is ErrRunning with that process.
func claimNamespace() (net.Listener, error) {
	l, err := net.Listen("unix", claimName)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("%w: %s uses this network namespace; allowed: one agent per namespace, for all of its "+
			"interfaces or for one cgroup and its descendants", ErrRunning, findHolder())
	}
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	go func() { // accepting lets findHolder read the owner's credentials
		for {
			c, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // out of descriptors, temporarily
				time.Sleep(time.Second)
			default:
				c.Close()
			}
		}
	}()
	return l, nil
}

// findHolder describes the process that holds the namespace, with number and name as far as they are known.
func findHolder() string {
	const unknown = "another process"
	c, err := (&net.Dialer{Timeout: time.Second}).Dial("unix", claimName)
	if err != nil {
		return unknown
	}
	defer c.Close()
	s, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return unknown
	}
	var cred *unix.Ucred
	e := s.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if e != nil || err != nil || cred.Pid <= 0 { // 0: in another PID namespace
		return unknown
	}
	if cred.Pid == int32(syscall.Getpid()) {
		return "this process"
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cred.Pid))
	if err != nil {
		return fmt.Sprintf("process %d", cred.Pid)
	}
	return fmt.Sprintf("process %d (%s)", cred.Pid, bytes.TrimSpace(name))
}

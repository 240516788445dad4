//go:build lab

package tcx

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is held has packet sockets alone, and once the descriptor is closed the kernel's own protocols have it again.
// It is tried on the loopback of a network namespace, which goes with the thread.
func TestHold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes a network namespace and loads a BPF program")
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Log("no network namespaces here:", err)
			return
		}
		if err := Possible(); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			t.Log("not on this kernel:", err)
			return
		} else if err != nil {
			t.Error(err)
		}
		held(t)
	}()
	<-done
}

func held(t *testing.T) {
	must := func(err error) {
		if err != nil {
			t.Error(err)
			runtime.Goexit()
		}
	}
	r, err := unix.NewIfreq("lo")
	must(err)
	to, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	must(err)
	defer unix.Close(to)
	r.SetUint16(unix.IFF_UP)
	must(unix.IoctlIfreq(to, unix.SIOCSIFFLAGS, r))
	at := &unix.SockaddrInet4{Port: 7007, Addr: [4]byte{127, 0, 0, 1}}
	must(unix.Bind(to, at))
	must(unix.SetsockoptTimeval(to, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}))
	const every = 0x0300 // ETH_P_ALL in network order
	all, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, every)
	must(err)
	defer unix.Close(all)
	must(unix.SetsockoptInt(all, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
	must(unix.SetsockoptTimeval(all, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}))
	comes := func(fd int) bool {
		n, _, err := unix.Recvfrom(fd, make([]byte, 100), 0)
		return n > 0 && err == nil
	}
	send := func() (packets, protocol bool) {
		must(unix.Sendto(to, []byte("weir"), 0, at))
		return comes(all), comes(to)
	}
	if packets, protocol := send(); !packets || !protocol {
		t.Errorf("before: %v %v", packets, protocol)
	}
	fd, err := Hold(1)
	must(err)
	if packets, protocol := send(); !packets || protocol {
		t.Errorf("held: a packet socket has it: %v, the protocol: %v", packets, protocol)
	}
	unix.Close(fd)
	time.Sleep(time.Millisecond)
	if _, protocol := send(); !protocol {
		t.Error("not held any more, and nothing comes")
	}
	if _, err := Hold(1 << 20); !errors.Is(err, unix.ENODEV) {
		t.Errorf("no such interface: %v", err)
	}
}

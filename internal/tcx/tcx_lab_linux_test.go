//go:build lab

package tcx

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/testkit/await"
)

// TestHold_LeavesFramesToPacketSockets checks that only packet sockets get held frames. After the descriptor is
// closed, the kernel's own protocols get them again. The test uses the loopback of a network namespace, which ends
// with the thread.
func TestHold_LeavesFramesToPacketSockets(t *testing.T) {
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
		if err := CheckSupport(); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
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
	const every = 0x0300 // ETH_P_ALL in network order
	all, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, every)
	must(err)
	defer unix.Close(all)
	must(unix.SetsockoptInt(all, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
	// A packet socket gets each datagram. Before it gets a second one, the kernel has processed the first.
	send := func() (protocol bool) {
		for range 2 {
			must(unix.Sendto(to, []byte("weir"), 0, at))
			if _, _, err := unix.Recvfrom(all, make([]byte, 100), 0); err != nil {
				must(err)
			}
		}
		for n := 1; n > 0; {
			if n, _, err = unix.Recvfrom(to, make([]byte, 100), unix.MSG_DONTWAIT); n > 0 {
				protocol = true
			}
		}
		return protocol
	}
	if !send() {
		t.Error("before, the protocol does not have it")
	}
	fd, err := HoldFrames(1)
	must(err)
	if send() {
		t.Error("held, the protocol has it")
	}
	unix.Close(fd)
	await.AwaitCondition(t, "a datagram when it is not held any more", send)
	if _, err := HoldFrames(1 << 20); !errors.Is(err, unix.ENODEV) {
		t.Errorf("no such interface: %v", err)
	}
}

package rtnl

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offloads are what network interfaces do for the kernel on their own and a switch in
// user space must not meet: checksums of neither end, scatter-gather, and packets larger
// than frames, which are cut (TSO, GSO) or joined (LRO, GRO). By the number of ethtool's
// commands that read and set them.
var offloads = [...]struct {
	name     string
	get, set uint32
}{
	{"tso", unix.ETHTOOL_GTSO, unix.ETHTOOL_STSO},
	{"gso", unix.ETHTOOL_GGSO, unix.ETHTOOL_SGSO},
	{"lro", unix.ETHTOOL_GFLAGS, unix.ETHTOOL_SFLAGS}, // a flag among others: see flagLRO
	{"gro", unix.ETHTOOL_GGRO, unix.ETHTOOL_SGRO},
	{"sg", unix.ETHTOOL_GSG, unix.ETHTOOL_SSG},
	{"tx", unix.ETHTOOL_GTXCSUM, unix.ETHTOOL_STXCSUM},
	{"rx", unix.ETHTOOL_GRXCSUM, unix.ETHTOOL_SRXCSUM},
}

// flagLRO is that of large receive offload among the flags of an interface (linux/ethtool.h).
const flagLRO = 1 << 15

// offload reads whether an offload is on, or switches it.
func offload(fd int, name string, command, value uint32) (uint32, error) {
	switch command {
	case unix.ETHTOOL_GFLAGS:
		flags, err := ethtool(fd, name, command, 0)
		return flags & flagLRO, err
	case unix.ETHTOOL_SFLAGS:
		flags, err := ethtool(fd, name, unix.ETHTOOL_GFLAGS, 0)
		if err != nil {
			return 0, err
		}
		if flags &^= flagLRO; value != 0 {
			flags |= flagLRO
		}
		return ethtool(fd, name, command, flags)
	}
	return ethtool(fd, name, command, value)
}

// ethtool carries out one of ethtool's commands that have a number (struct ethtool_value)
// on an interface of the calling thread's network namespace.
func ethtool(fd int, name string, command, value uint32) (uint32, error) {
	data := struct{ command, value uint32 }{command, value}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&data)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(&data)
	if errno != 0 {
		return 0, errno
	}
	return data.value, nil
}

// Offload switches one offload of an interface of the calling thread's network namespace
// on or off: tso, gso, lro, gro, sg, tx or rx.
func Offload(name, which string, on bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	value := uint32(0)
	if on {
		value = 1
	}
	for _, o := range offloads {
		if o.name == which {
			if _, err := offload(fd, name, o.set, value); err != nil {
				return fmt.Errorf("interface %s: offload %s: %w", name, which, err)
			}
			return nil
		}
	}
	return fmt.Errorf("interface %s: no offload %s is known", name, which)
}

// Offloads lists the offloads of an interface of the calling thread's network namespace that
// are on.
func Offloads(name string) (on []string, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for _, o := range offloads {
		v, err := offload(fd, name, o.get, 0)
		switch {
		case err == nil && v != 0:
			on = append(on, o.name)
		case err != nil && err != unix.EOPNOTSUPP:
			return on, fmt.Errorf("interface %s: offload %s: %w", name, o.name, err)
		}
	}
	return on, nil
}

// NoOffloads switches the offloads of an interface of the calling thread's network
// namespace off and returns the names of those that it has switched off. What the interface
// cannot do at all counts as off. One that stays on is an error, but for a receiver's
// checksums that are fixed: frames have theirs all the same.
func NoOffloads(name string) (were []string, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for _, o := range offloads {
		on, err := offload(fd, name, o.get, 0)
		if err == unix.EOPNOTSUPP || err == nil && on == 0 {
			continue
		}
		if err == nil {
			_, err = offload(fd, name, o.set, 0)
			if err == unix.EOPNOTSUPP && o.set == unix.ETHTOOL_SRXCSUM {
				continue
			}
			if err == unix.EOPNOTSUPP {
				err = fmt.Errorf("it is on, and the interface cannot switch it off: %w", err)
			}
		}
		if err == nil {
			on, err = offload(fd, name, o.get, 0)
		}
		if err == nil && on != 0 {
			err = fmt.Errorf("it stays on")
		}
		if err != nil {
			return were, fmt.Errorf("interface %s: offload %s: %w", name, o.name, err)
		}
		were = append(were, o.name)
	}
	return were, nil
}

package rtnl

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// offloads lists the offloads that a switch in user space must not meet: checksums left to the interface,
// scatter-gather, and packets larger than frames, cut (TSO, GSO) or joined (LRO, GRO) by the interface. get and
// set are the numbers of ethtool's commands.
var offloads = [...]struct {
	name     string
	get, set uint32
}{
	{"tso", unix.ETHTOOL_GTSO, unix.ETHTOOL_STSO},
	{"gso", unix.ETHTOOL_GGSO, unix.ETHTOOL_SGSO},
	{"lro", unix.ETHTOOL_GFLAGS, unix.ETHTOOL_SFLAGS}, // one of several flags: see flagLRO
	{"gro", unix.ETHTOOL_GGRO, unix.ETHTOOL_SGRO},
	{"sg", unix.ETHTOOL_GSG, unix.ETHTOOL_SSG},
	{"tx", unix.ETHTOOL_GTXCSUM, unix.ETHTOOL_STXCSUM},
	{"rx", unix.ETHTOOL_GRXCSUM, unix.ETHTOOL_SRXCSUM},
}

// flagLRO marks large receive offload among the flags of an interface (linux/ethtool.h).
const flagLRO = 1 << 15

// accessOffload runs a command of offloads on the interface name through the socket fd. It returns the offload's
// state, zero for off; value is the new state for commands that set it.
func accessOffload(fd int, name string, command, value uint32) (uint32, error) {
	switch command {
	case unix.ETHTOOL_GFLAGS:
		flags, err := callEthtool(fd, name, command, 0)
		return flags & flagLRO, err
	case unix.ETHTOOL_SFLAGS:
		flags, err := callEthtool(fd, name, unix.ETHTOOL_GFLAGS, 0)
		if err != nil {
			return 0, err
		}
		if flags &^= flagLRO; value != 0 {
			flags |= flagLRO
		}
		return callEthtool(fd, name, command, flags)
	}
	return callEthtool(fd, name, command, value)
}

// callEthtool runs one of ethtool's commands with a number as argument (struct ethtool_value) on an interface of
// the calling thread's network namespace. It returns the number that the kernel left in the structure.
func callEthtool(fd int, name string, command, value uint32) (uint32, error) {
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

// SetOffload switches an offload of an interface in the calling thread's network namespace on or off. The offload is
// tso, gso, lro, gro, sg, tx or rx; another name is an error.
func SetOffload(name, offload string, on bool) error {
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
		if o.name == offload {
			if _, err := accessOffload(fd, name, o.set, value); err != nil {
				return fmt.Errorf("interface %s: offload %s: %w", name, offload, err)
			}
			return nil
		}
	}
	return fmt.Errorf("interface %s: no offload %s is known", name, offload)
}

// ListOffloads lists the offloads that are on at an interface of the calling thread's network namespace. Offloads that
// the interface does not support count as off.
func ListOffloads(name string) (on []string, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for _, o := range offloads {
		v, err := accessOffload(fd, name, o.get, 0)
		switch {
		case err == nil && v != 0:
			on = append(on, o.name)
		case err != nil && err != unix.EOPNOTSUPP:
			return on, fmt.Errorf("interface %s: offload %s: %w", name, o.name, err)
		}
	}
	return on, nil
}

// DisableOffloads switches off the offloads of an interface in the calling thread's network namespace and returns those
// that were on. Offloads that the interface does not support count as off. An offload that stays on is an error,
// except fixed receive checksums: frames carry their checksums anyway.
func DisableOffloads(name string) (were []string, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for _, o := range offloads {
		on, err := accessOffload(fd, name, o.get, 0)
		if err == unix.EOPNOTSUPP || err == nil && on == 0 {
			continue
		}
		if err == nil {
			_, err = accessOffload(fd, name, o.set, 0)
			if err == unix.EOPNOTSUPP && o.set == unix.ETHTOOL_SRXCSUM {
				continue
			}
			if err == unix.EOPNOTSUPP {
				err = fmt.Errorf("it is on, and the interface cannot switch it off: %w", err)
			}
		}
		if err == nil {
			on, err = accessOffload(fd, name, o.get, 0)
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

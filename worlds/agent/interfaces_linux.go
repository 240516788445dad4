package agent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// errGone means that all interfaces of an agent are gone.
var errGone = errors.New("agent: the interface has disappeared")

// RemoveGone removes interfaces from Interfaces that were deleted or moved to another network namespace, where the
// programs are not attached any more, and returns them. The error is errGone if no interface is left.
func (a *Agent) RemoveGone() (names []string, err error) {
	if a.routes == nil {
		return nil, errClosed
	}
	for i := 0; i < len(a.indices); {
		_, err := a.routes.InterfaceByIndex(a.indices[i])
		switch {
		case errors.Is(err, unix.ENODEV):
			names = append(names, a.Interfaces[i])
			a.Interfaces, a.indices = slices.Delete(a.Interfaces, i, i+1), slices.Delete(a.indices, i, i+1)
		case err != nil:
			return names, fmt.Errorf("agent: %w", err)
		default:
			i++
		}
	}
	if len(a.indices) == 0 {
		return names, fmt.Errorf("%w: %s", errGone, strings.Join(names, ", "))
	}
	return names, nil
}

// findInterfaces returns the interface with the given name, or without a name all Ethernet interfaces that are up. A
// missing or unsuitable interface is an error that wraps ErrConfig.
func findInterfaces(name string) (names []string, err error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("agent: interfaces: %w", err)
	}
	for _, i := range all {
		ethernet := len(i.HardwareAddr) == 6 && i.Flags&net.FlagLoopback == 0
		switch {
		case i.Name == name && !ethernet:
			return nil, fmt.Errorf("%w: interface %s has no Ethernet frames; choose an Ethernet interface", ErrConfig, name)
		case i.Name == name, name == "" && ethernet && i.Flags&net.FlagUp != 0:
			names = append(names, i.Name)
		}
	}
	switch {
	case len(names) > 0:
		return names, nil
	case name == "":
		return nil, fmt.Errorf("%w: this network namespace has no Ethernet interface that is up; set one up (ip link "+
			"set NAME up)", ErrConfig)
	}
	var known []string
	for _, i := range all {
		known = append(known, i.Name)
	}
	return nil, fmt.Errorf("%w: there is no interface %s; available: %s", ErrConfig, name, strings.Join(known, ", "))
}

// checkCgroup returns an error unless path is a folder of the unified cgroup hierarchy; root is its mount point.
func checkCgroup(path, root string) error {
	if i, err := os.Stat(path); err != nil || !i.IsDir() {
		return fmt.Errorf("%w: cgroup %s is not a folder; cgroups are below %s", ErrConfig, path, root)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return fmt.Errorf("%w: cgroup %s: %w", ErrConfig, path, os.NewSyscallError("statfs", err))
	}
	switch fs.Type {
	case unix.CGROUP2_SUPER_MAGIC:
		return nil
	case unix.CGROUP_SUPER_MAGIC:
		return fmt.Errorf("%w: cgroup %s is of version 1, which does not support programs of sockets; cgroups of "+
			"version 2 are below %s", ErrConfig, path, root)
	}
	return fmt.Errorf("%w: %s is not a cgroup; cgroups are below %s", ErrConfig, path, root)
}

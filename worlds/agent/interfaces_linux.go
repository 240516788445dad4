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

// errGone is that an agent has no interface any more.
var errGone = errors.New("agent: interface gone")

// Gone takes those interfaces off Interfaces that have been deleted, or moved to another network namespace, and
// returns them: programs are not attached there any more, or not here. The error is errGone if none is left.
func (a *Agent) Gone() (names []string, err error) {
	if a.routes == nil {
		return nil, errEnded
	}
	for i := 0; i < len(a.indices); {
		_, err := a.routes.InterfaceAt(a.indices[i])
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

// interfaces are those that are meant: one, or all that are up and have Ethernet's frames.
func interfaces(name string) (names []string, err error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("agent: interfaces: %w", err)
	}
	for _, i := range all {
		ethernet := len(i.HardwareAddr) == 6 && i.Flags&net.FlagLoopback == 0
		switch {
		case i.Name == name && !ethernet:
			return nil, fmt.Errorf("%w: interface %s has no Ethernet frames", ErrConfig, name)
		case i.Name == name, name == "" && ethernet && i.Flags&net.FlagUp != 0:
			names = append(names, i.Name)
		}
	}
	switch {
	case len(names) > 0:
		return names, nil
	case name == "":
		return nil, fmt.Errorf("%w: no Ethernet interface is up here", ErrConfig)
	}
	var known []string
	for _, i := range all {
		known = append(known, i.Name)
	}
	return nil, fmt.Errorf("%w: there is no interface %s here; there are %s", ErrConfig, name, strings.Join(known, ", "))
}

// inCgroup says why a folder is no cgroup of the unified hierarchy.
func inCgroup(path, root string) error {
	if i, err := os.Stat(path); err != nil || !i.IsDir() {
		return fmt.Errorf("%w: cgroup %s is no folder; cgroups are below %s", ErrConfig, path, root)
	}
	var of unix.Statfs_t
	if err := unix.Statfs(path, &of); err != nil {
		return fmt.Errorf("%w: cgroup %s: %w", ErrConfig, path, os.NewSyscallError("statfs", err))
	}
	switch of.Type {
	case unix.CGROUP2_SUPER_MAGIC:
		return nil
	case unix.CGROUP_SUPER_MAGIC:
		return fmt.Errorf("%w: cgroup %s is of version 1, where no programs of sockets are attached; those of version 2 "+
			"are below %s", ErrConfig, path, root)
	}
	return fmt.Errorf("%w: %s is no cgroup; they are below %s", ErrConfig, path, root)
}

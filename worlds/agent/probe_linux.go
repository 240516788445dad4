package agent

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"weir/internal/tcx"
)

// ProbeMachine examines this machine. It may make the kernel load CUBIC. Without the capabilities it examines only
// the release and the byte order.
func ProbeMachine() *Machine {
	m := &Machine{LittleEndian: binary.NativeEndian.Uint16([]byte{1, 0}) == 1}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Release = unix.ByteSliceToString(u.Release[:])
	}
	if m.MissingCapability = checkCapabilities(); m.MissingCapability != nil {
		return m
	}
	types, err := btf.LoadKernelSpec()
	if m.BTF = err; err == nil {
		for _, name := range requiredTypes {
			if _, err := types.AnyTypesByName(name); err != nil {
				m.Missing = append(m.Missing, name)
			}
		}
	}
	m.TCX = tcx.CheckSupport()
	m.Cgroup = findCgroup2("/proc/self/mounts")
	m.CUBIC = loadCUBIC()
	return m
}

// checkCapabilities returns an error that names the first missing capability.
func checkCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	for _, c := range []struct {
		name string
		bit  uint
	}{{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN}, {"CAP_BPF", unix.CAP_BPF}, {"CAP_PERFMON", unix.CAP_PERFMON}} {
		if data[c.bit/32].Effective>>(c.bit%32)&1 == 0 {
			return fmt.Errorf("%s is missing", c.name)
		}
	}
	return nil
}

// findCgroup2 returns the mount point of the first cgroup2 file system in a mount table, empty if there is no such
// file system.
func findCgroup2(mounts string) string {
	f, err := os.Open(mounts)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if x := strings.Fields(s.Text()); len(x) > 2 && x[2] == "cgroup2" {
			return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(x[1])
		}
	}
	return ""
}

// loadCUBIC reports whether the kernel has CUBIC. It makes the kernel load CUBIC if that is a module, which a BPF
// program cannot do.
func loadCUBIC() bool {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic") == nil
}

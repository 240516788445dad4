package agent

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// ncfObject holds the programs for NACKs, built from bpf/ncf.c (TestObjects_MatchSources).
//
//go:embed bpf/ncf.o
var ncfObject []byte

// loadNCF loads the programs for NACKs into a.ncf, without attaching them. With a cgroup in c they act on its
// connections only.
func (a *Agent) loadNCF(c Config) error {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(ncfObject))
	if err != nil {
		return err
	}
	follow, cgroup := uint32(followLoss), uint64(0)
	if c.Nacks == NacksSupply {
		follow = followSupply
	}
	if c.Cgroup != "" {
		if cgroup, err = cgroupID(c.Cgroup); err != nil {
			return err
		}
	}
	for name, value := range map[string]any{"follow": follow, "cgroup": cgroup} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	a.ncf, err = ebpf.NewCollection(spec)
	return err
}

// cgroupID returns the kernel's number of the cgroup at path.
func cgroupID(path string) (uint64, error) {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return 0, fmt.Errorf("cgroup %s: %w", path, err)
	}
	b := h.Bytes()
	if len(b) != 8 {
		return 0, fmt.Errorf("cgroup %s: its file handle has %d bytes; expected 8", path, len(b))
	}
	return ne.Uint64(b), nil
}

// CountStrays returns the number of received NACKs that belong to no connection of the agent. It is 0 if NACKs are
// not followed, and after Close.
func (a *Agent) CountStrays() (n uint64, err error) {
	if a.ncf == nil {
		return 0, nil
	}
	err = a.ncf.Variables["strays"].Get(&n)
	return n, err
}

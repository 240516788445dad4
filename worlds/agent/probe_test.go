package agent

import (
	"errors"
	"math"
	"strings"
	"testing"

	"weir/core/unit"
)

// able returns a machine with all features.
func able() Machine {
	return Machine{Release: "6.6.0", LittleEndian: true, Cgroup: "/sys/fs/cgroup", CUBIC: true}
}

// TestMachine_CheckNamesMissingFeatures checks that a machine without support for agents is refused with the
// missing features. Linux 6.6 introduced TCX.
func TestMachine_CheckNamesMissingFeatures(t *testing.T) {
	missing := errors.New("file does not exist")
	for _, x := range []struct {
		name   string
		change func(*Machine)
		says   string // "": it can
	}{
		{"the first kernel", func(*Machine) {}, ""},
		{"a later one", func(m *Machine) { m.Release = "6.18.44-fc-v595" }, ""},
		{"a much later one", func(m *Machine) { m.Release = "7.0" }, ""},
		{"the one before", func(m *Machine) { m.Release = "6.5.13-generic" }, "kernel is Linux 6.5.13-generic; 6.6 or later"},
		{"an old one", func(m *Machine) { m.Release = "5.15.0" }, "6.6 or later is required"},
		{"another numbering", func(m *Machine) { m.Release = "six" }, `release "six" is unknown`},
		{"no Linux", func(m *Machine) { m.Release = "" }, "Linux 6.6 or later is required"},
		{"big-endian", func(m *Machine) { m.LittleEndian = false }, "big-endian"},
		{"no root", func(m *Machine) { m.MissingCapability = errors.New("CAP_BPF is missing") }, "run as root"},
		{"no BTF", func(m *Machine) { m.BTF = missing }, "CONFIG_DEBUG_INFO_BTF"},
		{"no struct_ops", func(m *Machine) { m.Missing = requiredTypes[:1] }, "lacks bpf_struct_ops_tcp_congestion_ops"},
		{"no TCX", func(m *Machine) { m.TCX = missing }, "the kernel refuses BPF programs at interfaces"},
		{"no cgroup2", func(m *Machine) { m.Cgroup = "" }, "attached; ip netns exec hides it with"},
		{"no CUBIC", func(m *Machine) { m.CUBIC = false }, "the kernel lacks CUBIC"},
	} {
		m := able()
		x.change(&m)
		err := m.Check()
		switch {
		case x.says == "" && err != nil:
			t.Errorf("%s: %v", x.name, err)
		case x.says != "" && (!errors.Is(err, errUnsupported) || !strings.Contains(err.Error(), x.says)):
			t.Errorf("%s: %v, want %q", x.name, err, x.says)
		}
	}
}

// TestProbeForNCF checks that NACKs need no congestion control and, without a cgroup option, no cgroups.
func TestProbeForNCF(t *testing.T) {
	m := able()
	m.Missing, m.CUBIC, m.Cgroup = []string{hpccType}, false, ""
	if err := m.checkFor(false, false); err != nil {
		t.Error(err)
	}
	if err := m.checkFor(false, true); !errors.Is(err, errUnsupported) || !strings.Contains(err.Error(), "no cgroup2") {
		t.Errorf("of a cgroup: %v", err)
	}
	m.Missing = requiredTypes
	err := m.checkFor(false, false)
	if !errors.Is(err, errUnsupported) || !strings.Contains(err.Error(), "lacks tcx_link;") {
		t.Errorf("without TCX: %v", err)
	}
}

// TestStart_RejectsBadConfig checks that Start refuses values out of range before it probes the machine.
func TestStart_RejectsBadConfig(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*Config)
		says   string
	}{
		{"eta above 1", func(c *Config) { c.Eta = 1.01 }, "allowed: 0.01 to 1"},
		{"no eta", func(c *Config) { c.Eta = 0 }, "allowed: 0.01 to 1"},
		{"eta is no number", func(c *Config) { c.Eta = math.NaN() }, "allowed: 0.01 to 1"},
		{"no flows", func(c *Config) { c.Flows = 0 }, "allowed: 1 to 65536"},
		{"to follow nobody", func(c *Config) { c.Follow = "rcp" }, "allowed: hpcc, ncf, both"},
		{"other NACKs", func(c *Config) { c.Nacks = "resend" }, "allowed: loss, supply"},
		{"less than no increase", func(c *Config) { c.Increase = -1 },
			"Increase -1B is out of range; allowed: up to 16777.216kB"},
		{"a long round trip", func(c *Config) { c.RTT = 2 * unit.Second }, "RTT 2s is out of range; allowed: up to 1s"},
		{"NACKs that are not followed", func(c *Config) { c.Nacks = NacksSupply }, "it requires ncf or both"},
		{"a negative rate", func(c *Config) { c.Rate = -1 }, "allowed: above 0bps"},
	} {
		c := DefaultConfig()
		x.change(&c)
		if a, err := Start(c); a != nil || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, want %q", x.name, err, x.says)
		}
	}
}

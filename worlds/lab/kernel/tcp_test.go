package kernel

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"weir/core/scheme"
	"weir/core/transport/tcp"
	"weir/core/unit"
)

// config returns transport tcp's defaults, changed by parameters in an experiment's notation.
func config(t testing.TB, given ...string) scheme.Config {
	t.Helper()
	c, err := tcp.Scheme().Configure(given...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// linux returns Linux 6.18 with a tick of 4 ms.
func linux() *Kernel {
	k := &Kernel{Tick: 4 * unit.Millisecond, DelayedACK: true, CongestionControls: []string{"reno", "bbr", "cubic"},
		Modules: []string{"vegas"}}
	k.Sysctls = slices.Clone(assumedSysctls)
	for _, name := range []string{"tcp_ecn", "tcp_ecn_fallback", "tcp_wmem", "tcp_rmem", "tcp_moderate_rcvbuf",
		"tcp_rto_min_us",
		"tcp_comp_sack_delay_ns", "tcp_comp_sack_nr"} {
		k.Sysctls = append(k.Sysctls, Sysctl{Name: name})
	}
	slices.SortFunc(k.Sysctls, func(a, b Sysctl) int { return strings.Compare(a.Name, b.Name) })
	return k
}

// without returns that kernel without a sysctl.
func without(name string) *Kernel {
	k := linux()
	k.Sysctls = slices.DeleteFunc(k.Sysctls, func(x Sysctl) bool { return x.Name == name })
	return k
}

// TestParameters_CoverTransportTCP checks that each parameter of transport tcp is in the table, in its order.
func TestParameters_CoverTransportTCP(t *testing.T) {
	var want, got []string
	for _, p := range tcp.Scheme().Parameters() {
		want = append(want, p.Name)
	}
	for _, p := range parameters() {
		got = append(got, p.Name)
		if p.By == "" || p.How == "" {
			t.Errorf("%+v", p)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// TestTCPSettings_DefaultsAreSysctlDefaults checks that the defaults are exactly the sysctls' (Linux 6.18:
// Documentation/networking/ip-sysctl.rst).
func TestTCPSettings_DefaultsAreSysctlDefaults(t *testing.T) {
	s, err := linux().TCPSettings(config(t))
	if err != nil {
		t.Fatal(err)
	}
	send := append(slices.Clone(assumedSysctls), Sysctl{"tcp_rto_min_us", "200000"}, Sysctl{"tcp_ecn", "2"},
		Sysctl{"tcp_wmem", "4096 16384 4194304"})
	receive := append(slices.Clone(assumedSysctls), Sysctl{"tcp_moderate_rcvbuf", "1"},
		Sysctl{"tcp_rmem", "4096 131072 33554432"},
		Sysctl{"tcp_comp_sack_delay_ns", "1000000"}, Sysctl{"tcp_comp_sack_nr", "44"})
	if !slices.Equal(s.Sender.Sysctls, send) || !slices.Equal(s.Receiver.Sysctls, receive) {
		t.Errorf("got\n%v\n%v", s.Sender.Sysctls, s.Receiver.Sysctls)
	}
	if len(s.SenderOptions)+len(s.ReceiverOptions) > 0 || s.Rate != 0 || s.Pacing || s.Sender.InitialWindow != 0 ||
		s.Sender.RTOMin != 0 ||
		s.Sender.Segments != 0 || s.Receiver.QuickACK {
		t.Errorf("%+v", s)
	}
}

func TestTCPSettings_SetEachParameter(t *testing.T) {
	value := func(h Host, name string) string {
		i := slices.IndexFunc(h.Sysctls, func(x Sysctl) bool { return x.Name == name })
		if i < 0 {
			return ""
		}
		return h.Sysctls[i].Value
	}
	sender := func(name string) func(s Settings) string {
		return func(s Settings) string { return value(s.Sender, name) }
	}
	receiver := func(name string) func(s Settings) string {
		return func(s Settings) string { return value(s.Receiver, name) }
	}
	option := func(o []Option) string {
		if len(o) != 1 {
			return ""
		}
		return o[0].Name
	}
	for _, x := range []struct {
		kernel      *Kernel
		name, given string
		of          func(s Settings) string
		want        string
	}{
		{linux(), "rate", "5Mbps", func(s Settings) string { return s.Rate.String() }, "5Mbps"},
		{linux(), "initial_window", "32 packets",
			func(s Settings) string { return orDefault(s.Sender.InitialWindow, "") }, "32"},
		{linux(), "rto_min", "10ms", sender("tcp_rto_min_us"), "10000"},
		{linux(), "rto_min", "2s", sender("tcp_rto_min_us"), "2000000"},
		{without("tcp_rto_min_us"), "rto_min", "10ms", func(s Settings) string { return s.Sender.RTOMin.String() }, "10ms"},
		{without("tcp_rto_min_us"), "rto_min", "200ms", func(s Settings) string { return s.Sender.RTOMin.String() }, "0s"},
		{linux(), "ecn", "true", sender("tcp_ecn"), "1"},
		{linux(), "ecn", "true", sender("tcp_ecn_fallback"), "0"},
		{linux(), "ecn_fallback", "true", sender("tcp_ecn_fallback"), ""}, // it asks for no ECN
		{linux(), "pacing", "true", func(s Settings) string { return option(s.SenderOptions) }, "SO_MAX_PACING_RATE"},
		{linux(), "bursts", "false", func(s Settings) string { return orDefault(s.Sender.Segments, "") }, "1"},
		{linux(), "send_buffer", "64KiB", sender("tcp_wmem"), "4096 16384 65536"},
		{linux(), "send_buffer", "4096 B", sender("tcp_wmem"), "4096 4096 4096"},
		{linux(), "receive_buffer", "64KiB", receiver("tcp_rmem"), "4096 65536 65536"},
		{linux(), "autotuning", "false", receiver("tcp_rmem"), "4096 33554432 33554432"},
		{linux(), "autotuning", "false", receiver("tcp_moderate_rcvbuf"), "0"},
		{linux(), "delayed_ack", "0s", func(s Settings) string { return orDefault(s.Receiver.QuickACK, "") }, "true"},
		{linux(), "delayed_ack", "12ms", func(s Settings) string { return option(s.ReceiverOptions) }, "TCP_DELACK_MAX_US"},
		{linux(), "compressed_ack", "50us", receiver("tcp_comp_sack_delay_ns"), "50000"},
		{linux(), "compressed_ack", "0s", receiver("tcp_comp_sack_nr"), "0"},
		{without("tcp_plb_enabled"), "ecn", "false", sender("tcp_plb_enabled"), ""},
	} {
		t.Run(x.name+" "+x.given+" is "+x.want, func(t *testing.T) {
			s, err := x.kernel.TCPSettings(config(t, x.name, x.given))
			if err != nil || x.of(s) != x.want {
				t.Errorf("%s %s: %q, want %q; %v", x.name, x.given, x.of(s), x.want, err)
			}
		})
	}
}

// TestTCPSettings_RejectUnsupportedValues checks that unsupported values are refused by name, with the reason.
func TestTCPSettings_RejectUnsupportedValues(t *testing.T) {
	old := linux()
	old.DelayedACK = false
	for _, x := range []struct {
		kernel      *Kernel
		name, given string
		want        []string
	}{
		{linux(), "rto_min", "7ms", []string{"two ticks of 4ms", "allowed: 8ms and more"}},
		{linux(), "rto_min", "10000001ns", []string{"whole microseconds"}},
		{without("tcp_rto_min_us"), "rto_min", "10500us", []string{"Linux 6.11", "whole milliseconds"}},
		{linux(), "delayed_ack", "50ms", []string{"the maximum is 40ms", "TCP_DELACK_MIN"}},
		{linux(), "delayed_ack", "1ms", []string{"two ticks of 4ms"}},
		{linux(), "delayed_ack", "12000001ns", []string{"whole microseconds"}},
		{old, "delayed_ack", "12ms", []string{"TCP_DELACK_MAX_US", "Linux 6.15"}},
		{linux(), "compressed_ack", "1500ps", []string{"whole nanoseconds"}},
		{without("tcp_wmem"), "send_buffer", "64KiB", []string{"net.ipv4.tcp_wmem"}},
		{linux(), "telemetry", "rtt", []string{"telemetry"}},
		{linux(), "telemetry_packets", "9 packets", []string{"telemetry"}},
		{linux(), "integrity", "keyed", []string{"telemetry"}},
		{linux(), "feedback_key", "x", []string{"telemetry"}},
		{linux(), "nacks", "resend", []string{"NACKs"}},
		{linux(), "write", "1400 B", []string{"write", "as the socket accepts"}},
		{linux(), "begins", "connected", []string{"begins", "once the connection is established"}},
	} {
		t.Run(x.name+" "+x.given, func(t *testing.T) {
			_, err := x.kernel.TCPSettings(config(t, x.name, x.given))
			if err == nil {
				t.Errorf("%s %s is possible", x.name, x.given)
				return
			}
			for _, w := range append(x.want, x.name) {
				if w != "send_buffer" && !strings.Contains(err.Error(), w) {
					t.Errorf("%s %s: %v does not say %q", x.name, x.given, err, w)
				}
			}
		})
	}
}

// TestHostAdd checks that a host that sends and receives has both settings. Flows with conflicting requirements cannot
// be in one run.
func TestHostAdd(t *testing.T) {
	of := func(given ...string) Settings {
		s, err := linux().TCPSettings(config(t, given...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, ecn, quick, window := of(), of("ecn", "true"), of("delayed_ack", "0s"), of("initial_window", "20 packets")
	var h Host
	for _, o := range []Host{ecn.Sender, ecn.Receiver, a.Receiver, ecn.Sender, window.Receiver} {
		if err := h.Merge(o); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		o    Host
		want string
	}{{a.Sender, "tcp_ecn to be 1 and 2"}, {quick.Receiver, "immediate and delayed acknowledgements"}} {
		if err := h.Merge(x.o); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
	h = Host{}
	if err := h.Merge(quick.Receiver); err != nil {
		t.Error(err)
	}
	if err := h.Merge(window.Sender); err != nil || !h.QuickACK || h.InitialWindow != 20 {
		t.Errorf("%+v, %v", h, err)
	}
	if err := h.Merge(a.Sender); err == nil || !strings.Contains(err.Error(), "initial window of 20 and 10") {
		t.Error(err)
	}
}

// TestSetBuffers_AllowsSizesPerFlow checks that flows of one host may have buffers of different sizes. The sysctls are
// for those that grow, or for the largest. The others have their own by an option with half of the size, because the
// kernel doubles it.
func TestSetBuffers_AllowsSizesPerFlow(t *testing.T) {
	type flow []string
	fixed := func(size string) flow {
		return flow{"send_buffer", size, "receive_buffer", size, "autotuning", "false"}
	}
	grown := flow{"receive_buffer", "1MiB"}
	for _, x := range []struct {
		name       string
		flows      []flow
		wmem, rmem string
		own        [][2]int // by flow: of sender and receiver
		fails      string
	}{
		{"the same", []flow{fixed("32KiB"), fixed("32KiB")}, "4096 16384 32768", "0: 4096 32768 32768",
			[][2]int{{0, 0}, {0, 0}}, ""},
		{"two sizes", []flow{fixed("32KiB"), fixed("48KiB")}, "4096 16384 49152", "0: 4096 49152 49152",
			[][2]int{{16384, 16384}, {0, 0}}, ""},
		{"beside one that grows", []flow{grown, fixed("48KiB")}, "4096 16384 4194304", "1: 4096 131072 1048576",
			[][2]int{{0, 0}, {24576, 24576}}, ""},
		{"the same, in another order", []flow{fixed("48KiB"), grown}, "4096 16384 4194304", "1: 4096 131072 1048576",
			[][2]int{{24576, 24576}, {0, 0}}, ""},
		{"larger than what grows", []flow{grown, {"receive_buffer", "2MiB", "autotuning", "false"}}, "4096 16384 4194304",
			"1: 4096 131072 1048576", [][2]int{{0, 0}, {0, 1 << 20}}, ""},
		{"two that grow", []flow{grown, {"receive_buffer", "2MiB"}}, "", "", nil,
			"require receive buffers of up to 1048576 and 2097152 bytes"},
		{"too small for an option", []flow{fixed("4KiB"), fixed("48KiB")}, "4096 16384 49152", "0: 4096 49152 49152", nil,
			"send_buffer 4096 B next to larger ones of the same host; allowed: 4608 B and more"},
		{"odd", []flow{fixed("32767 B"), fixed("48KiB")}, "4096 16384 49152", "0: 4096 49152 49152", nil,
			"it doubles the requested size"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var a, b Host
			var all []Settings
			var failed error
			for _, f := range x.flows {
				s, err := linux().TCPSettings(config(t, f...))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, s)
				if err := errors.Join(a.Merge(s.Sender), b.Merge(s.Receiver)); err != nil {
					failed = err
				}
			}
			for i := range all {
				err := all[i].SetBuffers(&a, &b)
				if own := [2]int{all[i].SendBuffer, all[i].ReceiveBuffer}; x.own != nil && own != x.own[i] {
					t.Errorf("flow %d has %v of its own, want %v", i, own, x.own[i])
				}
				failed = errors.Join(failed, err)
			}
			if (failed != nil) != (x.fails != "") || failed != nil && !strings.Contains(failed.Error(), x.fails) {
				t.Errorf("%v, want %q", failed, x.fails)
			}
			value := func(h *Host, name string) string {
				return h.Sysctls[slices.IndexFunc(h.Sysctls, func(x Sysctl) bool { return x.Name == name })].Value
			}
			if x.wmem == "" {
				return
			}
			if w, r := value(&a, "tcp_wmem"), value(&b, "tcp_moderate_rcvbuf")+": "+value(&b, "tcp_rmem"); w != x.wmem ||
				r != x.rmem {
				t.Errorf("tcp_wmem %s, want %s; tcp_rmem %s, want %s", w, x.wmem, r, x.rmem)
			}
		})
	}
}

func TestCongestionControl(t *testing.T) {
	k := linux()
	for _, name := range []string{"reno", "cubic", "vegas"} {
		t.Run(name, func(t *testing.T) {
			if err := k.CheckCongestionControl(name); err != nil {
				t.Error(err)
			}
		})
	}
	for name, want := range map[string]string{
		"dctcp": "the kernel has no dctcp, only reno, bbr, cubic, vegas; enable CONFIG_TCP_CONG_DCTCP or load the " +
			"module tcp_dctcp",
		"highspeed": "the kernel has no highspeed, only reno, bbr, cubic, vegas; enable CONFIG_TCP_CONG_HSTCP or load the " +
			"module tcp_highspeed",
	} {
		t.Run(name, func(t *testing.T) {
			if err := k.CheckCongestionControl(name); err == nil || err.Error() != want {
				t.Errorf("%v", err)
			}
		})
	}
}

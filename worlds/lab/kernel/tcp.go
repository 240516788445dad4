package kernel

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/scheme"
	"weir/core/transport/tcp"
	"weir/core/unit"
)

// parameter describes how the kernel implements a parameter of transport tcp.
type parameter struct {
	Name string // name in experiment files
	By   string // sysctl, route, interface, socket option, application, or none
	How  string
}

// parameters lists the parameters of transport tcp in its order. Those with By "none" must keep their defaults.
func parameters() []parameter {
	const none = "Linux' TCP has no telemetry except the one that agents put into each segment"
	return []parameter{
		{"rate", "application", "it writes at this rate"},
		{"write", "none", "the lab's application writes as much as the socket accepts, or as its rate allows"},
		{"begins", "none", "the lab's application writes once the connection is established, from which FCTs count"},
		{"initial_window", "route", "initcwnd at the sender"},
		{"rto_min", "sysctl", "tcp_rto_min_us at the sender; before Linux 6.11 the route's rto_min"},
		{"ecn", "sysctl", "tcp_ecn at the sender: 1 or 2"},
		{"ecn_fallback", "sysctl", "tcp_ecn_fallback at the sender, if it requests ECN"},
		{"pacing", "socket option", "SO_MAX_PACING_RATE of the sender"},
		{"bursts", "interface", "gso_max_segs at the sender: 1 if false"},
		{"send_buffer", "sysctl", "tcp_wmem at the sender; SO_SNDBUF if another flow of its host has a larger buffer"},
		{"receive_buffer", "sysctl", "tcp_rmem at the receiver; without autotuning also SO_RCVBUF"},
		{"autotuning", "sysctl", "tcp_moderate_rcvbuf at the receiver; SO_RCVBUF if false and other flows have true"},
		{"delayed_ack", "socket option", "TCP_DELACK_MAX_US of the receiver; 0s: its route's quickack"},
		{"compressed_ack", "sysctl", "tcp_comp_sack_delay_ns, tcp_comp_sack_nr at the receiver"},
		{"rto_initial", "none", "its SYNs wait for 1 s (TCP_TIMEOUT_INIT)"},
		{"telemetry", "none", none},
		{"telemetry_packets", "none", none},
		{"integrity", "none", "Linux' TCP has no telemetry to protect"},
		{"feedback_key", "none", "Linux' TCP has no telemetry to protect"},
		{"nacks", "none", "Linux' TCP does not support NACKs"},
		{"stack", "application", "kernel; with weir, the flow's hosts are Weir's own and these settings do not apply"},
	}
}

// Sysctl is a sysctl of net.ipv4 in a network namespace.
type Sysctl struct {
	Name  string
	Value string // numbers separated by spaces
}

// Host lists the settings of a host's namespace, routes and interface for its flows. Other settings keep the
// kernel's values.
type Host struct {
	Sysctls       []Sysctl
	InitialWindow int       // packets; 0: the kernel's default, 10
	RTOMin        unit.Time // of routes; 0: the sysctl's
	QuickACK      bool
	Segments      int // limit of segments per packet given to the interface; 0: unchanged

	sends, receives bool
	sendBuffer      int64 // largest send buffer
	receiveBuffer   int64 // receive buffer: of the flows with autotuning, else the largest
	autotunes       bool  // tcp_moderate_rcvbuf
}

// Option is a socket option with an integer value (setsockopt(2)).
type Option struct {
	Name        string
	Level, Code int
	Value       int
}

// Settings are the kernel settings for a flow's parameters.
type Settings struct {
	Sender, Receiver               Host      // hosts of source and destination
	SenderOptions, ReceiverOptions []Option  // options of the two sockets, set before they connect or listen
	Rate                           unit.Rate // at which the application writes; 0: as fast as possible
	Pacing                         bool      // TCP paces by itself, because of one of SenderOptions
	// Buffers of the flow's sockets if the host's buffers belong to another flow (setSendBuffers, setReceiveBuffers): of
	// the sending socket before it connects, and of the listening one. 0: the host's.
	SendBuffer, ReceiveBuffer int
}

// Numbers of linux/tcp.h and of Linux' TCP that x/sys lacks.
const (
	delackMaxUS = 46 // TCP_DELACK_MAX_US
	protocolTCP = 6
	socketLevel = 1  // SOL_SOCKET
	maxPacing   = 47 // SO_MAX_PACING_RATE

	delackMin = 40 * unit.Millisecond // TCP_DELACK_MIN
	// minTicks is the minimum of TCP's timers in ticks (TCP_TIMEOUT_MIN).
	minTicks = 2
	// unlimitedPacing is a rate in bytes/s above any that a socket reaches, and not the value for no pacing.
	unlimitedPacing = 1<<31 - 1

	minWindow = 4096   // tcp_wmem[0], tcp_rmem[0]
	firstSend = 16384  // tcp_wmem[1]
	firstRead = 131072 // tcp_rmem[1]

	minSendOption = 4608 // SOCK_MIN_SNDBUF: setsockopt(2) raises smaller values to it
	minReadOption = 2304 // SOCK_MIN_RCVBUF
)

// assumedSysctls lists sysctls that transport tcp assumes, with the defaults of Linux 6.18. Other kernels and
// administrators may have other values. Kernels that lack one behave differently, and no parameter covers it.
var assumedSysctls = []Sysctl{
	{"tcp_no_metrics_save", "1"}, // a flow must not start with metrics of an earlier one
	{"tcp_sack", "1"}, {"tcp_dsack", "1"}, {"tcp_timestamps", "1"}, {"tcp_window_scaling", "1"},
	{"tcp_adv_win_scale", "1"}, {"tcp_app_win", "31"}, {"tcp_shrink_window", "0"},
	{"tcp_recovery", "1"}, {"tcp_early_retrans", "3"}, {"tcp_frto", "2"}, {"tcp_reordering", "3"},
	{"tcp_max_reordering", "300"},
	{"tcp_retries2", "15"}, {"tcp_syn_retries", "6"}, {"tcp_rto_max_ms", "120000"}, {"tcp_thin_linear_timeouts", "0"},
	{"tcp_slow_start_after_idle", "1"}, {"tcp_min_rtt_wlen", "300"}, {"tcp_mtu_probing", "0"},
	{"tcp_tso_win_divisor", "3"}, {"tcp_tso_rtt_log", "9"}, {"tcp_min_tso_segs", "2"}, {"tcp_limit_output_bytes",
		"4194304"},
	{"tcp_pacing_ss_ratio", "200"}, {"tcp_pacing_ca_ratio", "120"}, {"tcp_notsent_lowat", "4294967295"},
	{"tcp_plb_enabled", "0"}, {"tcp_backlog_ack_defer", "1"}, {"tcp_comp_sack_slack_ns", "100000"},
}

// TCPSettings converts a configuration of transport tcp to settings of this kernel, without applying them. The error
// names the first parameter that the kernel cannot implement and the reason, or a configuration of another transport.
func (k *Kernel) TCPSettings(config scheme.Config) (Settings, error) {
	c, err := scheme.ConfigAs[tcp.Config](config)
	if err != nil {
		return Settings{}, fmt.Errorf("transport tcp: %w", err)
	}
	s := Settings{
		Sender:   Host{Sysctls: slices.Clone(assumedSysctls), sends: true},
		Receiver: Host{Sysctls: slices.Clone(assumedSysctls), receives: true},
		Rate:     c.Rate, Pacing: c.Pacing,
	}
	for _, set := range []func(*Settings, *tcp.Config) error{k.checkParameters, k.setSender, k.setReceiver,
		k.checkSysctls} {
		if err := set(&s, &c); err != nil {
			return Settings{}, fmt.Errorf("transport tcp: the kernel %w", err)
		}
	}
	return s, nil
}

// cannotSet returns the error of a parameter that the kernel cannot implement: "does not support", the parameter's
// name and value, and the reason with format why.
func cannotSet(name string, value any, why string, a ...any) error {
	return fmt.Errorf("does not support %s %v: %s", name, value, fmt.Sprintf(why, a...))
}

// checkParameters returns an error for parameters that Linux' TCP does not have, unless they have their defaults.
func (k *Kernel) checkParameters(_ *Settings, c *tcp.Config) error {
	params := scheme.Bind(c)
	for _, x := range parameters() {
		if p := params.Find(x.Name); x.By == "none" && !p.IsDefault() {
			return cannotSet(x.Name, p.Value(), "%s", x.How)
		}
	}
	return nil
}

// setSender sets the settings of the sending host in s, except its buffers. Values that are the kernel's defaults set
// no route and no interface. The error names a value that the kernel cannot implement.
func (k *Kernel) setSender(s *Settings, c *tcp.Config) error {
	send := &s.Sender
	if n := c.InitialWindow; n != 10 {
		send.InitialWindow = n
	}
	rto := c.RTOMin
	switch {
	case rto < minTicks*k.Tick:
		return cannotSet("rto_min", rto, "its timers take at least two ticks of %v; allowed: %v and more",
			k.Tick, minTicks*k.Tick)
	case k.hasSysctl("tcp_rto_min_us"):
		if rto%unit.Microsecond != 0 {
			return cannotSet("rto_min", rto, "it counts whole microseconds; give a multiple of 1us")
		}
		send.setSysctl("tcp_rto_min_us", int64(rto/unit.Microsecond))
	case rto != 200*unit.Millisecond:
		if rto%unit.Millisecond != 0 {
			return cannotSet("rto_min", rto, "it has no tcp_rto_min_us (Linux 6.11), and routes count whole milliseconds; "+
				"give a multiple of 1ms")
		}
		send.RTOMin = rto
	}
	ecn := int64(2) // accept, do not request
	if c.ECN {
		ecn = 1
	}
	send.setSysctl("tcp_ecn", ecn)
	if c.ECN {
		fallback := int64(0)
		if c.ECNFallback {
			fallback = 1
		}
		send.setSysctl("tcp_ecn_fallback", fallback)
	}
	if s.Pacing {
		s.SenderOptions = append(s.SenderOptions, Option{"SO_MAX_PACING_RATE", socketLevel, maxPacing, unlimitedPacing})
	}
	if !c.Bursts {
		send.Segments = 1
	}
	return nil
}

// setReceiver sets the buffers of both hosts in s, and the acknowledgements of the receiving one. The error names a
// value that the kernel cannot implement.
func (k *Kernel) setReceiver(s *Settings, c *tcp.Config) error {
	receive := &s.Receiver
	s.Sender.sendBuffer = int64(c.SendBuffer)
	receive.receiveBuffer, receive.autotunes = int64(c.ReceiveBuffer), c.Autotuning
	s.Sender.setSendBuffers()
	receive.setReceiveBuffers()
	switch d := c.DelayedACK; {
	case d == 0:
		receive.QuickACK = true
	case d > delackMin:
		return cannotSet("delayed_ack", d, "the maximum is %v (TCP_DELACK_MIN)", delackMin)
	case d == delackMin:
	case d < minTicks*k.Tick:
		return cannotSet("delayed_ack", d, "its timers take at least two ticks of %v; allowed: 0s, or %v and more", k.Tick,
			minTicks*k.Tick)
	case d%unit.Microsecond != 0:
		return cannotSet("delayed_ack", d, "it counts whole microseconds; give a multiple of 1us")
	case !k.DelayedACK:
		return cannotSet("delayed_ack", d, "it has no socket option TCP_DELACK_MAX_US, which Linux 6.15 introduced")
	default:
		s.ReceiverOptions = append(s.ReceiverOptions, Option{"TCP_DELACK_MAX_US", protocolTCP, delackMaxUS,
			int(d / unit.Microsecond)})
	}
	compressed, maxSACKs := c.CompressedACK, int64(44)
	if compressed == 0 {
		compressed, maxSACKs = unit.Millisecond, 0
	}
	if compressed%unit.Nanosecond != 0 {
		return cannotSet("compressed_ack", compressed, "it counts whole nanoseconds; give a multiple of 1ns")
	}
	receive.setSysctl("tcp_comp_sack_delay_ns", int64(compressed/unit.Nanosecond))
	receive.setSysctl("tcp_comp_sack_nr", maxSACKs)
	return nil
}

// checkSysctls returns an error for a required sysctl in s that the kernel lacks. It removes assumed ones that it
// lacks, which must be the first ones of each host.
func (k *Kernel) checkSysctls(s *Settings, _ *tcp.Config) error {
	for _, h := range [2]*Host{&s.Sender, &s.Receiver} {
		for _, x := range h.Sysctls[len(assumedSysctls):] {
			if !k.hasSysctl(x.Name) {
				return fmt.Errorf("has no sysctl net.ipv4.%s", x.Name)
			}
		}
		h.Sysctls = slices.DeleteFunc(h.Sysctls, func(x Sysctl) bool { return !k.hasSysctl(x.Name) })
	}
	return nil
}

// setSendBuffers sets tcp_wmem in h.Sysctls from the host's largest send buffer.
func (h *Host) setSendBuffers() {
	h.setSysctl("tcp_wmem", minWindow, min(firstSend, h.sendBuffer), h.sendBuffer)
}

// setReceiveBuffers sets tcp_rmem and tcp_moderate_rcvbuf in h.Sysctls from the host's receive buffer. Without
// autotuning the buffer has its full size from the start.
func (h *Host) setReceiveBuffers() {
	moderate, first := int64(1), min(firstRead, h.receiveBuffer)
	if !h.autotunes {
		moderate, first = 0, h.receiveBuffer
	}
	h.setSysctl("tcp_moderate_rcvbuf", moderate)
	h.setSysctl("tcp_rmem", minWindow, first, h.receiveBuffer)
}

// setSysctl adds a sysctl to h.Sysctls or replaces its value there. The kernel is not changed.
func (h *Host) setSysctl(name string, values ...int64) {
	x := Sysctl{name, strings.Trim(fmt.Sprint(values), "[]")}
	if i := slices.IndexFunc(h.Sysctls, func(y Sysctl) bool { return y.Name == name }); i >= 0 {
		h.Sysctls[i] = x
		return
	}
	h.Sysctls = append(h.Sysctls, x)
}

// bufferSysctls may differ between flows of a host, because sockets have options for them.
var bufferSysctls = []string{"tcp_wmem", "tcp_rmem", "tcp_moderate_rcvbuf"}

// Merge merges the settings o of another flow into h. Of buffers that differ, the larger applies. Of receive buffers,
// those with autotuning replace fixed ones, and two with autotuning must not differ. Other settings that differ are an
// error that names them, and h is then partly merged. Settings of routes and interfaces conflict only if both send, or
// both receive. The zero Host has no settings.
func (h *Host) Merge(o Host) error {
	for _, x := range o.Sysctls {
		i := slices.IndexFunc(h.Sysctls, func(y Sysctl) bool { return y.Name == x.Name })
		if i < 0 {
			h.Sysctls = append(h.Sysctls, x)
		} else if was := h.Sysctls[i].Value; was != x.Value && !slices.Contains(bufferSysctls, x.Name) {
			return fmt.Errorf("flows of one host require net.ipv4.%s to be %s and %s; give them the same value",
				x.Name, was, x.Value)
		}
	}
	if o.sends {
		h.sendBuffer = max(h.sendBuffer, o.sendBuffer)
		h.setSendBuffers()
	}
	if o.receives {
		switch {
		case h.receives && h.autotunes && o.autotunes && h.receiveBuffer != o.receiveBuffer:
			return fmt.Errorf("flows of one host require receive buffers of up to %d and %d bytes, but net.ipv4.tcp_rmem "+
				"applies to all; with autotuning: false each has its own", h.receiveBuffer, o.receiveBuffer)
		case !h.receives || o.autotunes:
			h.receiveBuffer, h.autotunes = o.receiveBuffer, o.autotunes
		case !h.autotunes:
			h.receiveBuffer = max(h.receiveBuffer, o.receiveBuffer)
		}
		h.setReceiveBuffers()
	}
	if o.sends {
		if h.sends && (h.InitialWindow != o.InitialWindow || h.RTOMin != o.RTOMin || h.Segments != o.Segments) {
			return fmt.Errorf("flows of one host require an initial window of %s and %s, an RTO of at least %s and %s, "+
				"bursts of %s and %s; give them the same values",
				orDefault(h.InitialWindow, "10"), orDefault(o.InitialWindow, "10"),
				orDefault(h.RTOMin, "200ms"), orDefault(o.RTOMin, "200ms"),
				orDefault(h.Segments, "many"), orDefault(o.Segments, "many"))
		}
		h.InitialWindow, h.RTOMin, h.Segments, h.sends = o.InitialWindow, o.RTOMin, o.Segments, true
	}
	if o.receives {
		if h.receives && h.QuickACK != o.QuickACK {
			return fmt.Errorf("flows of one host require immediate and delayed acknowledgements; give them the same " +
				"delayed_ack")
		}
		h.QuickACK, h.receives = o.QuickACK, true
	}
	return nil
}

// SetBuffers sets the flow's socket buffers in s if its hosts, merged from all their flows, have other sizes; else they
// stay 0. A socket option fixes the size from the start. A host's send buffer starts smaller, with memory for 20
// packets, up to some 46 KiB, and grows. Sizes that the option cannot set, odd or too small, are an error.
func (s *Settings) SetBuffers(sender, receiver *Host) error {
	fixed := func(name string, want, minimum int64) (int, error) {
		switch {
		case want < minimum:
			return 0, fmt.Errorf("transport tcp: the kernel does not support %s %d B next to larger ones of the same "+
				"host; allowed: %d B and more", name, want, minimum)
		case want%2 != 0:
			return 0, fmt.Errorf("transport tcp: the kernel does not support %s %d B next to others of the same host: it "+
				"doubles the requested size", name, want)
		}
		return int(want / 2), nil
	}
	var err error
	if want := s.Sender.sendBuffer; want < sender.sendBuffer {
		s.SendBuffer, err = fixed("send_buffer", want, minSendOption)
	}
	if want := s.Receiver.receiveBuffer; err == nil && !s.Receiver.autotunes &&
		(receiver.autotunes || want < receiver.receiveBuffer) {
		s.ReceiveBuffer, err = fixed("receive_buffer", want, minReadOption)
	}
	return err
}

// orDefault formats v, or returns standard if v is zero.
func orDefault[T comparable](v T, standard string) string {
	var zero T
	if v == zero {
		return standard
	}
	return fmt.Sprint(v)
}

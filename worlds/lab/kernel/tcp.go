package kernel

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/scheme"
	"weir/core/transport/tcp"
	"weir/core/unit"
)

// parameter says by what the kernel has a parameter of transport tcp.
type parameter struct {
	Name string // as an experiment file has it
	By   string // sysctl, route, interface, socket option, application, or none
	How  string
}

// parameters are those of transport tcp, in its order.
func parameters() []parameter {
	const none = "Linux' TCP has no telemetry but what agents put into each segment"
	return []parameter{
		{"rate", "application", "it writes at that rate"},
		{"write", "none", "the lab's application writes as much as the socket takes, or its rate lets"},
		{"begins", "none", "the lab's application writes from when the connection is there, and FCTs begin with it"},
		{"initial_window", "route", "initcwnd at the sender"},
		{"rto_min", "sysctl", "tcp_rto_min_us at the sender; before Linux 6.11 the route's rto_min"},
		{"ecn", "sysctl", "tcp_ecn at the sender: 1 or 2"},
		{"ecn_fallback", "sysctl", "tcp_ecn_fallback at the sender, where it asks for ECN"},
		{"pacing", "socket option", "SO_MAX_PACING_RATE of the sender"},
		{"bursts", "interface", "gso_max_segs at the sender: 1 if false"},
		{"send_buffer", "sysctl", "tcp_wmem at the sender; where another flow of its host has more, SO_SNDBUF"},
		{"receive_buffer", "sysctl", "tcp_rmem at the receiver; without autotuning also SO_RCVBUF"},
		{"autotuning", "sysctl", "tcp_moderate_rcvbuf at the receiver; false where others have it: SO_RCVBUF"},
		{"delayed_ack", "socket option", "TCP_DELACK_MAX_US of the receiver; 0s: its route's quickack"},
		{"compressed_ack", "sysctl", "tcp_comp_sack_delay_ns, tcp_comp_sack_nr at the receiver"},
		{"rto_initial", "none", "its SYNs wait for 1 s (TCP_TIMEOUT_INIT)"},
		{"telemetry", "none", none},
		{"telemetry_packets", "none", none},
		{"integrity", "none", "Linux' TCP has no telemetry to protect"},
		{"feedback_key", "none", "Linux' TCP has no telemetry to protect"},
		{"nacks", "none", "Linux' TCP knows no NACKs"},
		{"stack", "application", "kernel; with weir the flow's hosts are Weir's own, and nothing of this is asked for"},
	}
}

// sysctl is one of net.ipv4, of a network namespace.
type Sysctl struct {
	Name  string
	Value string // numbers with a blank between each two
}

// Host is what a host's namespace, its routes and its interface must have for its flows.
// A value that no flow speaks of is the kernel's.
type Host struct {
	Sysctls       []Sysctl
	InitialWindow int       // packets; 0: the kernel's, 10
	RTOMin        unit.Time // of routes; 0: the sysctl's
	QuickACK      bool
	Segments      int // that TCP may give to the interface as one; 0: what it has

	sends, receives bool
	send            int64 // the largest send buffer
	read            int64 // the receive buffer: that of flows that grow it, or else the largest
	grows           bool  // tcp_moderate_rcvbuf
}

// Option is a number that a socket is given (setsockopt(2)).
type Option struct {
	Name        string
	Level, Code int
	Value       int
}

// Settings are how the kernel is given a flow's parameters.
type Settings struct {
	Sender, Receiver               Host      // where it begins, and where it ends
	SenderOptions, ReceiverOptions []Option  // of its two sockets, before they are connected or listen
	Rate                           unit.Rate // at which the application writes; 0: as fast as it goes
	Pacing                         bool      // paced by TCP itself: one of SenderOptions
	// Buffers of its own, where those of the host are another flow's (Buffers): of the sending socket before it is
	// connected, and of the one that listens. 0: the host's.
	SendBuffer, ReceiveBuffer int
}

// Numbers of linux/tcp.h and of TCP in Linux that x/sys does not have.
const (
	delackMaxUS = 46 // TCP_DELACK_MAX_US
	protocolTCP = 6
	socketLevel = 1  // SOL_SOCKET
	maxPacing   = 47 // SO_MAX_PACING_RATE

	delackMin = 40 * unit.Millisecond // TCP_DELACK_MIN
	// LeastTicks is how many ticks a timer of TCP takes, at least (TCP_TIMEOUT_MIN).
	leastTicks = 2
	// mostPacing is a rate in bytes/s above all that a socket reaches, and not the one that
	// stands for none.
	mostPacing = 1<<31 - 1

	leastWindow = 4096   // tcp_wmem[0], tcp_rmem[0]
	firstSend   = 16384  // tcp_wmem[1]
	firstRead   = 131072 // tcp_rmem[1]

	leastSendOption = 4608 // SOCK_MIN_SNDBUF: what setsockopt(2) makes of less
	leastReadOption = 2304 // SOCK_MIN_RCVBUF
)

// taken are sysctls that transport tcp takes for granted, with Linux 6.18's defaults:
// those of other kernels and of administrators may differ. Kernels without one of them
// work otherwise; no parameter is about it.
var taken = []Sysctl{
	{"tcp_no_metrics_save", "1"}, // a flow must not begin with what is remembered of the one before
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

// TCP makes of a configuration of transport tcp what this kernel is to be given. Its error
// names the first parameter that it cannot have, and why.
func (k *Kernel) TCP(config scheme.Config) (Settings, error) {
	c, err := scheme.As[tcp.Config](config)
	if err != nil {
		return Settings{}, fmt.Errorf("transport tcp: %w", err)
	}
	s := Settings{
		Sender:   Host{Sysctls: slices.Clone(taken), sends: true},
		Receiver: Host{Sysctls: slices.Clone(taken), receives: true},
		Rate:     c.Rate, Pacing: c.Pacing,
	}
	for _, set := range []func(*Settings, *tcp.Config) error{k.plain, k.sender, k.receiver, k.settable} {
		if err := set(&s, &c); err != nil {
			return Settings{}, fmt.Errorf("transport tcp: the kernel %w", err)
		}
	}
	return s, nil
}

// cannot is the error of a parameter that the kernel cannot have.
func cannot(name string, value any, why string, a ...any) error {
	return fmt.Errorf("cannot have %s %v: %s", name, value, fmt.Sprintf(why, a...))
}

// plain checks that the flow asks for nothing that is not TCP's.
func (k *Kernel) plain(_ *Settings, c *tcp.Config) error {
	params := scheme.Bind(c)
	for _, x := range parameters() {
		if p := params.Find(x.Name); x.By == "none" && !p.IsDefault() {
			return cannot(x.Name, p.Value(), "%s", x.How)
		}
	}
	return nil
}

// sender sets what the sending host has, but for its buffers.
func (k *Kernel) sender(s *Settings, c *tcp.Config) error {
	send := &s.Sender
	if n := c.InitialWindow; n != 10 {
		send.InitialWindow = n
	}
	rto := c.RTOMin
	switch {
	case rto < leastTicks*k.Tick:
		return cannot("rto_min", rto, "its timers take two ticks of %v at least: from %v on", k.Tick, leastTicks*k.Tick)
	case k.has("tcp_rto_min_us"):
		if rto%unit.Microsecond != 0 {
			return cannot("rto_min", rto, "it counts whole microseconds")
		}
		send.set("tcp_rto_min_us", int64(rto/unit.Microsecond))
	case rto != 200*unit.Millisecond:
		if rto%unit.Millisecond != 0 {
			return cannot("rto_min", rto, "it has no tcp_rto_min_us (Linux 6.11), and routes count whole milliseconds")
		}
		send.RTOMin = rto
	}
	ecn := int64(2) // agree, but do not ask
	if c.ECN {
		ecn = 1
	}
	send.set("tcp_ecn", ecn)
	if c.ECN {
		fallback := int64(0)
		if c.ECNFallback {
			fallback = 1
		}
		send.set("tcp_ecn_fallback", fallback)
	}
	if s.Pacing {
		s.SenderOptions = append(s.SenderOptions, Option{"SO_MAX_PACING_RATE", socketLevel, maxPacing, mostPacing})
	}
	if !c.Bursts {
		send.Segments = 1
	}
	return nil
}

// receiver sets the buffers of both hosts, and how the receiving one acknowledges.
func (k *Kernel) receiver(s *Settings, c *tcp.Config) error {
	receive := &s.Receiver
	s.Sender.send, receive.read, receive.grows = int64(c.SendBuffer), int64(c.ReceiveBuffer), c.Autotuning
	s.Sender.setSend()
	receive.setRead()
	switch d := c.DelayedACK; {
	case d == 0:
		receive.QuickACK = true
	case d > delackMin:
		return cannot("delayed_ack", d, "it is %v at most (TCP_DELACK_MIN)", delackMin)
	case d == delackMin:
	case d < leastTicks*k.Tick:
		return cannot("delayed_ack", d, "its timers take two ticks of %v at least: 0s, or from %v on", k.Tick,
			leastTicks*k.Tick)
	case d%unit.Microsecond != 0:
		return cannot("delayed_ack", d, "it counts whole microseconds")
	case !k.DelayedACK:
		return cannot("delayed_ack", d, "it has no socket option TCP_DELACK_MAX_US (Linux 6.15)")
	default:
		s.ReceiverOptions = append(s.ReceiverOptions, Option{"TCP_DELACK_MAX_US", protocolTCP, delackMaxUS,
			int(d / unit.Microsecond)})
	}
	compressed, most := c.CompressedACK, int64(44)
	if compressed == 0 {
		compressed, most = unit.Millisecond, 0
	}
	if compressed%unit.Nanosecond != 0 {
		return cannot("compressed_ack", compressed, "it counts whole nanoseconds")
	}
	receive.set("tcp_comp_sack_delay_ns", int64(compressed/unit.Nanosecond))
	receive.set("tcp_comp_sack_nr", most)
	return nil
}

// settable checks that the kernel has what is to be set; what it does without is the default, or
// said.
func (k *Kernel) settable(s *Settings, _ *tcp.Config) error {
	for _, h := range [2]*Host{&s.Sender, &s.Receiver} {
		for _, x := range h.Sysctls[len(taken):] {
			if !k.has(x.Name) {
				return fmt.Errorf("has no sysctl net.ipv4.%s", x.Name)
			}
		}
		h.Sysctls = slices.DeleteFunc(h.Sysctls, func(x Sysctl) bool { return !k.has(x.Name) })
	}
	return nil
}

// setSend sets the sysctl of send buffers.
func (h *Host) setSend() { h.set("tcp_wmem", leastWindow, min(firstSend, h.send), h.send) }

// setRead sets the sysctls of receive buffers.
func (h *Host) setRead() {
	moderate, first := int64(1), min(firstRead, h.read)
	if !h.grows {
		moderate, first = 0, h.read
	}
	h.set("tcp_moderate_rcvbuf", moderate)
	h.set("tcp_rmem", leastWindow, first, h.read)
}

// set gives a sysctl a value, in place of that which it has.
func (h *Host) set(name string, values ...int64) {
	x := Sysctl{name, strings.Trim(fmt.Sprint(values), "[]")}
	if i := slices.IndexFunc(h.Sysctls, func(y Sysctl) bool { return y.Name == name }); i >= 0 {
		h.Sysctls[i] = x
		return
	}
	h.Sysctls = append(h.Sysctls, x)
}

// ofBuffers are sysctls that flows of a host need not agree on: sockets have options for that.
var ofBuffers = []string{"tcp_wmem", "tcp_rmem", "tcp_moderate_rcvbuf"}

// Add makes h what both h and o want. The zero value wants nothing. Its error says what
// they do not agree on.
func (h *Host) Add(o Host) error {
	for _, x := range o.Sysctls {
		i := slices.IndexFunc(h.Sysctls, func(y Sysctl) bool { return y.Name == x.Name })
		if i < 0 {
			h.Sysctls = append(h.Sysctls, x)
		} else if was := h.Sysctls[i].Value; was != x.Value && !slices.Contains(ofBuffers, x.Name) {
			return fmt.Errorf("flows of one host want net.ipv4.%s to be %s and %s", x.Name, was, x.Value)
		}
	}
	if o.sends {
		h.send = max(h.send, o.send)
		h.setSend()
	}
	if o.receives {
		switch {
		case h.receives && h.grows && o.grows && h.read != o.read:
			return fmt.Errorf("flows of one host grow their receive buffers up to %d and %d bytes, and net.ipv4.tcp_rmem is "+
				"for all; with autotuning: false each has its own", h.read, o.read)
		case !h.receives || o.grows:
			h.read, h.grows = o.read, o.grows
		case !h.grows:
			h.read = max(h.read, o.read)
		}
		h.setRead()
	}
	// Of routes and interfaces, both have a say only if both send, or both receive.
	if o.sends {
		if h.sends && (h.InitialWindow != o.InitialWindow || h.RTOMin != o.RTOMin || h.Segments != o.Segments) {
			return fmt.Errorf("flows of one host want an initial window of %s and %s, an RTO of at least %s and %s, "+
				"bursts of %s and %s",
				or(h.InitialWindow, "10"), or(o.InitialWindow, "10"), or(h.RTOMin, "200ms"), or(o.RTOMin, "200ms"),
				or(h.Segments, "many"), or(o.Segments, "many"))
		}
		h.InitialWindow, h.RTOMin, h.Segments, h.sends = o.InitialWindow, o.RTOMin, o.Segments, true
	}
	if o.receives {
		if h.receives && h.QuickACK != o.QuickACK {
			return fmt.Errorf("flows of one host want each segment acknowledged at once, and not")
		}
		h.QuickACK, h.receives = o.QuickACK, true
	}
	return nil
}

// Buffers gives the flow's sockets the buffers that it wants where its hosts, with all their flows, have others. A
// socket's option fixes the size from the start; of a send buffer that is no more than what a connection begins with,
// memory for 20 packets, up to some 46 KiB.
func (s *Settings) Buffers(sender, receiver *Host) error {
	own := func(name string, want, least int64) (int, error) {
		switch {
		case want < least:
			return 0, fmt.Errorf("transport tcp: the kernel cannot have %s %d B beside larger ones of the same host: it is "+
				"%d B at least", name, want, least)
		case want%2 != 0:
			return 0, fmt.Errorf("transport tcp: the kernel cannot have %s %d B beside others of the same host: it doubles "+
				"what a socket asks for", name, want)
		}
		return int(want / 2), nil
	}
	var err error
	if want := s.Sender.send; want < sender.send {
		s.SendBuffer, err = own("send_buffer", want, leastSendOption)
	}
	if want := s.Receiver.read; err == nil && !s.Receiver.grows && (receiver.grows || want < receiver.read) {
		s.ReceiveBuffer, err = own("receive_buffer", want, leastReadOption)
	}
	return err
}

func or[T comparable](v T, standard string) string {
	var zero T
	if v == zero {
		return standard
	}
	return fmt.Sprint(v)
}

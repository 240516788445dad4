package results

// Attempt is what a run of the lab says of the machine. A disturbed attempt is made again,
// up to a limit; the last one counts.
type Attempt struct {
	Disturbed []string `json:"disturbed"` // by what; empty: by nothing
	Errors    []string `json:"errors"`    // what must not happen: frames lost where the experiment has no loss
	Frames    uint64   `json:"frames"`    // that left for hosts
	LateP50S  float64  `json:"late_p50_s"`
	LateP99S  float64  `json:"late_p99_s"`
	LateP999S float64  `json:"late_p999_s"`
	LateMaxS  float64  `json:"late_max_s"`
	// frames by powers of two: entry i were less than 2^i ns late, and not less than half of that
	Lateness []uint64 `json:"lateness"`
	StallS   float64  `json:"stall_s"` // longest time in which something was to be done and nothing happened
	// share of the measured part that stalls can have changed, each with a round trip after it
	Upset float64 `json:"upset"`
	// … and which waits that are longer than two frames take on the slowest link can have changed in queues
	Held float64 `json:"held"`
	// for how long others of this machine had the data plane's processor
	WaitedS float64 `json:"waited_s"`
	// … and that of the thread that sends and receives by the kernel's TCP
	HostsWaitedS float64 `json:"hosts_waited_s"`
	// share of the measured part that such waits can have changed, each that was not short with a round trip after it
	HostsWaited float64   `json:"hosts_waited"`
	RingLost    uint64    `json:"ring_lost"`
	Lost        uint64    `json:"lost"`    // frames that kernels dropped or did not take
	Steal       float64   `json:"steal"`   // share of all cores that the hypervisor kept back
	CPU         float64   `json:"cpu"`     // share of one core that the data plane used
	OwnCPU      float64   `json:"own_cpu"` // … and of the process that sends and receives
	Send        *SendLate `json:"send,omitempty"`
	// of hosts of Weir's own, frames that they sent
	Hosts *HostsLate `json:"hosts,omitempty"`
	// of Linux' hosts whose TCP follows HPCC++
	Agents *Agents `json:"agents,omitempty"`
	WallS  float64 `json:"wall_s"`
	// what the data plane's thread had: nice, fifo, deadline or core; empty: none of these
	Scheduling string   `json:"scheduling"`
	Replays    []Replay `json:"replays,omitempty"` // of what was captured
	// that links have lost or got back
	Carriers []Carrier `json:"carriers,omitempty"`
}

// Carrier is that a link has lost its carrier, or has it back, and when the switches noticed.
type Carrier struct {
	Ends [2]string `json:"ends"`
	Down bool      `json:"down"`
	AtS  float64   `json:"at_s"` // of the experiment's time
}

// disturbed reports whether the machine disturbed the attempt, or it has errors. Such an attempt decides neither a
// claim nor that the worlds differ.
func (a *Attempt) disturbed() bool { return len(a.Disturbed)+len(a.Errors) > 0 }

// changed returns the share of the measured part in which the machine can have changed what hosts did, or with queues
// what stood in them. It is all of a disturbed attempt; the share of its stalls does not matter: a sender that loses a
// window or waits for a timeout after a stall recovers for as long as its congestion control takes.
func (a *Attempt) changed(queues bool) float64 {
	switch {
	case a.disturbed(), a.RingLost+a.Lost > 0:
		return 1
	case queues:
		return max(a.Upset, a.Held, a.HostsWaited)
	}
	return max(a.Upset, a.HostsWaited)
}

// ReplayedHosts stands in place of a switch's name for the hosts of Weir's own (lab.CaptureHosts).
const ReplayedHosts = "hosts"

// Replay is what came of giving a switch of the simulator, or its hosts, the input that those of the lab
// had: the same output, byte for byte and to the picosecond, or the first difference.
type Replay struct {
	Switch     string `json:"switch"`               // or ReplayedHosts
	In         uint64 `json:"in"`                   // frames that came in
	Out        uint64 `json:"out"`                  // frames that went out alike
	Cut        bool   `json:"cut,omitempty"`        // the capture had no room for what came after
	Difference string `json:"difference,omitempty"` // empty: there is none
}

// Of says of what it is.
func (r *Replay) Of() string {
	if r.Switch == ReplayedHosts {
		return "hosts of Weir's own"
	}
	return "switch " + r.Switch
}

// HostsLate is how late frames left Weir's own hosts, by the time at which their NICs began to send them.
type HostsLate struct {
	Frames uint64  `json:"frames"`
	P50S   float64 `json:"p50_s"`
	P99S   float64 `json:"p99_s"`
	MaxS   float64 `json:"max_s"`
	StallS float64 `json:"stall_s"` // longest time in which something was to be done and nothing happened
	CPU    float64 `json:"cpu"`     // share of one core
}

// Agents is what agents of Linux' hosts have counted of their connections, as they knew it 100 ms before the end of
// each, or later.
type Agents struct {
	Hosts       int    `json:"hosts"`
	Connections int    `json:"connections"` // that have sent
	Traced      uint64 `json:"traced"`      // segments that left with room for records
	Measured    uint64 `json:"measured"`    // measurements by records
	Told        uint64 `json:"told"`        // windows that senders were told
	Refused     uint64 `json:"refused"`     // options and records that are of no window of their connection
	Fallbacks   uint64 `json:"fallbacks"`   // changes to CUBIC for want of telemetry
}

// SendLate is how late datagrams were sent after their schedule.
type SendLate struct {
	Datagrams uint64  `json:"datagrams"`
	P50S      float64 `json:"p50_s"`
	P99S      float64 `json:"p99_s"`
	MaxS      float64 `json:"max_s"`
}

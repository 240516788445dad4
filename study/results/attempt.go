package results

// Attempt describes the machine during one attempt of a run of the lab. A disturbed attempt is repeated up to a
// limit; the last one counts.
type Attempt struct {
	Disturbed []string `json:"disturbed"` // causes; empty: not disturbed
	Errors    []string `json:"errors"`    // impossible events, such as lost frames where the experiment has no loss
	Frames    uint64   `json:"frames"`    // sent to hosts
	LateP50S  float64  `json:"late_p50_s"`
	LateP99S  float64  `json:"late_p99_s"`
	LateP999S float64  `json:"late_p999_s"`
	LateMaxS  float64  `json:"late_max_s"`
	// frames by powers of two of lateness: entry i counts those at least 2^(i−1) and less than 2^i ns late
	Lateness []uint64 `json:"lateness"`
	StallS   float64  `json:"stall_s"` // longest time without progress although work was due
	// share of the measured part that stalls can have changed, including a round trip after each
	StallShare float64 `json:"upset"`
	// share that waits longer than two frames on the slowest link can have changed in queues
	HeldShare float64 `json:"held"`
	// time for which other processes of this machine used the data plane's processor
	WaitedS float64 `json:"waited_s"`
	// likewise for the thread that sends and receives by the kernel's TCP
	HostsWaitedS float64 `json:"hosts_waited_s"`
	// share of the measured part that these waits can have changed, including a round trip after each long one
	HostsWaited float64   `json:"hosts_waited"`
	RingLost    uint64    `json:"ring_lost"`
	Lost        uint64    `json:"lost"`    // frames that kernels dropped or rejected
	Steal       float64   `json:"steal"`   // share of all cores that the hypervisor withheld
	CPU         float64   `json:"cpu"`     // share of one core used by the data plane
	OwnCPU      float64   `json:"own_cpu"` // likewise for the process that sends and receives
	Send        *SendLate `json:"send,omitempty"`
	// frames sent by hosts of Weir
	Hosts *HostsLate `json:"hosts,omitempty"`
	// hosts of Linux with a TCP that follows HPCC++
	Agents *Agents `json:"agents,omitempty"`
	WallS  float64 `json:"wall_s"`
	// scheduling of the data plane's thread: nice, fifo, deadline or core; empty: default
	Scheduling string   `json:"scheduling"`
	Replays    []Replay `json:"replays,omitempty"` // of captured frames
	// loss and return of links' carriers
	Carriers []Carrier `json:"carriers,omitempty"`
}

// Carrier records when the switches noticed that a link lost or regained its carrier.
type Carrier struct {
	Ends [2]string `json:"ends"`
	Down bool      `json:"down"`
	AtS  float64   `json:"at_s"` // time of the experiment
}

// isDisturbed reports whether the machine disturbed the attempt, or it has errors. Such an attempt decides neither a
// claim nor a difference between the worlds.
func (a *Attempt) isDisturbed() bool { return len(a.Disturbed)+len(a.Errors) > 0 }

// changedShare returns the share of the measured part in which the machine may have changed the behaviour of hosts or,
// with queues, the contents of queues. It is from 0 to 1. It is 1 for a disturbed attempt, however short its stalls: a
// sender that loses a window or waits for a timeout after a stall needs much longer to recover.
func (a *Attempt) changedShare(queues bool) float64 {
	switch {
	case a.isDisturbed(), a.RingLost+a.Lost > 0:
		return 1
	case queues:
		return max(a.StallShare, a.HeldShare, a.HostsWaited)
	}
	return max(a.StallShare, a.HostsWaited)
}

// ReplayedHosts replaces a switch's name for the hosts of Weir (lab.CaptureHosts).
const ReplayedHosts = "hosts"

// Replay is the result of replaying the lab's input to a switch or hosts in the simulator: the same output byte for
// byte and to the picosecond, or the first difference.
type Replay struct {
	Switch     string `json:"switch"`               // or ReplayedHosts
	In         uint64 `json:"in"`                   // frames received
	Out        uint64 `json:"out"`                  // frames sent identically
	Cut        bool   `json:"cut,omitempty"`        // the capture ended early for lack of space
	Difference string `json:"difference,omitempty"` // empty: no difference
}

// Subject names the replayed switch or hosts.
func (r *Replay) Subject() string {
	if r.Switch == ReplayedHosts {
		return "Weir's own hosts"
	}
	return "switch " + r.Switch
}

// HostsLate is the lateness of frames of Weir's own hosts, by the time at which their NICs began to send.
type HostsLate struct {
	Frames uint64  `json:"frames"`
	P50S   float64 `json:"p50_s"`
	P99S   float64 `json:"p99_s"`
	MaxS   float64 `json:"max_s"`
	StallS float64 `json:"stall_s"` // longest time without progress although work was due
	CPU    float64 `json:"cpu"`     // share of one core
}

// Agents counts the connections of agents on Linux hosts. The counts are from at most 100 ms before the end of each
// connection.
type Agents struct {
	Hosts       int    `json:"hosts"`
	Connections int    `json:"connections"` // connections that have sent
	Traced      uint64 `json:"traced"`      // segments sent with room for records
	Measured    uint64 `json:"measured"`    // measurements from records
	Notified    uint64 `json:"told"`        // windows reported to senders
	Refused     uint64 `json:"refused"`     // options and records outside of the windows of their connection
	Fallbacks   uint64 `json:"fallbacks"`   // changes to CUBIC without telemetry
}

// SendLate is the lateness of sent datagrams compared with their schedule.
type SendLate struct {
	Datagrams uint64  `json:"datagrams"`
	P50S      float64 `json:"p50_s"`
	P99S      float64 `json:"p99_s"`
	MaxS      float64 `json:"max_s"`
}

package bench

import (
	"fmt"
	"runtime"

	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// Load is the traffic of a turn of Scale and Threads: complete HPCC++ as in bench/sim, in a k-ary fat tree with links
// of 100 Gb/s and 1 us.
type Load string

// The loads of turns.
const (
	Permutation Load = "permutation" // each host sends a flow to one other host
	// flow sizes of the web-search workload, with Poisson arrivals at 50 % of the links' rate
	WebSearch Load = "websearch"
)

// Sizes maps the number of hosts of a k-ary fat tree, k³/4, to k.
var Sizes = map[int]int{16: 4, 128: 8, 1024: 16, 8192: 32, 65536: 64}

// TurnSpec defines one run of a benchmark. It runs in a process of its own, so that its memory can be measured.
type TurnSpec struct {
	Load    Load  `json:"load"`
	Hosts   int   `json:"hosts"`
	Flow    int64 `json:"flow_bytes,omitempty"` // flow size of a permutation
	Threads int   `json:"threads"`
	Auto    bool  `json:"auto,omitempty"` // uses one thread while that is faster
	Seed    int   `json:"seed,omitempty"`
}

// Turn is the result of one run.
type Turn struct {
	TurnSpec
	SetUp       float64 `json:"set_up_s"` // CPU time to read the spec, compute routes and build the network
	Wall        float64 `json:"wall_s"`   // wall time of the run
	CPU         float64 `json:"cpu_s"`    // CPU time of the run, of all threads
	OthersShare float64 `json:"foreign"`  // share of the cores that other processes and the hypervisor used meanwhile
	PacketHops  uint64  `json:"packet_hops"`
	Events      uint64  `json:"events"`
	Flows       int     `json:"flows"`
	FCTHash     string  `json:"fct_sha256"`
	Peak        uint64  `json:"peak_memory_bytes"`
	Calibrated  float64 `json:"calibration_ops_per_s"`
}

// Check returns an error if a parameter is out of range.
func (s *TurnSpec) Check() error {
	if _, ok := Sizes[s.Hosts]; !ok {
		return fmt.Errorf("there is no fat tree of %d hosts; allowed: 16, 128, 1024, 8192, 65536", s.Hosts)
	}
	if s.Load != Permutation && s.Load != WebSearch {
		return fmt.Errorf("%q is not a load; allowed: %s, %s", s.Load, Permutation, WebSearch)
	}
	if s.Threads < 1 {
		return fmt.Errorf("the number of threads is %d; 1 or more is allowed", s.Threads)
	}
	return nil
}

// arrivalTime returns the time for which web-search flows arrive, so that a turn takes some seconds.
func (s *TurnSpec) arrivalTime() string {
	switch {
	case s.Hosts <= 128:
		return "2ms"
	case s.Hosts <= 1024:
		return "250us"
	case s.Hosts <= 8192:
		return "50us"
	}
	return "10us"
}

// spec returns the turn's experiment as YAML.
func (s *TurnSpec) spec() string {
	traffic := fmt.Sprintf(`to: permutation, size: %d B, start: 0s`, s.Flow)
	if s.Load == WebSearch {
		traffic = "to: random, sizes: websearch, load: 50%, arrivals: poisson, stop: " + s.arrivalTime()
	}
	return fmt.Sprintf(`title: %d hosts, %s
duration: 100ms
seed: %d
framing: hpcc
mtu: 1000 B payload
topology: {fat_tree: {k: %d, rate: 100Gbps, delay: 1us}}
switch: [ecmp, {shared_buffer: {size: 32MB}}, pfc, {ecn: {kmin: 400KB, kmax: 1600KB, pmax: 20%%}},
         {telemetry: {multi: 4}}]
traffic: [{name: x, from: "*", %s, transport: rdma, cc: {hpcc: {t: 13us}}}]
measure: [fct]
`, s.Hosts, s.Load, s.Seed+1, Sizes[s.Hosts], traffic)
}

// RunTurn runs one turn in this process, which should not do other work: the peak memory is the process's. It returns
// an error for a parameter out of range or an unfinished flow.
func RunTurn(r *experiment.Registry, s TurnSpec, m Meters) (*Turn, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	t := &Turn{TurnSpec: s, Calibrated: m.Calibrate()}
	_, begin, _ := m.CPU()
	exp, err := plan.Load(r, &experiment.Source{Name: "bench", File: "bench.yaml", Data: []byte(s.spec())},
		experiment.Options{})
	if err != nil {
		return nil, err
	}
	c, err := plan.ListRuns(exp)[0].Config()
	if err != nil {
		return nil, err
	}
	c.Threads, c.Yields = s.Threads, s.Auto
	run, err := sim.New(c)
	if err != nil {
		return nil, err
	}
	_, made, _ := m.CPU()
	t.SetUp = made - begin
	runtime.GC()
	others, process, _ := m.CPU()
	start := m.Now()
	res := run.Run()
	t.Wall = m.Now().Sub(start).Seconds()
	othersAfter, ownAfter, cores := m.CPU()
	t.CPU = ownAfter - process
	t.OthersShare = max(othersAfter-others-t.CPU, 0) / (t.Wall * cores)
	if len(res.Unfinished) > 0 {
		return nil, fmt.Errorf("bench: %d flows did not finish (%s)", len(res.Unfinished), res.End)
	}
	t.PacketHops, t.Events, t.Flows, t.FCTHash = res.PacketHops, res.Events, len(res.Flows), FCTHash(res)
	t.Peak = m.Memory()
	t.Calibrated = (t.Calibrated + m.Calibrate()) / 2
	return t, nil
}

package bench

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"sort"

	"weir/core/outcome"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// Experiments has the suite's workloads: specs, topologies and flow lists.
//
//go:embed experiments
var Experiments embed.FS

// countedHops has the packet-hops that count for a benchmark; 0: all. For the permutation they are 2 × Σ packets ×
// links of the shortest paths, with one acknowledgement per packet, so that retransmissions do not count.
var countedHops = map[string]float64{"engine": 2_904_000, "sim": 2_904_000, "tcp": 0}

// Rounds is the number of times that a benchmark runs. Its figures are medians.
const Rounds = 5

// Figures is the result of a benchmark.
type Figures struct {
	Name              string  `json:"benchmark"`
	PacketHopsPerSec  float64 `json:"packet_hops_per_s"` // median
	Best              float64 `json:"packet_hops_per_s_best"`
	EventsPerHop      float64 `json:"events_per_hop"`
	HopsPerCalibrated float64 `json:"packet_hops_per_calibration_op"`
	CalibrationPerSec float64 `json:"calibration_ops_per_s"`
	Allocations       uint64  `json:"allocations"` // in the event loop, median
	PeakMemory        uint64  `json:"peak_memory_bytes"`
	PacketHops        uint64  `json:"packet_hops_counted"`
	FCTHash           string  `json:"fct_sha256"`
	Rounds            int     `json:"rounds"`
}

// Run times a benchmark: "engine" is the event loop on the permutation with a fixed window, "sim" the same with HPCC++,
// and "tcp" with TCP and CUBIC. It returns an error for other names, unfinished flows, and rounds with different flow
// completion times.
func Run(r *experiment.Registry, name string) (*Figures, error) {
	m := MachineMeters()
	return m.runWithMeters(r, name)
}

// runWithMeters does the work of Run with the given meters.
func (m *Meters) runWithMeters(r *experiment.Registry, name string) (*Figures, error) {
	hops, known := countedHops[name]
	if !known {
		return nil, fmt.Errorf("bench: %q is not a benchmark; allowed: engine, sim and tcp", name)
	}
	src, err := r.OpenExperiment("bench/" + name)
	if err != nil {
		return nil, err
	}
	exp, err := plan.Load(r, src, experiment.Options{})
	if err != nil {
		return nil, err
	}
	f := &Figures{Name: name, Rounds: Rounds}
	var speeds, calibrations, ratios []float64
	var allocations []uint64
	for range Rounds {
		before := m.Calibrate()
		c, err := plan.ListRuns(exp)[0].Config()
		if err != nil {
			return nil, err
		}
		s, err := sim.New(c)
		if err != nil {
			return nil, err
		}
		runtime.GC()
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		start := m.Now()
		res := s.Run()
		took := m.Now().Sub(start).Seconds()
		runtime.ReadMemStats(&m1)
		if len(res.Unfinished) > 0 {
			return nil, fmt.Errorf("bench %s: %d flows did not finish (%s)", name, len(res.Unfinished), res.End)
		}
		hash := FCTHash(res)
		if f.FCTHash != "" && hash != f.FCTHash {
			return nil, fmt.Errorf("bench %s: two rounds with the same seed have different flow completion times", name)
		}
		f.FCTHash = hash
		f.PacketHops = res.PacketHops
		f.EventsPerHop = float64(res.Events) / float64(res.PacketHops)
		calibration := (before + m.Calibrate()) / 2
		if hops == 0 {
			hops = float64(res.PacketHops)
		}
		speeds = append(speeds, hops/took)
		calibrations = append(calibrations, calibration)
		ratios = append(ratios, hops/took/calibration)
		allocations = append(allocations, m1.Mallocs-m0.Mallocs)
	}
	sort.Slice(allocations, func(i, j int) bool { return allocations[i] < allocations[j] })
	f.Allocations = allocations[Rounds/2]
	f.PacketHopsPerSec, f.Best = median(speeds), speeds[Rounds-1]
	f.CalibrationPerSec, f.HopsPerCalibrated = median(calibrations), median(ratios)
	f.PeakMemory = m.Memory()
	return f, nil
}

// median sorts x in place and returns its median, the upper one for an even length. The list must not be empty.
func median(x []float64) float64 {
	sort.Float64s(x)
	return x[len(x)/2]
}

// FCTHash returns the SHA-256 of all flow completion times in picoseconds, in the order of flows. A change of speed
// must not change it.
func FCTHash(r *outcome.Result) string {
	h := sha256.New()
	for _, f := range r.Flows {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(f.FCT))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// String returns the figures as text.
func (f *Figures) String() string {
	return fmt.Sprintf(`%s: median of %d rounds (best)
  %.2f M packet-hops/s (%.2f)
  %.3f packet-hops/calibration op, at %.0f M calibration ops/s
  %.2f events/hop, %d packet-hops
  %d allocations, %.1f MB peak memory
  FCTs %s
`, f.Name, f.Rounds, f.PacketHopsPerSec/1e6, f.Best/1e6, f.HopsPerCalibrated, f.CalibrationPerSec/1e6,
		f.EventsPerHop, f.PacketHops, f.Allocations, float64(f.PeakMemory)/1e6, f.FCTHash[:16])
}

// JSON returns the figures as a document.
func (f *Figures) JSON() []byte {
	b, _ := json.MarshalIndent(f, "", "  ")
	return append(b, '\n')
}

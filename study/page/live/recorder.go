package live

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"weir/core/unit"
	"weir/study/plan"
	"weir/worlds/sim"
)

// Limits of a film, so that a large network's film needs at most some tens of megabytes.
const (
	maxFrames = 480
	minFrames = 24
	maxValues = 1_000_000 // frames × ports
	maxFlows  = 20_000    // flows observed per frame: the first ones of a run
	maxListed = 10        // flows listed in a frame: those that received the most since the previous frame
)

// Snapshot is the state of the network at one time. Its counters start at the beginning of the run.
type Snapshot struct {
	T       float64     `json:"t"` // seconds since the beginning of the warm-up
	Queues  []uint32    `json:"q"` // queued bytes, by port (2·link + end)
	Sent    []uint64    `json:"s"` // bytes sent, by port
	Drops   []uint64    `json:"d"` // packets, by port
	Traffic []float64   `json:"g"` // payload bytes received, by traffic entry
	Going   int         `json:"n"` // active flows
	Flows   []FlowState `json:"f"` // the fastest active flows
}

// FlowState is the state of a flow at the time of a frame.
type FlowState struct {
	Flow   int     `json:"i"`
	Src    int     `json:"a"` // nodes
	Dst    int     `json:"b"`
	Entry  int     `json:"e"` // index in the traffic list
	Rate   float64 `json:"r"` // bit/s of payload received since the previous frame
	Window int64   `json:"w"` // bytes; 0: no window
}

// Film is a part of a run's film, with about evenly spaced frames. When a film has too many frames, every second one
// is dropped and Epoch increases. A client with frames of an older epoch starts again from the first frame.
type Film struct {
	Epoch  int        `json:"epoch"`
	From   int        `json:"from"` // number of the first frame
	Frames []Snapshot `json:"frames"`
	Ended  bool       `json:"ended"` // no more frames follow
	Error  string     `json:"error,omitempty"`
}

// recorder records the film of a run. It implements run.Observer.
type recorder struct {
	run        *plan.Run
	config     *sim.Config // nil after the run
	maxSeconds float64     // maximum duration
	portCount  int
	flowCount  int // number of observed flows
	frameLimit int // maximum number of frames
	onEnd      func(*recorder)

	next, every  unit.Time // used only by the thread of the simulation
	lastReceived []unit.Bytes
	lastTime     unit.Time // time of the previous frame
	rates        []FlowState

	mu     sync.Mutex
	epoch  int
	frames []Snapshot
	ended  bool
	err    error
}

// newRecorder returns a recorder of a run with configuration c. It calls done at the run's end, after the recorder has
// the run's error.
func newRecorder(r *plan.Run, c *sim.Config, done func(*recorder)) *recorder {
	x := &recorder{run: r, config: c, maxSeconds: c.Duration.Seconds(), portCount: 2 * len(c.Wiring.Network.Links),
		flowCount: min(len(c.Flows), maxFlows), onEnd: done}
	x.frameLimit = min(max(maxValues/max(x.portCount, 1), minFrames), maxFrames)
	// A run may end with its flows, much earlier than its duration. Start with a short interval and drop frames later.
	x.every = max(c.Duration/unit.Time(8*x.frameLimit), 1)
	x.lastReceived = make([]unit.Bytes, x.flowCount)
	return x
}

// ObserveWindow records a frame when one is due. When the film has frameLimit frames, it drops every second one,
// doubles the interval and increases the epoch. Rates and sums of flows cover only the first flowCount flows.
func (x *recorder) ObserveWindow(v *sim.View) {
	if v.Time < x.next {
		return
	}
	f := Snapshot{T: v.Time.Seconds(), Queues: make([]uint32, x.portCount), Sent: make([]uint64, x.portCount),
		Drops: make([]uint64, x.portCount), Traffic: make([]float64, x.run.SpecPoint.Entries())}
	for i := range x.portCount {
		p := v.Port(i)
		f.Queues[i] = uint32(min(int64(p.Bytes), math.MaxUint32))
		f.Sent[i], f.Drops[i] = p.SentBytes, p.Drops
	}
	x.rates = x.rates[:0]
	passed := (v.Time - x.lastTime).Seconds()
	for i := range x.flowCount {
		flow := v.Flow(i)
		f.Traffic[x.config.Flows[i].Group] += float64(flow.Received)
		if flow.Active {
			f.Going++
		}
		if grown := flow.Received - x.lastReceived[i]; grown > 0 && passed > 0 {
			c := &x.config.Flows[i]
			x.rates = append(x.rates, FlowState{i, c.Src, c.Dst, c.Group, math.Round(8 * float64(grown) / passed),
				int64(flow.Window)})
		}
		x.lastReceived[i] = flow.Received
	}
	slices.SortFunc(x.rates, func(a, b FlowState) int { return cmp.Or(cmp.Compare(b.Rate, a.Rate), a.Flow-b.Flow) })
	f.Flows = slices.Clone(x.rates[:min(len(x.rates), maxListed)])
	x.mu.Lock()
	x.frames = append(x.frames, f)
	if len(x.frames) >= x.frameLimit {
		kept := x.frames[:0]
		for i := 1; i < len(x.frames); i += 2 {
			kept = append(kept, x.frames[i])
		}
		clear(x.frames[len(kept):])
		x.frames = kept
		x.every *= 2
		x.epoch++
	}
	x.mu.Unlock()
	x.lastTime = v.Time
	x.next = v.Time + x.every
}

// End marks the end of the run with its error, nil for a finished run, and calls onEnd. It releases the configuration:
// ObserveWindow must not be called afterwards.
func (x *recorder) End(err error) {
	x.mu.Lock()
	x.ended, x.err = true, err
	x.mu.Unlock()
	x.config, x.lastReceived, x.rates = nil, nil, nil // release the memory of all flows
	x.onEnd(x)
}

// copyFilm returns the frames from frame from on if epoch is the current one, otherwise all frames. An index out of
// range returns all frames, too.
func (x *recorder) copyFilm(epoch, from int) Film {
	x.mu.Lock()
	defer x.mu.Unlock()
	if epoch != x.epoch || from < 0 || from > len(x.frames) {
		from = 0
	}
	f := Film{Epoch: x.epoch, From: from, Frames: slices.Clone(x.frames[from:]), Ended: x.ended}
	if x.err != nil {
		f.Error = x.err.Error()
	}
	return f
}

// memoryBytes returns the approximate memory of the film's frames in bytes.
func (x *recorder) memoryBytes() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.frames) * (20*x.portCount + 24*maxListed)
}

// latestTime returns the time of the latest frame and its share of the maximum duration; 0, 0 before the first frame.
func (x *recorder) latestTime() (seconds, share float64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.frames) == 0 {
		return 0, 0
	}
	seconds = x.frames[len(x.frames)-1].T
	return seconds, min(seconds/x.maxSeconds, 1)
}

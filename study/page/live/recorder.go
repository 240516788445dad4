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

// Bounds of a film, so that one of a large network takes some tens of megabytes at most.
const (
	mostFrames  = 480
	leastFrames = 24
	mostValues  = 1_000_000 // frames × ports
	mostFlows   = 20_000    // flows that are looked at in a frame: the first ones of a run
	mostListed  = 10        // flows that a frame lists: those that have got most since the frame before
)

// Snapshot is the state of the network at one time. Its counters start with the run.
type Snapshot struct {
	T       float64   `json:"t"` // seconds from the beginning of the warm-up
	Queues  []uint32  `json:"q"` // bytes that wait, by port (2·link + end)
	Sent    []uint64  `json:"s"` // bytes that have left, by port
	Drops   []uint64  `json:"d"` // packets, by port
	Traffic []float64 `json:"g"` // payload that has arrived, by traffic
	Going   int       `json:"n"` // flows that go on
	Flows   []FlowAt  `json:"f"` // the fastest of them
}

// FlowAt is a flow at the time of a frame.
type FlowAt struct {
	Flow   int     `json:"i"`
	Src    int     `json:"a"` // nodes
	Dst    int     `json:"b"`
	Entry  int     `json:"e"` // of the traffic list
	Rate   float64 `json:"r"` // bit/s of payload that has arrived since the frame before
	Window int64   `json:"w"` // bytes; 0: none
}

// Film is a run, as its recorder has it: frames that are about evenly spaced. When there are too many, every second one
// is left out, and Epoch counts how often that was done: who has seen some begins anew then.
type Film struct {
	Epoch  int        `json:"epoch"`
	From   int        `json:"from"` // the first frame's number
	Frames []Snapshot `json:"frames"`
	Ended  bool       `json:"ended"` // no more will come
	Error  string     `json:"error,omitempty"`
}

// recorder makes the film of a run.
type recorder struct {
	run    *plan.Run
	config *sim.Config // until the run ends
	lasts  float64     // seconds at most
	ports  int
	flows  int // that are looked at
	most   int // frames
	done   func(*recorder)

	next, every unit.Time // of the thread that carries out the run
	received    []unit.Bytes
	at          unit.Time // of the frame before
	rates       []FlowAt

	mu     sync.Mutex
	epoch  int
	frames []Snapshot
	ended  bool
	err    error
}

func newRecorder(r *plan.Run, c *sim.Config, done func(*recorder)) *recorder {
	x := &recorder{run: r, config: c, lasts: c.Duration.Seconds(), ports: 2 * len(c.Wiring.Network.Links),
		flows: min(len(c.Flows), mostFlows), done: done}
	x.most = min(max(mostValues/max(x.ports, 1), leastFrames), mostFrames)
	// A run that ends with its flows may end much sooner: it begins with many, and leaves out what is too much.
	x.every = max(c.Duration/unit.Time(8*x.most), 1)
	x.received = make([]unit.Bytes, x.flows)
	return x
}

// Look takes a frame when one is due.
func (x *recorder) Look(v *sim.View) {
	if v.Time < x.next {
		return
	}
	f := Snapshot{T: v.Time.Seconds(), Queues: make([]uint32, x.ports), Sent: make([]uint64, x.ports),
		Drops: make([]uint64, x.ports), Traffic: make([]float64, x.run.Of.Entries())}
	for i := range x.ports {
		p := v.Port(i)
		f.Queues[i] = uint32(min(int64(p.Bytes), math.MaxUint32))
		f.Sent[i], f.Drops[i] = p.SentBytes, p.Drops
	}
	x.rates = x.rates[:0]
	passed := (v.Time - x.at).Seconds()
	for i := range x.flows {
		at := v.Flow(i)
		f.Traffic[x.config.Flows[i].Group] += float64(at.Received)
		if at.Going {
			f.Going++
		}
		if grown := at.Received - x.received[i]; grown > 0 && passed > 0 {
			c := &x.config.Flows[i]
			x.rates = append(x.rates, FlowAt{i, c.Src, c.Dst, c.Group, math.Round(8 * float64(grown) / passed),
				int64(at.Window)})
		}
		x.received[i] = at.Received
	}
	slices.SortFunc(x.rates, func(a, b FlowAt) int { return cmp.Or(cmp.Compare(b.Rate, a.Rate), a.Flow-b.Flow) })
	f.Flows = slices.Clone(x.rates[:min(len(x.rates), mostListed)])
	x.mu.Lock()
	x.frames = append(x.frames, f)
	if len(x.frames) >= x.most {
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
	x.at = v.Time
	x.next = v.Time + x.every
}

// End is told of the run's end.
func (x *recorder) End(err error) {
	x.mu.Lock()
	x.ended, x.err = true, err
	x.mu.Unlock()
	x.config, x.received, x.rates = nil, nil, nil // of all flows and their ends
	x.done(x)
}

// film is what there is from a frame on, if it is of that epoch; else all.
func (x *recorder) film(epoch, from int) Film {
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

// bytes are about what the film takes.
func (x *recorder) bytes() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.frames) * (20*x.ports + 24*mostListed)
}

// now is the time of the latest frame, and its share of the run's longest duration.
func (x *recorder) now() (seconds, share float64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.frames) == 0 {
		return 0, 0
	}
	seconds = x.frames[len(x.frames)-1].T
	return seconds, min(seconds/x.lasts, 1)
}

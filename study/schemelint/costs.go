package schemelint

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"

	"weir/study/plan"
)

// settled is after how many packet-hops queues and tables have grown to their size.
const settled = 2000

// Bounds of what hooks may take of memory: what grows with flows, or from time to time, stays below.
const (
	mostOfPacket = 0.25 // allocations of a controller for a packet
	mostOfHop    = 0.1  // of programs for a packet-hop
)

// costs carries the beginning out again with controllers that nobody watches. It says which own code starts goroutines,
// or takes memory for every packet.
func (w *Watched) costs(r *plan.Run) (found []string) {
	w.findings.Plain = true
	defer func() { w.findings.Plain = false }()
	runtime.GC() // starts its own goroutines once
	begun, taken, from, to := created(), uint64(0), uint64(0), uint64(0)
	result, wrong := rehearse(r, nil, func(hops uint64) {
		if from == 0 && hops >= settled {
			from, taken = hops, mallocs()
		}
		to = hops
	})
	if wrong != "" || result == nil {
		return nil
	}
	if from > 0 && to > from {
		taken = mallocs() - taken
	} else {
		taken = 0
	}
	if n := created() - begun; n > ofRehearsal {
		if who := starter(r); who != "" || n >= ofRuntime {
			found = append(found, fmt.Sprintf("goroutines are started%s, %d in a few packet-hops: what they do comes in no "+
				"order, beside what the simulator does; controllers and programs are told the time, and asked for the next one "+
				"(NextTimer, Tick)", who, n-ofRehearsal))
		}
	}
	if float64(taken) >= mostOfHop/2*float64(to-from) {
		packets := int64(0)
		for i := range result.Flows {
			packets += result.Flows[i].Sender.SentPackets
		}
		found = append(found, takers(r, packets)...)
	}
	return found
}

// ofRehearsal is how many goroutines rehearse starts itself, and ofRuntime are more than what Go's runtime may start
// for itself meanwhile.
const (
	ofRehearsal = 1
	ofRuntime   = 50
)

// mallocs is how many objects have been allocated.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// created is how many goroutines have been started.
func created() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

var (
	createdBy = regexp.MustCompile(`created by (\S+) in goroutine \d+\n\t([^\n]+):(\d+)`) // the path may have spaces
	// hooks are the methods of controllers and programs that are called for packets.
	ofControllers = regexp.MustCompile(`\.(OnSend|OnAck|OnNotice|OnLoss|Decision)$`)
	ofPrograms    = regexp.MustCompile(`\.(Ingress|Admit|Book|Unbook|Release|Egress|OnDrop)$`)
	// drivers are packages that call them, and have methods of such names.
	drivers = regexp.MustCompile(`^weir/(worlds/|core/transport/|core/fabric|core/dataplane\.|core/cc\.)`)
)

// starter names the function that starts the most goroutines that are there while the run goes on. One processor has
// them wait.
func starter(r *plan.Run) (text string) {
	before := createdBy.FindAllString(goroutines(), -1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	rehearse(r, nil, func(uint64) {
		if text == "" {
			text = mostFrequentCreator(goroutines(), before)
		}
	})
	return text
}

// mostFrequentCreator returns the function and line that created the most goroutines in a stack dump. It ignores the
// rehearsal's own goroutine and goroutines that existed before. Without other goroutines it returns "".
func mostFrequentCreator(stacks string, before []string) (most string) {
	count := map[string]int{}
	for _, m := range createdBy.FindAllStringSubmatch(stacks, -1) {
		if slices.Contains(before, m[0]) || strings.Contains(m[1], "study/schemelint.rehearse") {
			continue
		}
		creator := fmt.Sprintf(" by %s (%s:%s)", m[1], filepath.Base(m[2]), m[3])
		count[creator]++
		if n := count[creator] - count[most]; n > 0 || n == 0 && creator < most {
			most = creator
		}
	}
	return most
}

// goroutines returns the stacks of all goroutines, or the first 64 MiB of them.
func goroutines() string {
	for size := 1 << 18; ; size *= 4 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size || size >= 1<<26 {
			return string(b[:n])
		}
	}
}

// takers are the hooks that take memory for every packet, by a profile of all allocations.
func takers(r *plan.Run, packets int64) (found []string) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	before := allocations()
	runtime.MemProfileRate = 1
	last := uint64(0)
	rehearse(r, nil, func(hops uint64) { last = hops })
	by := map[string]int64{}
	for stack, n := range allocations() {
		if n -= before[stack]; n <= 0 {
			continue
		}
		if hook := hookOf(stack[:]); hook != "" {
			by[hook] += n
		}
	}
	for hook, n := range by {
		name, _, _ := strings.Cut(hook, " (")
		each, of, most := float64(n)/float64(max(last, 1)), "packet-hop", mostOfHop
		if ofControllers.MatchString(name) {
			each, of, most = float64(n)/float64(max(packets, 1)), "packet", mostOfPacket
		}
		if each >= most {
			found = append(found, fmt.Sprintf("%s allocates memory %.2g times a %s, which takes time: what it needs again "+
				"can be kept in its own fields", hook, each, of))
		}
	}
	slices.Sort(found)
	return found
}

// allocations are the objects that stacks have allocated.
func allocations() map[[32]uintptr]int64 {
	for range 3 { // what came since the last collection but one is not in the profile
		runtime.GC()
	}
	records := make([]runtime.MemProfileRecord, 1000)
	for {
		n, ok := runtime.MemProfile(records, true)
		if ok {
			records = records[:n]
			break
		}
		records = make([]runtime.MemProfileRecord, n+1000)
	}
	out := map[[32]uintptr]int64{}
	for i := range records {
		out[records[i].Stack0] += records[i].AllocObjects
	}
	return out
}

// hookOf is the innermost hook of a controller or a program on a stack, with the place in it that allocates; "" if
// there is none.
func hookOf(stack []uintptr) string {
	if n := slices.Index(stack, 0); n >= 0 {
		stack = stack[:n]
	}
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if (ofControllers.MatchString(f.Function) || ofPrograms.MatchString(f.Function)) && !drivers.MatchString(f.Function) {
			return fmt.Sprintf("%s (%s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

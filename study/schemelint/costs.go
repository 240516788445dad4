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

// settledHops is the number of packet-hops after which queues and tables have reached their size.
const settledHops = 2000

// Limits of allocations by hooks. Allocations for growing tables or at intervals stay below them.
const (
	maxAllocsPerPacket = 0.25 // by a controller for each packet
	maxAllocsPerHop    = 0.1  // by programs for each packet-hop
)

// findCosts runs the beginning again with controllers that are not watched. It returns a text for code that starts
// goroutines, and for each hook that allocates memory for every packet; nil if the run fails.
func (w *Watched) findCosts(r *plan.Run) (found []string) {
	w.findings.NoReplicas = true
	defer func() { w.findings.NoReplicas = false }()
	runtime.GC() // this starts goroutines of the runtime
	begun, taken, from, to := countGoroutines(), uint64(0), uint64(0), uint64(0)
	result, wrong := runRehearsal(r, nil, func(hops uint64) {
		if from == 0 && hops >= settledHops {
			from, taken = hops, countAllocations()
		}
		to = hops
	})
	if wrong != "" || result == nil {
		return nil
	}
	if from > 0 && to > from {
		taken = countAllocations() - taken
	} else {
		taken = 0
	}
	if n := countGoroutines() - begun; n > rehearsalGoroutines {
		if who := findStarter(r); who != "" || n >= maxRuntimeGoroutines {
			found = append(found, fmt.Sprintf("goroutines are started%s, %d in a few packet-hops: their actions and the "+
				"simulator's have no defined order; controllers and programs receive the time as an argument, and return the "+
				"time of the next call (NextTimer, Tick)", who, n-rehearsalGoroutines))
		}
	}
	if float64(taken) >= maxAllocsPerHop/2*float64(to-from) {
		packets := int64(0)
		for i := range result.Flows {
			packets += result.Flows[i].Sender.SentPackets
		}
		found = append(found, findAllocators(r, packets)...)
	}
	return found
}

// rehearsalGoroutines is the number of goroutines that runRehearsal starts, and maxRuntimeGoroutines exceeds the number
// that Go's runtime may start meanwhile.
const (
	rehearsalGoroutines  = 1
	maxRuntimeGoroutines = 50
)

// countAllocations returns the number of objects allocated so far.
func countAllocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// countGoroutines returns the number of goroutines started so far; 0 if the runtime does not report it.
func countGoroutines() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

var (
	createdBy = regexp.MustCompile(`created by (\S+) in goroutine \d+\n\t([^\n]+):(\d+)`) // the path may have spaces
	// controllerHooks and programHooks match methods of controllers and programs that are called for packets.
	controllerHooks = regexp.MustCompile(`\.(OnSend|OnAck|OnNotice|OnLoss|Decision)$`)
	programHooks    = regexp.MustCompile(`\.(Ingress|Admit|Book|Unbook|Release|Egress|OnDrop)$`)
	// hookCallers matches packages that call hooks and have methods of the same names.
	hookCallers = regexp.MustCompile(`^weir/(worlds/|core/transport/|core/fabric|core/dataplane\.|core/cc\.)`)
)

// findStarter names (" by FUNCTION (FILE:LINE)") the function that started most of the goroutines that exist during the
// run; "" without any. It uses one processor, so that they wait.
func findStarter(r *plan.Run) (text string) {
	before := createdBy.FindAllString(goroutineStacks(), -1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runRehearsal(r, nil, func(uint64) {
		if text == "" {
			text = findMainCreator(goroutineStacks(), before)
		}
	})
	return text
}

// findMainCreator returns the function and line that created the largest number of goroutines in a stack dump. It
// ignores the rehearsal's own goroutine and goroutines that existed before. Without other goroutines it returns "".
func findMainCreator(stacks string, before []string) (creatorName string) {
	count := map[string]int{}
	for _, m := range createdBy.FindAllStringSubmatch(stacks, -1) {
		if slices.Contains(before, m[0]) || strings.Contains(m[1], "study/schemelint.runRehearsal") {
			continue
		}
		creator := fmt.Sprintf(" by %s (%s:%s)", m[1], filepath.Base(m[2]), m[3])
		count[creator]++
		if n := count[creator] - count[creatorName]; n > 0 || n == 0 && creator < creatorName {
			creatorName = creator
		}
	}
	return creatorName
}

// goroutineStacks returns the stacks of all goroutines, or the first 64 MiB of them.
func goroutineStacks() string {
	for size := 1 << 18; ; size *= 4 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size || size >= 1<<26 {
			return string(b[:n])
		}
	}
}

// findAllocators returns a text for each hook that allocates memory for every packet, from a profile of all allocations
// of another rehearsal. It profiles the whole process meanwhile (runtime.MemProfileRate). packets is the number of
// packets that the run sends.
func findAllocators(r *plan.Run, packets int64) (found []string) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	before := allocationsByStack()
	runtime.MemProfileRate = 1
	last := uint64(0)
	runRehearsal(r, nil, func(hops uint64) { last = hops })
	by := map[string]int64{}
	for stack, n := range allocationsByStack() {
		if n -= before[stack]; n <= 0 {
			continue
		}
		if hook := innermostHook(stack[:]); hook != "" {
			by[hook] += n
		}
	}
	for hook, n := range by {
		name, _, _ := strings.Cut(hook, " (")
		each, unitName, limit := float64(n)/float64(max(last, 1)), "packet-hop", maxAllocsPerHop
		if controllerHooks.MatchString(name) {
			each, unitName, limit = float64(n)/float64(max(packets, 1)), "packet", maxAllocsPerPacket
		}
		if each >= limit {
			found = append(found, fmt.Sprintf("%s allocates memory %.2g times a %s, which takes time: what it needs again "+
				"can be kept in its own fields", hook, each, unitName))
		}
	}
	slices.Sort(found)
	return found
}

// allocationsByStack returns the number of objects that each stack has allocated so far, as far as it was profiled.
func allocationsByStack() map[[32]uintptr]int64 {
	for range 3 { // the profile lags behind by up to two collections
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

// innermostHook returns the innermost hook of a controller or a program on a stack, with the line in it that
// allocates; "" without a hook.
func innermostHook(stack []uintptr) string {
	if n := slices.Index(stack, 0); n >= 0 {
		stack = stack[:n]
	}
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if (controllerHooks.MatchString(f.Function) || programHooks.MatchString(f.Function)) &&
			!hookCallers.MatchString(f.Function) {
			return fmt.Sprintf("%s (%s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

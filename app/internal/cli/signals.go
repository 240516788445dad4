package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/killpoint"
)

// interrupts are the signals that end a command: SIGINT, SIGTERM and SIGHUP alike, but the last one where it is
// ignored, as nohup(1) wants it. The first ends the context; what then takes longer than its grace is cut. A second one
// cuts it at once, and a third ends the process as it is: whatever begins next clears up after it.
type interrupts struct {
	context.Context
	stop func() // listening
	now  atomic.Pointer[grace]
}

// grace is how what is under way ends after the first signal.
type grace struct {
	time time.Duration // before it is cut
	// limit, if it is above time, is for work of this process: where other processes have the processors, it is cut only
	// when it has had time of processor time, or when limit is over.
	limit       time.Duration
	cut         func() error // what must be done before the process ends
	consequence string       // of being cut, for people
}

const goesOn = "what was finished is kept, and the same command goes on with the rest"

// A simulation ends within a second, on a busy machine within a second of its processor time; a run of the lab within
// five seconds; a sweep by others, and all of these in any case, within ten. This includes what comes after the grace.
var (
	inPreparation = grace{0, 0, nothing, "nothing was run"}
	inSimulation  = grace{800 * time.Millisecond, 8 * time.Second, nothing,
		"it did not end in time and was cut; " + goesOn}
	// Others are notified, and a server or a queue answers.
	inSweep = grace{8 * time.Second, 0, nothing, "it did not end in time and was cut; " + goesOn}

	labGrace = 3 * time.Second
)

func ofLab(closeAll func() error) grace {
	return grace{labGrace, 0, closeAll, "it did not end in time and was cut; " + goesOn}
}

func nothing() error { return nil }

// listen begins to listen.
func listen(stderr io.Writer, first grace) *interrupts {
	ctx, cancel := context.WithCancel(context.Background())
	i := &interrupts{Context: ctx}
	i.now.Store(&first)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	killpoint.Reach(killpoint.After, "listen", "signals")
	ended := make(chan struct{})
	i.stop = sync.OnceFunc(func() {
		signal.Stop(signals)
		cancel()
		close(ended)
	})
	go func() {
		select {
		case <-ended:
			return
		case <-signals:
		}
		cancel()
		if more, ok := again(ended, signals, i.now.Load(), processorTime); ok {
			i.cut(stderr, signals, more)
		}
	}()
	return i
}

// together is within what time two signals are one: timeout(1) sends its child one, and its process group another.
var together = 100 * time.Millisecond

// processorTime returns the time that processors have worked for this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// workPoll is the time between two looks at the processor time.
const workPoll = 20 * time.Millisecond

// again waits for one more signal, or until the grace is over; it is not ok if all has ended before. work returns the
// processor time of this process.
func again(ended <-chan struct{}, signals <-chan os.Signal, g *grace, work func() time.Duration) (more, ok bool) {
	first, begun, over := time.Now(), work(), time.After(g.time)
	for {
		select {
		case <-ended:
			return false, false
		case <-signals:
			if time.Since(first) > together {
				return true, true
			}
		case <-over:
			if time.Since(first) >= g.limit || work()-begun >= g.time {
				return false, true
			}
			over = time.After(workPoll)
		}
	}
}

// cut ends the process without waiting for what is under way; a signal more, and it leaves behind what there is.
func (i *interrupts) cut(stderr io.Writer, signals <-chan os.Signal, asked bool) {
	g, done := i.now.Load(), make(chan error, 1)
	go func() { done <- g.cut() }()
	select {
	case err := <-done:
		if err != nil {
			fmt.Fprintln(stderr, "weir:", err)
		}
		if !asked {
			fmt.Fprintln(stderr, "interrupted:", g.consequence)
		}
	case <-signals:
	}
	os.Exit(exitInterrupted)
}

// next is how what comes now ends.
func (i *interrupts) next(g grace) { i.now.Store(&g) }

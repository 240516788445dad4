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

	"weir/internal/command"
	"weir/internal/killpoint"
)

// interrupts handles the signals that end a command: SIGINT, SIGTERM and SIGHUP, the last one unless it is ignored
// (nohup(1)). The first signal ends the context; work that exceeds its grace is cut. A second signal cuts at once,
// and a third ends the process without cleanup, which the next process does.
type interrupts struct {
	context.Context
	stop    func() // stops listening
	current atomic.Pointer[grace]
}

// grace defines how work in flight ends after the first signal.
type grace struct {
	time time.Duration // before it is cut
	// limit, if above time, applies to work of this process: while other processes use the processors, it is cut only
	// after time of processor time, or after limit.
	limit       time.Duration
	cut         func() error // called before the process ends
	consequence string       // message for users after a cut
}

const (
	goesOn  = "finished runs are kept, and the same command continues with the rest"
	aborted = "the work did not end in time and was aborted; "
)

// A simulation ends within a second, on a busy machine within a second of its processor time. A run of the lab ends
// within five seconds, a sweep on other machines and anything else within ten. These times include the work after the
// grace.
var (
	inPreparation = grace{0, 0, cutNothing, "no runs were started"}
	inSimulation  = grace{800 * time.Millisecond, 8 * time.Second, cutNothing, aborted + goesOn}
	// Workers are notified, and a server or a queue responds.
	inSweep = grace{8 * time.Second, 0, cutNothing, aborted + goesOn}

	labGrace = 3 * time.Second
)

// labWork returns the grace of a lab's run. The function closeAll removes the lab.
func labWork(closeAll func() error) grace {
	return grace{labGrace, 0, closeAll, aborted + goesOn}
}

// cutNothing is the cut of work that needs no cleanup.
func cutNothing() error { return nil }

// handleSignals starts to handle signals with the grace first. Messages go to stderr. The caller calls stop at the end
// of the command, which also ends the context.
func handleSignals(stderr io.Writer, first grace) *interrupts {
	ctx, cancel := context.WithCancel(context.Background())
	i := &interrupts{Context: ctx}
	i.current.Store(&first)
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
		if more, ok := awaitAgain(ended, signals, i.current.Load(), processorTime); ok {
			i.cut(stderr, signals, more)
		}
	}()
	return i
}

// together is the time within which two signals count as one: timeout(1) sends one to its child and one to the
// process group.
var together = 100 * time.Millisecond

// processorTime returns the processor time of this process, or 0 after an error.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// workPoll is the interval between checks of the processor time.
const workPoll = 20 * time.Millisecond

// awaitAgain waits for another signal or the end of the grace. The result more reports another signal. It returns ok
// false if the command has ended first. The function work returns the processor time of this process.
func awaitAgain(ended <-chan struct{}, signals <-chan os.Signal, g *grace, work func() time.Duration) (more, ok bool) {
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

// cut ends the process without waiting for work in flight, after the grace's own cut. Another signal ends it without
// cleanup. Unless the user asked by a second signal, it prints the consequence.
func (i *interrupts) cut(stderr io.Writer, signals <-chan os.Signal, asked bool) {
	g, done := i.current.Load(), make(chan error, 1)
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
	os.Exit(command.Interrupted)
}

// setGrace sets the grace of the work that follows. It also applies to a signal that is already being handled.
func (i *interrupts) setGrace(g grace) { i.current.Store(&g) }

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
	time        time.Duration
	cut         func() error // what must be done before the process ends
	consequence string       // of being cut, for people
}

const goesOn = "what was finished is kept, and the same command goes on with the rest"

// A simulation ends within a second, a run of the lab within five and a sweep by others within ten, with all that comes
// after its grace.
var (
	inPreparation = grace{0, nothing, "nothing was run"}
	inSimulation  = grace{800 * time.Millisecond, nothing, "it did not end in time and was cut; " + goesOn}
	// Others are told, and a server or a queue answers.
	inSweep = grace{8 * time.Second, nothing, "it did not end in time and was cut; " + goesOn}

	labGrace = 3 * time.Second
)

func ofLab(closeAll func() error) grace {
	return grace{labGrace, closeAll, "it did not end in time and was cut; " + goesOn}
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
		if more, ok := again(ended, signals, i.now.Load().time); ok {
			i.cut(stderr, signals, more)
		}
	}()
	return i
}

// together is within what time two signals are one: timeout(1) sends its child one, and its process group another.
var together = 100 * time.Millisecond

// again waits for one more signal, or until the grace is over; it is not ok if all has ended before.
func again(ended <-chan struct{}, signals <-chan os.Signal, wait time.Duration) (more, ok bool) {
	first, over := time.Now(), time.After(wait)
	for {
		select {
		case <-ended:
			return false, false
		case <-signals:
			if time.Since(first) > together {
				return true, true
			}
		case <-over:
			return false, true
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
	os.Exit(Interrupted)
}

// next is how what comes now ends.
func (i *interrupts) next(g grace) { i.now.Store(&g) }

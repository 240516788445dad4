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
)

// interrupts are the signals that end a command: SIGINT, SIGTERM and SIGHUP alike, but the last one where it is
// ignored, as nohup(1) wants it. The first ends the context; what then takes longer than its grace is cut. The second
// ends the process at once: whatever begins next clears up after it.
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

// A simulation ends within a second and a run of the lab within five, with all that comes after its grace.
var (
	inPreparation = grace{0, nothing, "nothing was run"}
	inSimulation  = grace{800 * time.Millisecond, nothing, "it did not end in time and was cut; " + goesOn}
)

func ofLab(closeAll func() error) grace {
	return grace{3 * time.Second, closeAll, "it did not end in time and was cut; " + goesOn}
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
		select {
		case <-ended:
			return
		case <-signals:
		case <-time.After(i.now.Load().time):
			if err := i.now.Load().cut(); err != nil {
				fmt.Fprintln(stderr, "weir:", err)
			}
			fmt.Fprintln(stderr, "interrupted:", i.now.Load().consequence)
		}
		os.Exit(Interrupted)
	}()
	return i
}

// next is how what comes now ends.
func (i *interrupts) next(g grace) { i.now.Store(&g) }

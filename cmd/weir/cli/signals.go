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

// How long what is under way may take after the first signal. With what comes then, a simulation ends within a second
// and a run of the lab within five.
const (
	graceOfSimulation = 900 * time.Millisecond
	graceOfLab        = 3 * time.Second
)

// interrupts are the signals that end a command: SIGINT, SIGTERM and SIGHUP alike, but the last one where it is
// ignored, as nohup(1) wants it. The first ends the context; what then takes longer than its grace is cut. The second
// ends the process at once: whatever begins next clears up after it.
type interrupts struct {
	context.Context
	stop  func() // listening
	grace atomic.Int64
	cut   atomic.Pointer[func() error] // what must be done before the process ends; nil: nothing
}

// listen begins to listen; consequence is what to say of what was cut.
func listen(stderr io.Writer, consequence string) *interrupts {
	ctx, cancel := context.WithCancel(context.Background())
	i := &interrupts{Context: ctx}
	i.grace.Store(int64(graceOfSimulation))
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
		case <-time.After(time.Duration(i.grace.Load())):
			if cut := i.cut.Load(); cut != nil {
				if err := (*cut)(); err != nil {
					fmt.Fprintln(stderr, "weir:", err)
				}
			}
			fmt.Fprintf(stderr, "interrupted: it did not end in time, and was cut; %s\n", consequence)
		}
		os.Exit(Interrupted)
	}()
	return i
}

// inLab gives what comes next the grace of the lab, and closes the lab before the process ends.
func (i *interrupts) inLab(closeAll func() error) {
	i.cut.Store(&closeAll)
	i.grace.Store(int64(graceOfLab))
}

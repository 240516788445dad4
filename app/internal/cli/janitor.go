package cli

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"weir/worlds/lab"
)

// labJanitorCmd is a process that outlives its lab. When the lab has ended in any way, it removes the leftovers. It
// reads its standard input, which ends with the lab.
type labJanitorCmd struct{}

// After the lab's end, its other processes need time to die: the janitor cleans several times at an interval.
const (
	cleanups        = 5
	cleanupInterval = 100 * time.Millisecond
)

// Run waits for the end of standard input, also if signals arrive. If the lab wrote something, as a lab that ends in
// order does, it removes no leftovers. Otherwise it removes the leftovers of all dead labs, several times.
func (labJanitorCmd) Run(*app) (err error) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if said, _ := io.ReadAll(os.Stdin); len(said) > 0 {
		return nil // the lab has ended in order
	}
	for range cleanups {
		_, err = lab.RemoveDead()
		time.Sleep(cleanupInterval)
	}
	return err
}

// janitor is the running janitor process, or its replacement.
type janitor struct {
	lock  sync.Mutex
	pipe  io.WriteCloser
	ended bool
	done  chan struct{}
}

// inOrder is the message of a lab that has cleaned up itself.
const inOrder = "done"

// maxJanitors limits the processes that replace a killed one.
const maxJanitors = 20

// startJanitor starts the process and returns when it runs. A killed process is replaced, up to maxJanitors times. If
// that fails, the lab works without it, and the start of the next lab removes leftovers. The caller calls dismiss.
func startJanitor() *janitor {
	j := &janitor{done: make(chan struct{})}
	employed := make(chan bool, maxJanitors)
	go func() {
		defer close(j.done)
		for range maxJanitors {
			c := exec.Command(thisProgram, "lab-janitor")
			c.SysProcAttr = ownSession()
			runs := j.start(c)
			if employed <- runs; !runs {
				return
			}
			c.Wait()
		}
	}()
	<-employed
	return j
}

// start starts a process unless the lab has ended. It reports whether the process runs, and keeps the process's
// standard input in pipe.
func (j *janitor) start(c *exec.Cmd) bool {
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.ended {
		return false
	}
	pipe, err := c.StdinPipe()
	if err != nil || c.Start() != nil {
		return false
	}
	j.pipe = pipe
	return true
}

// dismiss ends the janitor after an orderly end of the lab, without a cleanup, and waits for its end.
func (j *janitor) dismiss() {
	j.lock.Lock()
	j.ended = true
	if j.pipe != nil {
		j.pipe.Write([]byte(inOrder))
		j.pipe.Close()
	}
	j.lock.Unlock()
	<-j.done
}

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

// labJanitorCmd is the process that a lab starts to outlive it: when the lab has ended, however it did, it removes what
// is left of it. It reads its standard input, which ends with the lab.
type labJanitorCmd struct{}

// After a lab's end its other processes need a moment to die; they are looked after so often and that long apart.
const (
	sweeps     = 5
	sweepEvery = 100 * time.Millisecond
)

func (labJanitorCmd) Run(*app) (err error) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if said, _ := io.ReadAll(os.Stdin); len(said) > 0 {
		return nil // the lab has ended in order
	}
	for range sweeps {
		_, err = lab.Clean()
		time.Sleep(sweepEvery)
	}
	return err
}

// janitor is the running process, or the one that has taken its place.
type janitor struct {
	lock  sync.Mutex
	pipe  io.WriteCloser
	ended bool
	done  chan struct{}
}

// inOrder is what it is told when nothing is left.
const inOrder = "done"

// mostJanitors is how many are started one after the other, if something ends them.
const mostJanitors = 20

// employ starts it, and returns when it runs. The lab does without where that fails: then the next lab's start removes
// what is left.
func employ() *janitor {
	j := &janitor{done: make(chan struct{})}
	employed := make(chan bool, mostJanitors)
	go func() {
		defer close(j.done)
		for range mostJanitors {
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

// start starts a process, unless the lab has ended.
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

// dismiss tells it that the lab has ended, in order.
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

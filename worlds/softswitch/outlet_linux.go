package softswitch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
)

// outlet writes lines for one who must not wait: a terminal that was stopped, or a pipe that nobody
// empties, holds up the outlet's own goroutine. What has no room is lost, and counted.
type outlet struct {
	lines chan line
	lost  atomic.Uint64
}

// line is text, or a question for when all before it is written.
type line struct {
	text    []byte
	written chan struct{}
}

// mostLines is how many wait at most.
const mostLines = 256

func newOutlet(to io.Writer) *outlet {
	o := &outlet{lines: make(chan line, mostLines)}
	go func() {
		for x := range o.lines {
			if x.written != nil {
				close(x.written)
				continue
			}
			to.Write(x.text)
			if n := o.lost.Swap(0); n > 0 {
				fmt.Fprintf(to, "%d lines are lost here: they came faster than they could be written\n", n)
			}
		}
	}()
	return o
}

func (o *outlet) Write(b []byte) (int, error) {
	select {
	case o.lines <- line{text: bytes.Clone(b)}:
	default:
		o.lost.Add(1)
	}
	return len(b), nil
}

// flush waits until all is written, but no longer than c.
func (o *outlet) flush(c context.Context) {
	x := line{written: make(chan struct{})}
	select {
	case o.lines <- x:
	case <-c.Done():
		return
	}
	select {
	case <-x.written:
	case <-c.Done():
	}
}

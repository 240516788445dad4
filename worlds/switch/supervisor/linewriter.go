package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
)

// lineWriter writes lines for one who must not wait: a terminal that was stopped, or a pipe that is not
// read, holds up the writer's own goroutine. Lines that have no room are lost, and counted.
type lineWriter struct {
	lines chan line
	lost  atomic.Uint64
}

// line is text, or a question for when all before it is written.
type line struct {
	text    []byte
	written chan struct{}
}

// maxLines limits how many wait.
const maxLines = 256

func newLineWriter(to io.Writer) *lineWriter {
	w := &lineWriter{lines: make(chan line, maxLines)}
	go func() {
		for x := range w.lines {
			if x.written != nil {
				close(x.written)
				continue
			}
			to.Write(x.text)
			if n := w.lost.Swap(0); n > 0 {
				fmt.Fprintf(to, "%d lines are lost here: they came faster than they could be written\n", n)
			}
		}
	}()
	return w
}

func (w *lineWriter) Write(b []byte) (int, error) {
	select {
	case w.lines <- line{text: bytes.Clone(b)}:
	default:
		w.lost.Add(1)
	}
	return len(b), nil
}

// flush waits until all is written, but no longer than c.
func (w *lineWriter) flush(c context.Context) {
	x := line{written: make(chan struct{})}
	select {
	case w.lines <- x:
	case <-c.Done():
		return
	}
	select {
	case <-x.written:
	case <-c.Done():
	}
}

package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
)

// lineWriter writes lines without blocking its callers. A stopped terminal or an unread pipe blocks only the
// writer's goroutine. Lines beyond maxLines are dropped and counted.
type lineWriter struct {
	lines chan line
	lost  atomic.Uint64
}

// line is text, or a request for a notification when all earlier lines are written.
type line struct {
	text    []byte
	written chan struct{}
}

// maxLines limits the waiting lines.
const maxLines = 256

// newLineWriter starts a goroutine that writes lines to out. The goroutine never ends.
func newLineWriter(out io.Writer) *lineWriter {
	w := &lineWriter{lines: make(chan line, maxLines)}
	go func() {
		for x := range w.lines {
			if x.written != nil {
				close(x.written)
				continue
			}
			out.Write(x.text)
			if n := w.lost.Swap(0); n > 0 {
				fmt.Fprintf(out, "%d lines are lost here, because they were produced faster than written\n", n)
			}
		}
	}()
	return w
}

// Write queues a copy of b. It never blocks or fails: without room b is dropped and counted.
func (w *lineWriter) Write(b []byte) (int, error) {
	select {
	case w.lines <- line{text: bytes.Clone(b)}:
	default:
		w.lost.Add(1)
	}
	return len(b), nil
}

// flush waits until all lines are written, or until c is done.
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

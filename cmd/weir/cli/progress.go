package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"weir/study/run"
)

// progressBar is one line on a terminal.
type progressBar struct {
	lock  sync.Mutex // notices clear it while runs go on
	out   io.Writer
	on    bool
	start time.Time
	last  time.Time
	shown bool
	begun bool
	found int // runs that were there before
}

func (b *progressBar) show(p run.Progress) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if !b.begun {
		b.begun, b.found = true, p.Done
	}
	if now := time.Now(); !b.on || now.Sub(b.last) < 100*time.Millisecond {
		return
	} else {
		b.last = now
	}
	const width = 24
	full := int(p.Share * width)
	left := ""
	if p.Share > 0.01 {
		elapsed := b.last.Sub(b.start).Seconds()
		left = fmt.Sprintf("  %.1f runs/s  %.0f s left", p.Share*float64(p.Runs-b.found)/elapsed, elapsed*(1-p.Share)/p.Share)
	}
	fmt.Fprintf(b.out, "\r\x1b[K[%s%s] %3.0f %%  %d of %d runs%s", strings.Repeat("#", full),
		strings.Repeat(".", width-full), 100*p.Share, p.Done, p.Runs, left)
	b.shown = true
}

func (b *progressBar) clear() {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.shown {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

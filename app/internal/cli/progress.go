package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"weir/core/unit"
	"weir/internal/text"
	"weir/study/measure"
	"weir/study/run"
)

// progressBar is a line on a terminal that shows the progress of runs.
type progressBar struct {
	lock  sync.Mutex // notices clear the line while runs are in flight
	out   io.Writer
	on    bool
	wide  func() int // columns of the terminal, which may change
	start time.Time
	last  time.Time
	shown bool
	begun bool
	found int // runs with results at the start
	extra string
}

// newProgressBar returns a line that starts now.
func (a *app) newProgressBar() *progressBar {
	return &progressBar{out: a.screen, on: a.terminal, wide: a.terminalWidth, start: time.Now()}
}

// update overwrites the line with new progress, at most every 100 ms, if standard error is a terminal. The first call
// sets the number of runs that had results.
func (b *progressBar) update(p run.Progress) {
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
	fmt.Fprint(b.out, "\r\x1b[K"+progressLine(p, b.found, b.last.Sub(b.start).Seconds(), b.extra,
		b.wide()))
	b.shown = true
}

// setExtra sets additional text of the line.
func (b *progressBar) setExtra(text string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.extra = text
}

// progressLine returns the progress after the given seconds: share, number of runs, packet-hops in total and per
// second, simulated time, and remaining time. The argument found is the number of runs with results at the start.
// Comma-separated parts of extra follow as far as they fit. The line is shorter than the terminal's columns.
func progressLine(p run.Progress, found int, elapsed float64, extra string, columns int) string {
	line := fmt.Sprintf(" %3.0f %%  %d of %s", 100*p.Share, p.Done, text.Count(p.Runs, "run"))
	switch {
	case p.PacketHops > 0 && extra != "": // the line has no room for both
		line += fmt.Sprintf("  %s hops/s", measure.FormatSI(float64(p.PacketHops)/elapsed))
	case p.PacketHops > 0:
		line += fmt.Sprintf("  %s hops, %s/s", measure.FormatSI(float64(p.PacketHops)),
			measure.FormatSI(float64(p.PacketHops)/elapsed))
	case p.Share > 0.01:
		line += fmt.Sprintf("  %.1f runs/s", p.Share*float64(p.Runs-found)/elapsed)
	}
	if p.Time > 0 && extra == "" {
		line += "  at " + formatShort(p.Time)
	}
	if p.Share > 0.01 {
		line += fmt.Sprintf("  %s left", formatDuration(elapsed*(1-p.Share)/p.Share))
	}
	between := "  "
	for part := range strings.SplitSeq(extra, ", ") { // in order of importance
		if part == "" || len(line)+len(between)+len(part) >= columns {
			break
		}
		line, between = line+between+part, ", "
	}
	const widest, narrowest = 24, 4
	width := min(columns-len(line)-3, widest)
	if width < narrowest {
		line = strings.TrimLeft(line, " ")
		return line[:min(len(line), columns-1)]
	}
	full := min(int(p.Share*float64(width)), width)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]" + line
}

// formatShort returns a simulated time in three digits.
func formatShort(t unit.Time) string {
	s, each := t.Seconds(), "s"
	for _, smaller := range []string{"ms", "us", "ns"} {
		if s < 1 {
			s, each = 1000*s, smaller
		}
	}
	return fmt.Sprintf("%.3g%s", s, each)
}

// formatDuration returns a rough duration in s, min, h or days.
func formatDuration(seconds float64) string {
	switch {
	case seconds < 100:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 6000:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 360_000:
		return fmt.Sprintf("%.0f h", seconds/3600)
	}
	return fmt.Sprintf("%.0f days", seconds/86400)
}

// clear clears the line.
func (b *progressBar) clear() {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.shown {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

// notice returns a function that clears the line and prints a notice to standard error.
func (b *progressBar) notice(a *app) func(text string) {
	return func(text string) {
		b.clear()
		fmt.Fprintln(a.stderr, "notice:", text)
	}
}

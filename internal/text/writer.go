package text

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Writer passes text on with what acts escaped, as Lines does: what stands behind it is a terminal, a log, or
// a file that somebody prints there. Several may write at a time.
type Writer struct {
	to   io.Writer
	mu   sync.Mutex
	part []byte // of a character, or of the end of a line, whose rest is still to come
}

// NewWriter returns one that writes to another.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write takes all or nothing: escapes change how much there is.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data := p
	if len(w.part) > 0 {
		data = append(w.part, p...)
		w.part = nil
	}
	if n := open(data); n > 0 {
		w.part = append([]byte(nil), data[len(data)-n:]...)
		data = data[:len(data)-n]
	}
	if len(data) == 0 {
		return len(p), nil
	}
	if err := w.write(data); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was kept for its rest, which does not come.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	data := w.part
	w.part = nil
	if len(data) == 0 {
		return nil
	}
	return w.write(data)
}

func (w *Writer) write(data []byte) error {
	if !quiet(data) {
		data = []byte(Lines(string(data)))
	}
	_, err := w.to.Write(data)
	return err
}

// quiet reports whether all of it is printable ASCII, ends of lines and tabs, as most text is.
func quiet(data []byte) bool {
	for _, b := range data {
		if (b < ' ' || b >= 0x7f) && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}

// open is how many bytes at the end of a text cannot be judged without what follows.
func open(data []byte) int {
	if n := len(data); n > 0 && data[n-1] == '\r' {
		return 1
	}
	for n := 1; n <= min(utf8.UTFMax-1, len(data)); n++ {
		if b := data[len(data)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(data[len(data)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

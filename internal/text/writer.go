package text

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Writer copies text to a terminal, a log or a file that a terminal may print, and escapes it as EscapeLines does. It
// is safe for concurrent use.
type Writer struct {
	out  io.Writer
	mu   sync.Mutex
	part []byte // an incomplete character or line end
}

// NewWriter returns a Writer that writes escaped text to out. The caller calls Flush at the end.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write writes all of p or returns 0 and an error: escapes change the length. It keeps an incomplete character or line
// end at the end of p for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data := p
	if len(w.part) > 0 {
		data = append(w.part, p...)
		w.part = nil
	}
	if n := countIncomplete(data); n > 0 {
		w.part = append([]byte(nil), data[len(data)-n:]...)
		data = data[:len(data)-n]
	}
	if len(data) == 0 {
		return len(p), nil
	}
	if err := w.writeEscaped(data); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes an incomplete character or line end that Write kept.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	data := w.part
	w.part = nil
	if len(data) == 0 {
		return nil
	}
	return w.writeEscaped(data)
}

// writeEscaped writes data with acting characters escaped.
func (w *Writer) writeEscaped(data []byte) error {
	if !isPlain(data) {
		data = []byte(EscapeLines(string(data)))
	}
	_, err := w.out.Write(data)
	return err
}

// isPlain reports whether data has only printable ASCII characters, line ends and tabs.
func isPlain(data []byte) bool {
	for _, b := range data {
		if (b < ' ' || b >= 0x7f) && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}

// countIncomplete returns the number of bytes at the end of a text that need the following bytes to be judged.
func countIncomplete(data []byte) int {
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

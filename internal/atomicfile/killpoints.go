//go:build killpoints

package atomicfile

import (
	"io"

	"weir/internal/killpoint"
)

// writeHalves writes size bytes in two halves, so that a test can kill the process between them. The function half
// writes the bytes from … to−1 and returns how many it has written.
func (f *File) writeHalves(size int, half func(from, to int) (int, error)) (n int, err error) {
	killpoint.Reach(killpoint.Before, "write", f.place)
	if n, err = half(0, size/2); err != nil {
		return n, err
	}
	killpoint.Reach(killpoint.Within, "write", f.place)
	more, err := half(size/2, size)
	killpoint.Reach(killpoint.After, "write", f.place)
	return n + more, err
}

// Write writes as os.File does, with killpoints.
func (f *File) Write(b []byte) (n int, err error) {
	return f.writeHalves(len(b), func(from, to int) (int, error) { return f.File.Write(b[from:to]) })
}

// WriteAt writes as os.File does, with killpoints.
func (f *File) WriteAt(b []byte, at int64) (n int, err error) {
	return f.writeHalves(len(b), func(from, to int) (int, error) { return f.File.WriteAt(b[from:to], at+int64(from)) })
}

// WriteString writes as os.File does, with killpoints.
func (f *File) WriteString(s string) (n int, err error) { return f.Write([]byte(s)) }

// ReadFrom copies r by Write.
func (f *File) ReadFrom(r io.Reader) (n int64, err error) { return io.Copy(struct{ io.Writer }{f}, r) }

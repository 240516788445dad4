package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"weir/core/unit"
)

const (
	LargestInput  = 256 * unit.MB // the most that is read of a file that an experiment names
	LargestResult = 4 * unit.GB   // and of one that a run has left: all its flows and samples
)

// NotRegular is a path that names no regular file.
type NotRegular struct{ Mode fs.FileMode }

func (e *NotRegular) Error() string {
	what := "a device"
	switch {
	case e.Mode.IsDir():
		what = "a folder"
	case e.Mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case e.Mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return "it is " + what + "; a path names a regular file"
}

// TooLarge is a file or a stream that has more than is read of one.
type TooLarge struct{ Most unit.Bytes }

func (e *TooLarge) Error() string { return fmt.Sprintf("it has more than %v", e.Most) }

// Open opens a regular file. What else a path can name is an error at once: a pipe would hold the program
// until someone writes into it, and a device has no end.
func Open(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // to open a pipe does not wait for its writer
	if err != nil {
		if info, bad := os.Stat(name); bad == nil && !info.Mode().IsRegular() { // a socket cannot be opened
			err = &fs.PathError{Op: "open", Path: name, Err: &NotRegular{info.Mode()}}
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: &NotRegular{info.Mode()}}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if info.Size() == 0 {
		// A file that the kernel makes while it is read has no size, and may wait for what comes, such as /proc/kmsg.
		// Where a file cannot wait, there is no deadline either.
		_ = f.SetReadDeadline(time.Now().Add(longestWait))
	}
	return f, info, nil
}

// longestWait is how long a file that may wait for what comes is read.
const longestWait = time.Second

// ReadFile reads a regular file of at most so many bytes; of a larger one it reads nothing.
func ReadFile(name string, most unit.Bytes) ([]byte, error) {
	f, info, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > int64(most) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: &TooLarge{most}}
	}
	return ReadStream(f, most)
}

// ReadStream reads a stream up to its end, which is within so many bytes. Standard input is the only one
// that a command reads.
func ReadStream(r io.Reader, most unit.Bytes) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > int(most) {
		return nil, &TooLarge{most}
	}
	return data, err
}

// Reason is an error of a file without the file's name, which stands elsewhere.
func Reason(err error) error {
	var wrong *fs.PathError
	var moved *os.LinkError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("it has not ended after a second; a path names a regular file")
	case errors.As(err, &wrong):
		return wrong.Err
	case errors.As(err, &moved):
		return moved.Err
	}
	return err
}

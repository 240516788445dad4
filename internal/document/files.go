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
	MaxInput  = 256 * unit.MB // limit of a file that an experiment names
	MaxResult = 4 * unit.GB   // limit of a file of results, with all flows and samples
)

// NotRegularError is the error of a path that does not name a regular file.
type NotRegularError struct{ Mode fs.FileMode }

func (e *NotRegularError) Error() string {
	what := "a device"
	switch {
	case e.Mode.IsDir():
		what = "a folder"
	case e.Mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case e.Mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return "it is " + what + ", not a regular file"
}

// TooLargeError is the error of a file or a stream above a limit.
type TooLargeError struct{ Max unit.Bytes }

func (e *TooLargeError) Error() string { return fmt.Sprintf("the file has more than %v", e.Max) }

// Open opens a regular file. Any other kind of file is a NotRegularError immediately: a pipe would block the program
// until another process writes to it, and a device has no end. Reads that block fail maxWait after the opening of a
// file of size 0. The caller closes the file.
func Open(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe does not wait for its writer
	if err != nil {
		if info, bad := os.Stat(name); bad == nil && !info.Mode().IsRegular() { // a socket cannot be opened
			err = &fs.PathError{Op: "open", Path: name, Err: &NotRegularError{info.Mode()}}
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: &NotRegularError{info.Mode()}}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if info.Size() == 0 {
		// A file that the kernel generates on reading has size 0 and may block until data arrives, such as /proc/kmsg.
		// Files that cannot block refuse a deadline.
		_ = f.SetReadDeadline(time.Now().Add(maxWait))
	}
	return f, info, nil
}

// maxWait limits how long Open's caller waits for a file that may block.
const maxWait = time.Second

// ReadFile reads a regular file of at most limit bytes. A larger file is a TooLargeError and is not read.
func ReadFile(name string, limit unit.Bytes) ([]byte, error) {
	f, info, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > int64(limit) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: &TooLargeError{limit}}
	}
	return ReadStream(f, limit)
}

// ReadStream reads a stream of at most limit bytes up to its end. A longer stream is a TooLargeError. Commands use it
// for standard input only.
func ReadStream(r io.Reader, limit unit.Bytes) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(data) > int(limit) {
		return nil, &TooLargeError{limit}
	}
	return data, err
}

// UnwrapPathError returns the cause of a file error without the file's name, for messages that name the file elsewhere.
// Other errors are returned unchanged.
func UnwrapPathError(err error) error {
	var wrong *fs.PathError
	var moved *os.LinkError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("reading has not ended after 1 s; the path must name a regular file")
	case errors.As(err, &wrong):
		return wrong.Err
	case errors.As(err, &moved):
		return moved.Err
	}
	return err
}

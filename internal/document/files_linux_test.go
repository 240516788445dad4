package document

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// TestOnlyRegularFiles checks that a path to anything but a regular file is refused at once. A pipe without a
// writer would block the test for ever.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]string{pipe: "it is a pipe", socket: "it is a socket", dir: "it is a folder",
		"/dev/zero": "it is a device"} {
		t.Run(want, func(t *testing.T) {
			data, err := ReadFile(name, MaxInput)
			if err == nil || UnwrapPathError(err).Error() != want+", not a regular file" {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		})
	}
}

// TestFilesOfTheKernel checks that files of the kernel are read, including a file that supports polling (mounts).
func TestFilesOfTheKernel(t *testing.T) {
	for _, name := range []string{"/proc/self/status", "/proc/self/mounts"} {
		if data, err := ReadFile(name, MaxInput); err != nil || len(data) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

// TestReadsAreBounded checks that a file that is too large is not read. A stream is read only until it exceeds the
// limit.
func TestReadsAreBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(name, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	var large *TooLargeError
	if data, err := ReadFile(name, 4); !errors.As(err, &large) || large.Max != 4 || data != nil {
		t.Errorf("%q, %v", data, err)
	}
	taken := &counter{}
	if _, err := ReadStream(taken, 1000); !errors.As(err, &large) || taken.n > 2000 {
		t.Errorf("%v after %d bytes", err, taken.n)
	}
	if _, err := ReadStream(iotest.ErrReader(os.ErrClosed), 4); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if data, err := ReadStream(strings.NewReader("1234"), 4); err != nil || string(data) != "1234" {
		t.Errorf("%q, %v", data, err)
	}
}

// counter is an endless stream that counts the bytes that are read.
type counter struct{ n int }

func (c *counter) Read(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

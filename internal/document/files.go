package document

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"weir/core/unit"
)

// LargestInput is the most that is read of a file that an experiment names.
const LargestInput = 256 * unit.MB

// ReadFile reads a file, but no more than that much of it: a device has no end.
func ReadFile(name string, most unit.Bytes) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(most)))
}

// Reason is an error of a file without the file's name, which stands elsewhere.
func Reason(err error) error {
	var wrong *fs.PathError
	var moved *os.LinkError
	switch {
	case errors.As(err, &wrong):
		return wrong.Err
	case errors.As(err, &moved):
		return moved.Err
	}
	return err
}

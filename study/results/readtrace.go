package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"weir/core/trace"
	"weir/internal/pcapng"
)

// ReadTrace reads a trace of any form, which its first bytes tell, and hands each record
// to f, which must not keep it. clock is the time of the first packet, in UTC, if the
// file's times are those of a clock, and else "". An error names the file and the
// place in it.
func ReadTrace(name string, f func(*trace.Record) error) (clock string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("this is a folder")
	}
	var head [len(trace.Magic)]byte
	n := 0
	if err == nil {
		n, err = io.ReadFull(file, head[:])
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	start := string(head[:n])
	var stop stopped
	take := func(r *trace.Record) error {
		if err := f(r); err != nil {
			return stopped{err}
		}
		return nil
	}
	switch {
	case err != nil:
	case strings.HasPrefix(start, "\x0a\x0d\x0d\x0a"), strings.HasPrefix(start, "\x1f\x8b"):
		at, bad := pcapng.Read(file, take)
		if err = bad; !at.IsZero() {
			clock = at.UTC().Format("2006-01-02 15:04:05.000000000 UTC")
		}
	case strings.HasPrefix(start, "PAR1"):
		err = ReadTraceTable(file, info.Size(), take)
	case start == trace.Magic:
		err = trace.ReadText(file, take)
	default:
		err = errors.New("offset 0: this is neither pcapng nor Parquet nor the text form of a trace")
	}
	if errors.As(err, &stop) {
		return clock, stop.error
	}
	if err != nil {
		return clock, fmt.Errorf("%s: %w", name, err)
	}
	return clock, nil
}

// stopped is an error of the taker's, not of the file.
type stopped struct{ error }

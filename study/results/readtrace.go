package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"weir/core/trace"
	"weir/internal/document"
	"weir/study/experiment"
)

// classicPcap are the first bytes of pcap files in both byte orders, with microseconds and nanoseconds
// (draft-ietf-opsawg-pcap §4).
var classicPcap = []string{"\xa1\xb2\xc3\xd4", "\xd4\xc3\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x4d\x3c\xb2\xa1"}

// ReadTrace reads a trace of any format, detected from its first bytes, and passes each record to f, which must not
// keep it. It never holds a whole trace in memory. For experiment.StandardInput it reads standard input, except
// Parquet, which is read from its end. clock is the time of the first packet in UTC if the file has clock times,
// otherwise "". An error of f ends reading and is returned unchanged. Errors name the file and the place in it, or
// report a digest mismatch of a readable file.
func ReadTrace(name string, f func(*trace.Record) error) (clock string, err error) {
	file, size := os.Stdin, int64(0)
	regular := name != experiment.StandardInput
	if !regular {
		name = "standard input"
	} else {
		opened, info, err := document.Open(name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, document.UnwrapPathError(err))
		}
		defer opened.Close()
		file, size = opened, info.Size()
	}
	stream := bufio.NewReader(file)
	head, err := stream.Peek(len(trace.Magic))
	if err == io.EOF {
		err = nil
	}
	start := string(head)
	var stop callbackError
	take := func(r *trace.Record) error {
		if err := f(r); err != nil {
			return callbackError{err}
		}
		return nil
	}
	switch {
	case err != nil:
	case strings.HasPrefix(start, "\x0a\x0d\x0d\x0a"), strings.HasPrefix(start, "\x1f\x8b"):
		files, missing := PcapngFiles.Get()
		if err = missing; err != nil {
			break
		}
		at, bad := files.ReadTrace(stream, take)
		if err = bad; !at.IsZero() {
			clock = at.UTC().Format("2006-01-02 15:04:05.000000000 UTC")
		}
	case strings.HasPrefix(start, "PAR1") && size == 0:
		err = errors.New("offset 0: Parquet needs a regular file, because it is read from its end; name the file instead " +
			"of standard input")
	case strings.HasPrefix(start, "PAR1"):
		var files Parquet
		if files, err = ParquetFiles.Get(); err == nil {
			err = files.ReadTrace(file, size, take)
		}
	case start == trace.Magic:
		err = trace.ReadText(stream, take)
	case slices.Contains(classicPcap, start[:min(4, len(start))]):
		err = errors.New("offset 0: the format is pcap; convert it to pcapng with editcap -F pcapng IN OUT")
	default:
		err = errors.New("offset 0: unknown format; pcapng, Parquet and the text form of a trace are allowed")
	}
	if errors.As(err, &stop) {
		return clock, stop.error
	}
	if err == nil && regular {
		_, err = CheckTrace(name, "")
	}
	if err != nil {
		return clock, fmt.Errorf("%s: %w", name, err)
	}
	return clock, nil
}

// callbackError wraps an error of the callback, as opposed to the file.
type callbackError struct{ error }

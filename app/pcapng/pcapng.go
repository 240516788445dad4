// Package pcapng links traces as pcapng files, which Wireshark reads, into a program.
package pcapng

import (
	"io"
	"time"

	"weir/core/trace"
	"weir/internal/pcapng"
	"weir/study/results"
)

func init() { results.PcapngFiles.Link(files{}) }

// files implements results.Pcapng.
type files struct{}

func (files) NewTrace(w io.Writer, ports []string, snap int) (results.TraceWriter, error) {
	return pcapng.NewSnapWriter(w, ports, snap)
}

func (files) ReadTrace(r io.Reader, f func(*trace.Record) error) (start time.Time, err error) {
	return pcapng.Read(r, f)
}

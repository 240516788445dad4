package run

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/results"
	"weir/worlds/sim"
)

// TracePorts returns the ports of each point's network, those marked that the
// patterns pick. A pattern that picks none at any point is an error.
func TracePorts(s *experiment.Spec, patterns []string) ([][]trace.Port, error) {
	points := make([][]trace.Port, len(s.Points()))
	if len(patterns) == 0 {
		return points, nil
	}
	var names []string
	seen := map[string]bool{}
	for i, p := range s.Points() {
		points[i] = sim.TracePorts(p.Network())
		for _, x := range points[i] {
			if !seen[x.Name] {
				seen[x.Name] = true
				names = append(names, x.Name)
			}
		}
	}
	c := document.NewReader(experiment.FileKind)
	for _, pattern := range patterns {
		found := false
		for i := range points {
			found = trace.Select(points[i], pattern) || found
		}
		if !found {
			c.Unknown(document.Position{File: "--trace " + pattern, Line: 1, Column: 1}, "port", pattern, names)
		}
	}
	return points, c.Err()
}

// share joins the processes that trace the same ports of this experiment. A run has one trace: while one of other
// ports is made, this one is refused, with an InputErrors, because one of the two would replace what the other has
// told its user of.
func (x *execution) share() error {
	if len(x.o.Trace) == 0 {
		return nil
	}
	seen := map[string]bool{}
	var names []string
	for _, ports := range x.ports {
		for _, p := range ports {
			if p.Traced && !seen[p.Name] {
				seen[p.Name] = true
				names = append(names, p.Name)
			}
		}
	}
	dir := filepath.Join(x.out.Dir, "traces")
	if err := atomicfile.MkdirAll(dir); err != nil {
		return fmt.Errorf("%s: it cannot be made: %w", dir, document.Reason(err))
	}
	place := filepath.Join(dir, "ports")
	text := strings.Join(names, ", ")
	if x.o.Tracing.Forms != nil || x.o.Tracing.Snap > 0 {
		text += fmt.Sprintf(" (%s, %d bytes of a frame)", strings.Join(x.o.Tracing.Forms, ", "), x.o.Tracing.Snap)
	}
	leave, joined, with, err := atomicfile.Share(place, text)
	if err != nil {
		return results.Unwritten(place, err)
	}
	if !joined {
		c := document.NewReader(experiment.FileKind)
		c.Fail(document.Position{File: "--trace", Line: 1, Column: 1},
			"these ports, another --out, or the same command when "+
				"that process has ended", "another process traces this experiment into %s, and of other ports: %s", dir, with)
		return c.Err()
	}
	x.leave = leave
	return nil
}

// Tracing says what of a trace is kept.
type Tracing struct {
	Forms []string // of TraceForms; nil: all
	Snap  int      // bytes of each frame in pcapng; 0: all headers and the beginning of the payload
}

// TraceForms are the forms of traces.
func TraceForms() (names []string) {
	for _, f := range traceForms {
		names = append(names, f.name)
	}
	return names
}

// wants reports whether a form is kept.
func (t *Tracing) wants(name string) bool { return t.Forms == nil || slices.Contains(t.Forms, name) }

// The files of a trace below traces/, by run. A list of their digests is moved in last and
// taken away first: when it is there, all are. Its second line tells of which ports.
var traceForms = [...]struct{ name, suffix string }{{"pcapng", ".pcapng"}, {"parquet", ".parquet"}, {"text", ".txt"}}

// tracer writes one run's trace into files that are moved in when the run is
// finished. nil is that of a run without a trace; its methods do nothing.
type tracer struct {
	dir    string // traces
	id     string
	ports  []trace.Port
	names  []string // of the ports that are traced
	wanted *Tracing
	files  []*traceFile
	sinks  []results.TraceWriter
	quota  unit.Bytes // of all files together; 0: none
	used   unit.Bytes
	keeps  bool     // in memory, for a bundle: nothing is written
	given  [][]byte // the files that somebody else has made
}

// traceFile is a file of a trace that is being written.
type traceFile struct {
	traceOutput
	of   *tracer
	name string
	sum  hash.Hash
	lost error // why it cannot be written
}

// traceOutput is where a trace's file goes.
type traceOutput interface {
	io.Writer
	Commit() error
	Discard()
}

// kept is a file in memory.
type kept struct{ bytes.Buffer }

func (*kept) Commit() error { return nil }
func (*kept) Discard()      {}

// errQuota says that a run's trace is larger than its experiment allows, which is so wherever it is carried out.
var errQuota = errors.New("its trace is larger than the experiment's trace_quota")

func (f *traceFile) Write(b []byte) (int, error) {
	if f.of.used += unit.Bytes(len(b)); f.of.quota > 0 && f.of.used > f.of.quota {
		return 0, fmt.Errorf("%w, %v", errQuota, f.of.quota)
	}
	n, err := f.traceOutput.Write(b)
	f.sum.Write(b[:n])
	if err != nil && f.lost == nil {
		f.lost = lostError{results.Unwritten(f.name, err)}
	}
	return n, err
}

// newTracer returns the tracer of a run, nil if no port is traced or there is no
// results folder.
func newTracer(dir, id string, ports []trace.Port, tracing *Tracing, quota unit.Bytes) *tracer {
	t := &tracer{dir: filepath.Join(dir, "traces"), id: id, ports: ports, wanted: tracing, quota: quota}
	for _, p := range ports {
		if p.Traced {
			t.names = append(t.names, p.Name)
		}
	}
	if len(t.names) == 0 || dir == "" {
		return nil
	}
	return t
}

func (t *tracer) name(form string) string { return filepath.Join(t.dir, t.id+form) }

// there reports whether the run has left this very trace before. What is there and is
// damaged, or another run's, is an error that says so.
func (t *tracer) there(run *results.Run) (bool, error) {
	if t == nil {
		return true, nil
	}
	list, err := document.ReadFile(t.name(results.TraceDigests), document.LargestResult)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join("traces", t.id+results.TraceDigests), err)
	}
	of := results.DigestHead(run)
	for _, form := range traceForms {
		if !t.wanted.wants(form.name) {
			continue
		}
		file := filepath.Join("traces", t.id+form.suffix)
		switch listed, err := results.CheckTrace(t.name(form.suffix), of); {
		case err != nil:
			return false, fmt.Errorf("%s: %w", file, err)
		case !listed && t.wanted.Forms == nil:
			return false, fmt.Errorf("%s: its digest is not there", file)
		case !listed: // it was made in other forms
			return false, nil
		}
	}
	return strings.HasPrefix(string(list), of+t.what()), nil
}

// what is the line of the digests that says what the trace is of.
func (t *tracer) what() string {
	snap := ""
	if t.wanted.Snap > 0 {
		snap = fmt.Sprintf("; %d bytes of a frame", t.wanted.Snap)
	}
	return fmt.Sprintf("# ports %s%s\n", strings.Join(t.names, " "), snap)
}

// begin opens the files and makes the run tell them its events.
func (t *tracer) begin(c *sim.Config) error {
	if t == nil {
		return nil
	}
	config := trace.Config{Ports: t.ports, Book: c.Wiring.Hosts, Frames: t.wanted.wants("pcapng"), Snap: t.wanted.Snap}
	for _, n := range c.Wiring.Network.Nodes {
		config.Nodes = append(config.Nodes, n.Name)
	}
	for _, form := range traceForms {
		if !t.wanted.wants(form.name) {
			continue
		}
		f, err := t.create(form.suffix)
		if err != nil {
			return lostError{err}
		}
		var sink results.TraceWriter
		switch form.name {
		case "text":
			sink = trace.NewText(f, t.names)
		case "pcapng":
			files, err := results.PcapngFiles.Get()
			if err == nil {
				sink, err = files.NewTrace(f, t.names, t.wanted.Snap)
			}
			if err != nil {
				return err
			}
		default:
			files, err := results.ParquetFiles.Get()
			if err != nil {
				return lostError{err}
			}
			b := bufio.NewWriterSize(f, 1<<16)
			sink = buffered{files.NewTrace(b, t.names), b}
		}
		t.sinks, config.Sinks = append(t.sinks, sink), append(config.Sinks, sink)
	}
	c.Trace = trace.NewCollector(config)
	return nil
}

// create opens a file of the trace.
func (t *tracer) create(form string) (*traceFile, error) {
	f := &traceFile{of: t, name: t.name(form), sum: sha256.New()}
	if t.keeps {
		f.traceOutput = &kept{}
	} else {
		file, err := atomicfile.Create(f.name)
		if err != nil {
			return nil, results.Unwritten(f.name, err)
		}
		f.traceOutput = file
	}
	t.files = append(t.files, f)
	return f, nil
}

// buffered is a sink whose writer has a buffer below it.
type buffered struct {
	results.TraceWriter
	b *bufio.Writer
}

func (x buffered) Close() error { return errors.Join(x.TraceWriter.Close(), x.b.Flush()) }

// lost is why a file cannot be written; nil if all can.
func (t *tracer) lost() error {
	if t == nil {
		return nil
	}
	for _, f := range t.files {
		if f.lost != nil {
			return f.lost
		}
	}
	return nil
}

// close writes what is not in the files yet. The error is the run's, or a lostError.
func (t *tracer) close() error {
	if t == nil {
		return nil
	}
	for k, f := range t.files {
		switch err := t.sinks[k].Close(); {
		case err == nil:
		case f.lost != nil:
			return f.lost
		case errors.Is(err, errQuota):
			return err
		default:
			return lostError{results.Unwritten(f.name, err)}
		}
	}
	return nil
}

// finish moves the files in.
func (t *tracer) finish(run *results.Run) error {
	if t == nil {
		return nil
	}
	if err := t.take(); err != nil {
		return err
	}
	list := t.name(results.TraceDigests)
	if err := atomicfile.Remove(list); err != nil && !errors.Is(err, os.ErrNotExist) {
		return results.Unwritten(list, err)
	}
	for _, form := range traceForms { // what is left of another trace is none of this one
		if !t.wanted.wants(form.name) {
			atomicfile.Remove(t.name(form.suffix))
		}
	}
	digests := results.DigestHead(run) + t.what()
	for _, f := range t.files {
		if err := f.Commit(); err != nil {
			return results.Unwritten(f.name, err)
		}
		digests += results.DigestLine(filepath.Base(f.name), f.sum.Sum(nil))
	}
	return results.WriteFile(list, []byte(digests))
}

// abandon takes away what finish has not moved in.
func (t *tracer) abandon() {
	if t == nil {
		return
	}
	for _, f := range t.files {
		f.Discard()
	}
	t.files = nil
}

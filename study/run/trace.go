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

// TracePorts returns the ports of each point's network and marks those that match a pattern. Without patterns each
// point has nil. A pattern that matches no port at any point is an error.
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
			found = trace.MarkPorts(points[i], pattern) || found
		}
		if !found {
			c.FailUnknown(document.Position{File: "--trace " + pattern, Line: 1, Column: 1}, "port", pattern, names)
		}
	}
	return points, c.Err()
}

// shareTrace registers this process among those that trace the same ports of this experiment, and sets leave. A run has
// one trace, so it returns an InputErrors while another process traces other ports: one trace would replace the other.
// Without traced ports it has no effect.
func (x *execution) shareTrace() error {
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
		return fmt.Errorf("%s: the folder cannot be created: %w", dir, document.UnwrapPathError(err))
	}
	place := filepath.Join(dir, "ports")
	text := strings.Join(names, ", ")
	if x.o.Tracing.Forms != nil || x.o.Tracing.Snap > 0 {
		text += fmt.Sprintf(" (%s, %d bytes of a frame)", strings.Join(x.o.Tracing.Forms, ", "), x.o.Tracing.Snap)
	}
	leave, joined, with, err := atomicfile.JoinShared(place, text)
	if err != nil {
		return results.WrapWriteError(place, err)
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

// Tracing configures the traces of runs.
type Tracing struct {
	Forms []string // forms from TraceFormNames; nil: all
	Snap  int      // bytes of each frame in pcapng; 0: all headers and the start of the payload
}

// TraceFormNames returns the names of the forms of traces.
func TraceFormNames() (names []string) {
	for _, f := range traceForms {
		names = append(names, f.name)
	}
	return names
}

// hasForm reports whether a form is kept.
func (t *Tracing) hasForm(name string) bool { return t.Forms == nil || slices.Contains(t.Forms, name) }

// traceForms are the forms of a run's trace files below traces/. The list of their digests is written last and
// removed first: if it exists, all files do. Its second line names the ports.
var traceForms = [...]struct{ name, suffix string }{{"pcapng", ".pcapng"}, {"parquet", ".parquet"}, {"text", ".txt"}}

// tracer writes the trace of one run into files that are moved into place when the run has finished. The methods of a
// nil tracer have no effect: the run has no trace.
type tracer struct {
	dir    string // folder of the traces
	id     string
	ports  []trace.Port
	names  []string // names of the traced ports
	wanted *Tracing
	files  []*traceFile
	sinks  []results.TraceWriter
	quota  unit.Bytes // limit for all files; 0: no limit
	used   unit.Bytes
	keeps  bool     // keep files in memory, for a bundle
	given  [][]byte // files that another process has made
}

// traceFile is an open file of a trace.
type traceFile struct {
	traceOutput
	tracer *tracer
	name   string
	sum    hash.Hash
	lost   error // error of writing
}

// traceOutput is the destination of a trace's file.
type traceOutput interface {
	io.Writer
	Commit() error
	Discard()
}

// memoryFile is a traceOutput in memory.
type memoryFile struct{ bytes.Buffer }

func (*memoryFile) Commit() error { return nil }
func (*memoryFile) Discard()      {}

// errQuota is the error of a run with a trace above its experiment's limit, which holds on any machine.
var errQuota = errors.New("its trace is larger than the experiment's trace_quota")

// Write writes to the file, adds to its checksum and to the tracer's used bytes. Beyond the quota it does not write and
// returns errQuota. The first write error stays in lost.
func (f *traceFile) Write(b []byte) (int, error) {
	if f.tracer.used += unit.Bytes(len(b)); f.tracer.quota > 0 && f.tracer.used > f.tracer.quota {
		return 0, fmt.Errorf("%w, %v", errQuota, f.tracer.quota)
	}
	n, err := f.traceOutput.Write(b)
	f.sum.Write(b[:n])
	if err != nil && f.lost == nil {
		f.lost = lostError{results.WrapWriteError(f.name, err)}
	}
	return n, err
}

// newTracer returns the tracer of a run, or nil if no port is traced or the run has no results folder.
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

// fileName returns the path of the trace's file with the given suffix.
func (t *tracer) fileName(suffix string) string { return filepath.Join(t.dir, t.id+suffix) }

// isComplete reports whether the run has a complete trace of these ports in the requested forms. An error describes a
// trace that is damaged or belongs to another run. A nil tracer is complete.
func (t *tracer) isComplete(run *results.Run) (bool, error) {
	if t == nil {
		return true, nil
	}
	list, err := document.ReadFile(t.fileName(results.TraceDigests), document.MaxResult)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join("traces", t.id+results.TraceDigests), err)
	}
	of := results.DigestHead(run)
	for _, form := range traceForms {
		if !t.wanted.hasForm(form.name) {
			continue
		}
		file := filepath.Join("traces", t.id+form.suffix)
		switch listed, err := results.CheckTrace(t.fileName(form.suffix), of); {
		case err != nil:
			return false, fmt.Errorf("%s: %w", file, err)
		case !listed && t.wanted.Forms == nil:
			return false, fmt.Errorf("%s: its digest is missing", file)
		case !listed: // the trace has other forms
			return false, nil
		}
	}
	return strings.HasPrefix(string(list), of+t.describePorts()), nil
}

// describePorts returns the line of the digests that describes the traced ports.
func (t *tracer) describePorts() string {
	snap := ""
	if t.wanted.Snap > 0 {
		snap = fmt.Sprintf("; %d bytes of a frame", t.wanted.Snap)
	}
	return fmt.Sprintf("# ports %s%s\n", strings.Join(t.names, " "), snap)
}

// openFiles opens the files and connects them to the run's events: it sets c.Trace. Files that cannot be created are a
// lostError.
func (t *tracer) openFiles(c *sim.Config) error {
	if t == nil {
		return nil
	}
	config := trace.Config{Ports: t.ports, Book: c.Wiring.Hosts, Frames: t.wanted.hasForm("pcapng"), Snap: t.wanted.Snap}
	for _, n := range c.Wiring.Network.Nodes {
		config.Nodes = append(config.Nodes, n.Name)
	}
	for _, form := range traceForms {
		if !t.wanted.hasForm(form.name) {
			continue
		}
		f, err := t.createFile(form.suffix)
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

// createFile opens the trace's file with the given suffix, in memory if the tracer keeps its files, and adds it to
// files.
func (t *tracer) createFile(suffix string) (*traceFile, error) {
	f := &traceFile{tracer: t, name: t.fileName(suffix), sum: sha256.New()}
	if t.keeps {
		f.traceOutput = &memoryFile{}
	} else {
		file, err := atomicfile.Create(f.name)
		if err != nil {
			return nil, results.WrapWriteError(f.name, err)
		}
		f.traceOutput = file
	}
	t.files = append(t.files, f)
	return f, nil
}

// buffered is a sink that writes to a buffer, which Close flushes.
type buffered struct {
	results.TraceWriter
	b *bufio.Writer
}

func (x buffered) Close() error { return errors.Join(x.TraceWriter.Close(), x.b.Flush()) }

// writeError returns the first error of writing, or nil.
func (t *tracer) writeError() error {
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

// closeFiles completes the files' contents. It returns a lostError if a file cannot be written, and errQuota if the
// trace is too large.
func (t *tracer) closeFiles() error {
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
			return lostError{results.WrapWriteError(f.name, err)}
		}
	}
	return nil
}

// commitFiles moves the files into place, removes an earlier trace's files, and writes their digests last. It first
// writes the files that another process has made.
func (t *tracer) commitFiles(run *results.Run) error {
	if t == nil {
		return nil
	}
	if err := t.writeGiven(); err != nil {
		return err
	}
	list := t.fileName(results.TraceDigests)
	if err := atomicfile.Remove(list); err != nil && !errors.Is(err, os.ErrNotExist) {
		return results.WrapWriteError(list, err)
	}
	for _, form := range traceForms { // remove forms of an earlier trace
		if !t.wanted.hasForm(form.name) {
			atomicfile.Remove(t.fileName(form.suffix))
		}
	}
	digests := results.DigestHead(run) + t.describePorts()
	for _, f := range t.files {
		if err := f.Commit(); err != nil {
			return results.WrapWriteError(f.name, err)
		}
		digests += results.DigestLine(filepath.Base(f.name), f.sum.Sum(nil))
	}
	return results.WriteFile(list, []byte(digests))
}

// discardFiles deletes the files that commitFiles has not moved.
func (t *tracer) discardFiles() {
	if t == nil {
		return
	}
	for _, f := range t.files {
		f.Discard()
	}
	t.files = nil
}

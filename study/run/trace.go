package run

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"weir/core/trace"
	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/pcapng"
	"weir/study/results"
	"weir/study/spec"
	"weir/worlds/sim"
)

// tracePorts returns the ports of each point's network, those marked that the
// patterns pick. A pattern that picks none at any point is an error.
func tracePorts(s *spec.Spec, patterns []string) ([][]trace.Port, error) {
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
	c := document.NewReader(spec.FileKind)
	for _, pattern := range patterns {
		found := false
		for i := range points {
			found = trace.Select(points[i], pattern) || found
		}
		if !found {
			c.Unknown(document.Place{File: "--trace " + pattern, Line: 1, Column: 1}, "port", pattern, names)
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
	leave, joined, with, err := atomicfile.Share(place, strings.Join(names, ", "))
	if err != nil {
		return results.Unwritten(place, err)
	}
	if !joined {
		c := document.NewReader(spec.FileKind)
		c.Fail(document.Place{File: "--trace", Line: 1, Column: 1}, "these ports, another --out, or the same command when "+
			"that process has ended", "another process traces this experiment into %s, and of other ports: %s", dir, with)
		return c.Err()
	}
	x.leave = leave
	return nil
}

// The files of a trace below traces/, by run. A list of their digests is moved in last and
// taken away first: when it is there, all are. The head of the text tells of which ports.
var traceForms = [...]string{".pcapng", ".parquet", ".txt"}

const traceText = 2

// tracer writes one run's trace into files that are moved in when the run is
// finished. nil is that of a run without a trace; its methods do nothing.
type tracer struct {
	dir   string // traces
	id    string
	ports []trace.Port
	names []string // of the ports that are traced
	files []*traceFile
	sinks []traceSink
}

type traceSink interface {
	trace.Sink
	Close() error
}

// traceFile is a file of a trace that is being written.
type traceFile struct {
	*atomicfile.File
	name string
	sum  hash.Hash
	lost error // why it cannot be written
}

func (f *traceFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.sum.Write(b[:n])
	if err != nil && f.lost == nil {
		f.lost = lostError{results.Unwritten(f.name, err)}
	}
	return n, err
}

// newTracer returns the tracer of a run, nil if no port is traced or there is no
// results folder.
func newTracer(dir, id string, ports []trace.Port) *tracer {
	t := &tracer{dir: filepath.Join(dir, "traces"), id: id, ports: ports}
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
	head, err := readHead(t.name(traceForms[traceText]), trace.TextHead(t.names))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	of := results.DigestHead(run)
	for _, form := range traceForms {
		file := filepath.Join("traces", t.id+form)
		switch listed, err := results.CheckTrace(t.name(form), of); {
		case err != nil:
			return false, fmt.Errorf("%s: %w", file, err)
		case !listed:
			return false, fmt.Errorf("%s: its digest is not there", file)
		}
	}
	return head && err == nil, nil
}

// readHead reports whether a file begins with this.
func readHead(name, want string) (bool, error) {
	f, _, err := document.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, int64(len(want))))
	return string(head) == want, err
}

// begin opens the files and makes the run tell them its events.
func (t *tracer) begin(c *sim.Config) error {
	if t == nil {
		return nil
	}
	config := trace.Config{Ports: t.ports, Book: c.Hosts, Frames: true}
	for _, n := range c.Network.Nodes {
		config.Nodes = append(config.Nodes, n.Name)
	}
	for form, suffix := range traceForms {
		name := t.name(suffix)
		file, err := atomicfile.Create(name)
		if err != nil {
			return lostError{results.Unwritten(name, err)}
		}
		f := &traceFile{File: file, name: name, sum: sha256.New()}
		t.files = append(t.files, f)
		var sink traceSink
		switch form {
		case traceText:
			sink = trace.NewText(f, t.names)
		case 0:
			if sink, err = pcapng.NewWriter(f, t.names); err != nil {
				return err
			}
		default:
			b := bufio.NewWriterSize(f, 1<<16)
			sink = buffered{results.NewTraceTable(b, t.names), b}
		}
		t.sinks, config.Sinks = append(t.sinks, sink), append(config.Sinks, sink)
	}
	c.Trace = trace.NewCollector(config)
	return nil
}

// buffered is a sink whose writer has a buffer below it.
type buffered struct {
	*results.TraceTable
	b *bufio.Writer
}

func (x buffered) Close() error { return errors.Join(x.TraceTable.Close(), x.b.Flush()) }

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

// finish moves the files in.
func (t *tracer) finish(run *results.Run) error {
	if t == nil {
		return nil
	}
	for form, f := range t.files {
		if err := t.sinks[form].Close(); err != nil {
			if f.lost != nil {
				return f.lost
			}
			return results.Unwritten(f.name, err)
		}
	}
	list := t.name(results.TraceDigests)
	if err := os.Remove(list); err != nil && !errors.Is(err, os.ErrNotExist) {
		return results.Unwritten(list, err)
	}
	digests := results.DigestHead(run)
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

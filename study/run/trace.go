package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"weir/core/trace"
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

// The files of a trace below traces/, by run. The text is moved in last and taken
// away first: when it is there, all are, and its head tells of which ports.
var traceForms = [...]string{".pcapng", ".parquet", ".txt"}

const traceText = 2

// tracer writes one run's trace into files that are moved in when the run is
// finished. nil is that of a run without a trace; its methods do nothing.
type tracer struct {
	dir   string // traces
	id    string
	ports []trace.Port
	names []string // of the ports that are traced
	files []*os.File
	sinks []traceSink
}

type traceSink interface {
	trace.Sink
	Close() error
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

func (t *tracer) name(form int) string { return filepath.Join(t.dir, t.id+traceForms[form]) }

// there reports whether the run has left this very trace before.
func (t *tracer) there() bool {
	if t == nil {
		return true
	}
	for form := range traceForms {
		if _, err := os.Stat(t.name(form)); err != nil {
			return false
		}
	}
	f, err := os.Open(t.name(traceText))
	if err != nil {
		return false
	}
	defer f.Close()
	want := trace.TextHead(t.names)
	head, err := io.ReadAll(io.LimitReader(f, int64(len(want))))
	return err == nil && string(head) == want
}

// begin opens the files and makes the run tell them its events.
func (t *tracer) begin(c *sim.Config) error {
	if t == nil {
		return nil
	}
	if err := os.MkdirAll(t.dir, 0o777); err != nil {
		return err
	}
	part := ".new-" + t.id + "-"
	if left, err := filepath.Glob(filepath.Join(t.dir, part+"*")); err == nil { // of a process that was killed
		for _, name := range left {
			os.Remove(name)
		}
	}
	config := trace.Config{Ports: t.ports, Book: c.Hosts, Frames: true}
	for _, n := range c.Network.Nodes {
		config.Nodes = append(config.Nodes, n.Name)
	}
	for form := range traceForms {
		f, err := os.CreateTemp(t.dir, part+"*")
		if err != nil {
			return err
		}
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

// finish moves the files in.
func (t *tracer) finish() error {
	if t == nil {
		return nil
	}
	for form, f := range t.files {
		err := errors.Join(t.sinks[form].Close(), f.Chmod(0o644), f.Close())
		if err != nil {
			return fmt.Errorf("trace %s: %w", t.id+traceForms[form], err)
		}
	}
	if err := os.Remove(t.name(traceText)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for form, f := range t.files {
		if err := os.Rename(f.Name(), t.name(form)); err != nil {
			return err
		}
	}
	t.files = nil
	return nil
}

// abandon takes away what finish has not moved in.
func (t *tracer) abandon() {
	if t == nil {
		return
	}
	for _, f := range t.files {
		f.Close()
		os.Remove(f.Name())
	}
	t.files = nil
}

package run

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"

	"weir/core/trace"
	"weir/core/unit"
	"weir/study/plan"
	"weir/study/results"
)

// A bundle is a run and its trace as one string of bytes, which has one digest: a tar archive of the run and of the
// trace's files, in this order and without the time.
const bundledRun = "run.json"

// traceText is the end of the name of the file that begins with the ports.
const traceText = ".txt"

// inMemory is the folder of files that are none.
const inMemory = "memory"

// bundle is what a run gives with its trace; without one it is the run alone.
func (t *tracer) bundle(run []byte) ([]byte, error) {
	if t == nil {
		return run, nil
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, data []byte) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o444, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	if err := add(bundledRun, run); err != nil {
		return nil, err
	}
	for k, suffix := range t.suffixes() {
		if err := add("trace"+suffix, t.files[k].traceOutput.(*kept).Bytes()); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// suffixes are the ends of the names of the trace's files.
func (t *tracer) suffixes() (all []string) {
	for _, form := range traceForms {
		if t.wanted.wants(form.name) {
			all = append(all, form.suffix)
		}
	}
	return all
}

// Received reads what Traced has returned for a run of the plan, whose id is that, and which came from somebody else:
// the run, and the files of its trace if ports were wanted. The error says why it is not that.
func Received(data []byte, r *plan.Run, id string, ports []trace.Port, tracing *Tracing) (*results.Run, [][]byte,
	error) {
	t := newTracer(inMemory, id, ports, tracing, r.Spec.TraceQuota())
	if t == nil {
		run, err := results.Vouched(data, r, id)
		return run, nil, err
	}
	archive := tar.NewReader(bytes.NewReader(data))
	next := func(name string) ([]byte, error) {
		h, err := archive.Next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("the bundle has no %s: %w", name, err)
		case h.Name != name || h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("the bundle has %q in the place of %s", h.Name, name)
		case h.Size > int64(len(data)):
			return nil, fmt.Errorf("%s of the bundle is said to have %d bytes", name, h.Size)
		}
		return io.ReadAll(archive)
	}
	text, err := next(bundledRun)
	if err != nil {
		return nil, nil, err
	}
	run, err := results.Vouched(text, r, id)
	if err != nil {
		return nil, nil, err
	}
	var files [][]byte
	for _, suffix := range t.suffixes() {
		file, err := next("trace" + suffix)
		if err != nil {
			return nil, nil, err
		}
		if t.used += unit.Bytes(len(file)); t.used > t.quota {
			return nil, nil, fmt.Errorf("%w, %v", errQuota, t.quota)
		}
		if suffix == traceText && !bytes.HasPrefix(file, []byte(trace.TextHead(t.names))) {
			return nil, nil, fmt.Errorf("its trace is of other ports")
		}
		files = append(files, file)
	}
	return run, files, nil
}

// take writes the files of a trace that somebody else has made.
func (t *tracer) take() error {
	if t.given == nil {
		return nil
	}
	t.abandon() // what a try before has left, for which the disk had no room
	t.used = 0
	for k, suffix := range t.suffixes() {
		f, err := t.create(suffix)
		if err != nil {
			return err
		}
		if _, err := f.Write(t.given[k]); err != nil {
			return results.Unwritten(f.name, err)
		}
	}
	return nil
}

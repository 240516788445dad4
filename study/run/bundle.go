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

// A bundle is a run and its trace in one tar archive, so that both have one digest. The archive has the run's file
// and then the trace's files in a fixed order, without times.
const bundledRun = "run.json"

// traceText is the suffix of the trace file that begins with the names of the ports.
const traceText = ".txt"

// inMemory is the folder name of tracers that keep their files in memory.
const inMemory = "memory"

// packBundle returns the bundle of a run's encoded result and its trace. The trace's files are closed and in memory. A
// nil tracer returns the run unchanged.
func (t *tracer) packBundle(run []byte) ([]byte, error) {
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
	for k, suffix := range t.listSuffixes() {
		if err := add("trace"+suffix, t.files[k].traceOutput.(*memoryFile).Bytes()); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// listSuffixes returns the suffixes of the requested forms, in the order of traceForms.
func (t *tracer) listSuffixes() (all []string) {
	for _, form := range traceForms {
		if t.wanted.hasForm(form.name) {
			all = append(all, form.suffix)
		}
	}
	return all
}

// DecodeResult decodes the result of SimulateTraced from another process. It returns the run and, if ports were traced,
// the files of the trace. It returns an error unless the data belong to run r of the plan with the given id. Traces
// above the experiment's quota are an error, too.
func DecodeResult(data []byte, r *plan.Run, id string, ports []trace.Port, tracing *Tracing) (*results.Run, [][]byte,
	error) {
	t := newTracer(inMemory, id, ports, tracing, r.Spec.TraceQuota())
	if t == nil {
		run, err := results.VerifyRun(data, r, id)
		return run, nil, err
	}
	archive := tar.NewReader(bytes.NewReader(data))
	next := func(name string) ([]byte, error) {
		h, err := archive.Next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("the bundle lacks %s: %w", name, err)
		case h.Name != name || h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("the bundle has %q instead of %s", h.Name, name)
		case h.Size > int64(len(data)):
			return nil, fmt.Errorf("%s in the bundle has an invalid size of %d bytes", name, h.Size)
		}
		return io.ReadAll(archive)
	}
	text, err := next(bundledRun)
	if err != nil {
		return nil, nil, err
	}
	run, err := results.VerifyRun(text, r, id)
	if err != nil {
		return nil, nil, err
	}
	var files [][]byte
	for _, suffix := range t.listSuffixes() {
		file, err := next("trace" + suffix)
		if err != nil {
			return nil, nil, err
		}
		if t.used += unit.Bytes(len(file)); t.used > t.quota {
			return nil, nil, fmt.Errorf("%w, %v", errQuota, t.quota)
		}
		if suffix == traceText && !bytes.HasPrefix(file, []byte(trace.TextHead(t.names))) {
			return nil, nil, fmt.Errorf("its trace is of other ports than requested")
		}
		files = append(files, file)
	}
	return run, files, nil
}

// writeGiven writes the files of a trace that another process has made (t.given), for commitFiles to move into place.
// It removes the files of an earlier attempt first. Without such a trace it has no effect.
func (t *tracer) writeGiven() error {
	if t.given == nil {
		return nil
	}
	t.discardFiles() // remove files of an attempt that failed on a full disk
	t.used = 0
	for k, suffix := range t.listSuffixes() {
		f, err := t.createFile(suffix)
		if err != nil {
			return err
		}
		if _, err := f.Write(t.given[k]); err != nil {
			return results.WrapWriteError(f.name, err)
		}
	}
	return nil
}

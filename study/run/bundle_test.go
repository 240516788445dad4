package run

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"weir/core/trace"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// bundled returns a run with a trace, the traced ports, and the bundle of both.
func bundled(t testing.TB, quota string) (*plan.Run, []trace.Port, []byte) {
	t.Helper()
	s := plantest.Load(t, room(), strings.Replace(runnable, "sweep: ", quota+"sweep: ", 1), experiment.Options{})
	ports, err := TracePorts(s, []string{"s->*"})
	if err != nil {
		t.Fatal(err)
	}
	r := plan.ListRuns(s)[0]
	data, err := SimulateTraced(t.Context(), r, ports[r.Index], &Tracing{}, "e", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, ports[r.Index], data
}

// TestDecodeResult_RejectsWrongBundles checks that DecodeResult accepts a bundle of a run with its trace in the
// exact form, or a run without a trace, and refuses everything else. A trace does not change the run.
func TestDecodeResult_RejectsWrongBundles(t *testing.T) {
	r, ports, data := bundled(t, "trace_quota: 10 MB\n")
	run, files, err := DecodeResult(data, r, r.ID("e"), ports, &Tracing{})
	if err != nil || run.ID != r.ID("e") || len(files) != 3 || len(files[0]) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	alone, err := SimulateRun(t.Context(), r, "e", 1, nil)
	if err != nil || !bytes.Equal(alone, run.EncodeJSON(true)) {
		t.Errorf("%v: the run is another with a trace", err)
	}
	if _, _, err := DecodeResult(alone, r, r.ID("e"), nil, &Tracing{}); err != nil {
		t.Errorf("without a trace: %v", err)
	}
	pack := func(of ...string) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, name := range of {
			body := map[string][]byte{"run.json": alone, "trace.pcapng": files[0], "trace.parquet": files[1],
				"trace.txt": files[2]}[name]
			w.WriteHeader(&tar.Header{Name: name, Size: int64(len(body)), Mode: 0o444})
			w.Write(body)
		}
		w.Close()
		return b.Bytes()
	}
	other := append([]trace.Port{}, ports...)
	for i := range other {
		other[i].Traced = !other[i].Traced
	}
	for name, x := range map[string]struct {
		data []byte
		says string
	}{
		"nothing":           {nil, "the bundle lacks run.json"},
		"the run alone":     {alone, "the bundle lacks run.json"},
		"cut off":           {data[:len(data)/2], "in the bundle"},
		"no trace":          {pack("run.json"), "the bundle lacks trace.pcapng"},
		"another order":     {pack("run.json", "trace.txt", "trace.parquet", "trace.pcapng"), `"trace.txt" instead of`},
		"a path":            {pack("run.json", "../../x"), `"../../x" instead of trace.pcapng`},
		"no text of ports":  {bytes.Replace(data, files[2][:20], []byte(strings.Repeat("x", 20)), 1), "of other ports"},
		"another run's run": {bytes.Replace(data, []byte(r.ID("e")), []byte(r.ID("f")), 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := DecodeResult(x.data, r, r.ID("e"), ports, &Tracing{})
			if err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%v, want %q", err, x.says)
			}
		})
	}
	if _, _, err := DecodeResult(data, r, r.ID("e"), other, &Tracing{}); err == nil {
		t.Error("a trace of other ports is taken")
	}
}

// TestTraceQuota checks that trace_quota is no part of a run's identity, that a trace within it succeeds, and that
// a larger trace fails the run.
func TestTraceQuota(t *testing.T) {
	with, tracedPorts, large := bundled(t, "trace_quota: 10 MB\n")
	without, _, _ := bundled(t, "")
	if with.ID("e") != without.ID("e") {
		t.Error("a run has another id with it")
	}
	_, files, err := DecodeResult(large, with, with.ID("e"), tracedPorts, &Tracing{})
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, f := range files {
		size += len(f)
	}
	for _, x := range []struct {
		quota  int
		enough bool
	}{{size, true}, {size - 1, false}, {1, false}} {
		t.Run(fmt.Sprint(x.quota), func(t *testing.T) {
			s := plantest.Load(t, room(), strings.Replace(runnable, "sweep: ", fmt.Sprintf("trace_quota: %d B\nsweep: ",
				x.quota), 1), experiment.Options{})
			dir := t.TempDir()
			o, err := Execute(t.Context(), s, Options{Dir: dir, Executable: "e", Trace: []string{"s->*"}})
			if err != nil {
				t.Fatal(err)
			}
			failed := false
			for _, f := range o.Failed {
				failed = failed || f.ID == with.ID("e") && strings.Contains(f.Err.Error(), "trace_quota")
			}
			if failed == x.enough {
				t.Errorf("failed: %v", o.Failed)
			}
		})
	}
}

// FuzzDecodeResult_GivesGivenRunOrError checks that any input is refused or is the expected run.
func FuzzDecodeResult_GivesGivenRunOrError(f *testing.F) {
	r, ports, data := bundled(f, "trace_quota: 10 MB\n")
	f.Add(data[:600])
	f.Add([]byte("run.json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, files, err := DecodeResult(data, r, r.ID("e"), ports, &Tracing{})
		if err == nil && (run.ID != r.ID("e") || len(files) != 3) {
			t.Errorf("%+v, %d files", run, len(files))
		}
	})
}

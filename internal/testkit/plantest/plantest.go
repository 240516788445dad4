// Package plantest has helpers for tests of experiments: a registry of real schemes, and functions that load a spec
// from text, configure a simulation with it and run that.
package plantest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/inputloss"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/jobs/chakra"
	"weir/core/jobs/collective"
	"weir/core/jobs/goal"
	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/jobs/storage"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/transport/window"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/worlds/sim"
)

// crash is a program with a mistake: it panics at its first packet.
type crash struct{}

// Name returns "crash".
func (crash) Name() string { return "crash" }

// Ingress panics.
func (crash) Ingress(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	panic("a mistake of the scheme")
}

// NewRegistry returns a registry with the real schemes that tests of experiments need, one that panics, and a paper's
// program. The folder library has the paper's experiments.
func NewRegistry(paper dataplane.Scheme, library string) *experiment.Registry {
	return &experiment.Registry{
		Measures:  measure.Definitions(),
		Workloads: workload.Distributions(),
		Programs: []dataplane.Scheme{forward.Scheme(), ecmp.Scheme(), inputloss.Scheme(), classify.Scheme(), paper, {
			Scheme: scheme.Scheme{Name: "crash", Doc: "panics", Source: "tests"},
			Build:  func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return crash{}, nil },
		}},
		Jobs:       slices.Concat(collective.Schemes(), storage.Schemes(), []job.Scheme{chakra.Scheme(), goal.Scheme()}),
		Ideals:     []job.Model{loggops.Scheme()},
		Schedulers: tm.Schemes(),
		Transports: []transport.Scheme{rdma.Scheme(), tcp.Scheme(), udp.Scheme(), window.Scheme()},
		Topologies: topology.Schemes(),
		Networks:   topology.Formats(), Flows: workload.Formats(),
		Controllers: []cc.Scheme{bbr.Scheme(), cubic.Scheme(), dctcp.Scheme(), none.Scheme(), reno.Scheme()},
		Library:     []experiment.Library{{Name: filepath.Base(library), Files: os.DirFS(library)}},
	}
}

// NewSource returns an experiment's file with the given text. The files that it names are in the test's folder
// testdata.
func NewSource(name, text string) *experiment.Source {
	return &experiment.Source{Name: strings.TrimSuffix(name, ".yaml"), File: name, Data: []byte(text),
		Open: func(file string) ([]byte, error) { return os.ReadFile(filepath.Join("testdata", file)) }}
}

// Load loads the spec text, which must be valid.
func Load(t testing.TB, r *experiment.Registry, text string, o experiment.Options) *experiment.Spec {
	t.Helper()
	return LoadSource(t, r, NewSource("test.yaml", text), o)
}

// LoadSource loads an experiment's file, which must be valid.
func LoadSource(t testing.TB, r *experiment.Registry, src *experiment.Source, o experiment.Options) *experiment.Spec {
	t.Helper()
	s, err := plan.Load(r, src, o)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src.Data)
	}
	return s
}

// Configure loads the spec text, which must be valid, and returns the configuration of its first run. The endpoints
// exist, so that tests can inspect and replace them.
func Configure(t testing.TB, r *experiment.Registry, text string) *sim.Config {
	t.Helper()
	c, err := plan.ListRuns(Load(t, r, text, experiment.Options{}))[0].Config()
	if err == nil {
		err = c.MakeEndpoints()
	}
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c
}

// Simulate runs a simulation that must succeed.
func Simulate(t testing.TB, c *sim.Config) *outcome.Result {
	t.Helper()
	out, err := sim.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// LoadInvalid loads the spec text, which must be invalid, and returns its errors.
func LoadInvalid(t testing.TB, r *experiment.Registry, text string, o experiment.Options) document.InputErrors {
	t.Helper()
	_, err := plan.Load(r, NewSource("test.yaml", text), o)
	var e document.InputErrors
	if !errors.As(err, &e) {
		t.Fatalf("no input error but %v for\n%s", err, text)
	}
	return e
}

// Small and SmallTraffic are the beginning of a spec that runs within milliseconds.
const Small = `title: small
duration: 200ms
warmup: 100ms
repeat: 2
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [b, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, c], rate: 10Mbps, delay: 1ms, buffer: 24 packets}
`

const SmallTraffic = `traffic:
  - {name: a, from: a, to: c, transport: udp, rate: $rate, start: 0s..10ms}
  - {name: b, from: b, to: c, transport: udp, rate: 8Mbps, start: 0s..10ms}
`

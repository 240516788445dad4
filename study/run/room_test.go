package run

import (
	"errors"
	"os"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/ecmp"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/inputloss"
	"weir/core/dataplane/tm"
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
	"weir/papers/p4abc"
	"weir/study/measure"
	"weir/study/spec"
)

// crash is a program that panics at its first packet: a scheme with a mistake.
type crash struct{}

func (crash) Name() string { return "crash" }
func (crash) Ingress(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	panic("a mistake of the scheme")
}

// room is the registry of this package's tests: the real schemes, and one that
// panics.
func room() *spec.Registry {
	return &spec.Registry{
		Measures:  measure.Kinds(),
		Workloads: workload.Distributions(),
		Programs: []dataplane.Scheme{forward.Scheme(), ecmp.Scheme(), inputloss.Scheme(), classify.Scheme(),
			p4abc.Scheme(), {
				Scheme: scheme.Scheme{Name: "crash", Doc: "panics", Source: "tests"},
				Build:  func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return crash{}, nil },
			}},
		Schedulers:  tm.Schemes(),
		Transports:  []transport.Scheme{rdma.Scheme(), tcp.Scheme(), udp.Scheme(), window.Scheme()},
		Topologies:  topology.Schemes(),
		Controllers: []cc.Scheme{bbr.Scheme(), cubic.Scheme(), dctcp.Scheme(), none.Scheme(), reno.Scheme()},
		Library:     []spec.Library{{Name: "p4abc", Files: os.DirFS("../../papers/p4abc")}},
	}
}

func file(name, text string) *spec.Source {
	return &spec.Source{Name: strings.TrimSuffix(name, ".yaml"), File: name, Data: []byte(text),
		Open: func(file string) ([]byte, error) {
			return os.ReadFile("testdata/" + file)
		}}
}

// load reads a spec that must be valid.
func load(t testing.TB, text string, o spec.Options) *spec.Spec {
	t.Helper()
	s, err := spec.Load(room(), file("test.yaml", text), o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

// wrong reads a spec that must not be valid.
func wrong(t testing.TB, text string, o spec.Options) document.InputErrors {
	t.Helper()
	_, err := spec.Load(room(), file("test.yaml", text), o)
	var e document.InputErrors
	if !errors.As(err, &e) {
		t.Fatalf("no input error but %v for\n%s", err, text)
	}
	return e
}

// small and smallTraffic begin a spec that runs within a few milliseconds.
const small = `title: small
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

const smallTraffic = `traffic:
  - {name: a, from: a, to: c, transport: udp, rate: $rate, start: 0s..10ms}
  - {name: b, from: b, to: c, transport: udp, rate: 8Mbps, start: 0s..10ms}
`

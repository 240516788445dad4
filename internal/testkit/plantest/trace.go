package plantest

import (
	"errors"
	"testing"

	"weir/core/trace"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// tracedSpec has TCP with ECN, SACK and timestamps over IPv4 and IPv6 through a short queue and a lossy link,
// together with datagrams and extensions.
const tracedSpec = `title: traced
duration: 1500ms
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 20Mbps, delay: 2ms, loss: 0.2%}
    - {ends: [b, s], rate: 20Mbps, delay: 1ms}
    - {ends: [s, c], rate: 10Mbps, delay: 2ms, buffer: 12 packets}
switch: [forward, {abc: {memory: 300ms, reference: 5Mbps}}]
traffic:
  - {name: four, from: a, to: c, transport: tcp, flows: 2, start: 0s, size: 300kB}
  - {name: six, from: b, to: c, transport: tcp, ip: 6, start: 0s, size: 300kB}
  - {name: ecn, from: b, to: c, transport: {tcp: {ecn: true}}, cc: dctcp, start: 0s}
  - {name: datagrams, from: b, to: c, transport: udp, rate: 1Mbps, start: 0s}
  - {name: frames, from: a, to: c, transport: window, window: 4 packets, size: 40kB, start: 0s}
measure: [goodput]
`

// recordSink is a Sink that keeps the records.
type recordSink []trace.Record

// Write keeps a copy of a record.
func (k *recordSink) Write(r *trace.Record) error {
	x := *r
	x.Frame = append([]byte(nil), r.Frame...)
	*k = append(*k, x)
	return nil
}

// RunTraced runs an experiment with TCP, datagrams and frames of every kind, and returns the records of the ports that
// match the patterns. The function sinks returns further sinks for these ports. The registry must have p4abc's
// program.
func RunTraced(t testing.TB, r *experiment.Registry, sinks func(ports []string) []trace.Sink,
	patterns ...string) []trace.Record {
	t.Helper()
	return RunTracedSpec(t, r, tracedSpec, sinks, patterns...)
}

// RunTracedSpec works as RunTraced, on the first point of the experiment text.
func RunTracedSpec(t testing.TB, r *experiment.Registry, text string, sinks func(ports []string) []trace.Sink,
	patterns ...string) []trace.Record {
	t.Helper()
	c, err := plan.Config(Load(t, r, text, experiment.Options{}).Points()[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	return runTraced(t, c, sinks, patterns...)
}

// RunRecords runs a simulation and returns the records of the ports that match the patterns.
func RunRecords(t testing.TB, c *sim.Config, patterns ...string) []trace.Record {
	t.Helper()
	return runTraced(t, c, func([]string) []trace.Sink { return nil }, patterns...)
}

// runTraced runs a simulation and returns the records of the ports that match the patterns. It calls sinks with the
// names of these ports, and also writes the records to the sinks that it returns.
func runTraced(t testing.TB, c *sim.Config, sinks func(ports []string) []trace.Sink,
	patterns ...string) []trace.Record {
	t.Helper()
	ports := sim.TracePorts(c.Wiring.Network)
	for _, p := range patterns {
		trace.MarkPorts(ports, p)
	}
	var names []string
	for _, p := range ports {
		if p.Traced {
			names = append(names, p.Name)
		}
	}
	var all recordSink
	config := trace.Config{Ports: ports, Book: c.Wiring.Hosts, Frames: true, Sinks: append(sinks(names), &all)}
	for _, n := range c.Wiring.Network.Nodes {
		config.Nodes = append(config.Nodes, n.Name)
	}
	c.Trace = trace.NewCollector(config)
	if _, err := sim.Run(c); err != nil {
		t.Fatal(err)
	}
	if err := c.Trace.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// CheckWritable returns a function that checks that the text form can express a record. It ignores records with
// negative numbers, and returns an error after 1,000 records.
func CheckWritable(t testing.TB) func(*trace.Record) error {
	n := 0
	return func(r *trace.Record) error {
		if n++; n > 1000 {
			return errors.New("enough")
		}
		if r.Seq < 0 || r.Ack < 0 || r.Size < 0 || r.Payload < 0 {
			return nil
		}
		line := string(trace.AppendText(nil, r))
		if _, err := trace.ParseText(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		return nil
	}
}

// Package experiment reads experiments: the strict YAML of a file, with options applied, becomes a valid Spec with a
// Point for each combination of its sweep. A loaded Spec is not changed. All errors of a file are reported together,
// each with its place. A Registry has the schemes that files can name.
//
// Programs load a file with package plan, which builds each point once:
//
//	src, err := registry.OpenExperiment("p4abc/fig4")
//	s, err := plan.Load(registry, src, experiment.Options{Quick: true})
//	for _, p := range s.Points() { … }
//
// Each section of a file is read by a type:
//
//	file.go      experimentFile     the file, quick, --set and --seed
//	head.go      headSection        title, paper, repeat, seed
//	sweep.go     sweepSection       sweep, without, and the values of $names
//	decode.go    decoder            one point: its sections in their order
//	network.go   networkDecoder     topology and addresses
//	nodes.go     nodeNames          groups, and nodes by name and pattern, for all sections
//	users.go     userDecoder        users
//	switches.go  switchDecoder      switch, switches, and the format of telemetry
//	traffic.go   trafficDecoder     traffic; generator.go: flows that are drawn
//	flowfile.go  flowFileDecoder    flows that a file lists
//	capture.go   captureDecoder     traffic of a capture
//	job.go       jobDecoder         jobs, iterations and ideal networks
//	events.go    eventDecoder       events and stalls
//	measured.go  measuredSection    results: ratio, best, expect, tables
//	paper.go     paperSection       the paper's values
//	plots        plots.Decoder      plots (a package)
//
// They share a reader (reader.go), which collects errors and warnings and has the registry. keys.go declares the keys
// of all sections. When all traffic is read, pathChecker (paths.go, loads.go, checks.go) walks the paths of its flows,
// and schemes report problems there.
package experiment

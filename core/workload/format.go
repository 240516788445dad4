package workload

import (
	"io"

	"weir/core/unit"
)

// FileFormat is a format of files that list flows.
type FileFormat struct {
	Name      string // as an experiment names it: {file: mix.txt, format: hpcc}
	Doc       string // what such a file is, in a line
	Program   string // whose files these are, for errors
	Announces bool   // it says how many flows it has, and what stands behind them can be ignored
	Ports     bool   // its flows have destination ports
	// Unclear says why a file's starts do not say what they count, so that the experiment has to;
	// "": they count seconds.
	Unclear string
	// Read reads a file whose name is for errors, which are of type *FormatError; each is what a
	// start counts. Flows with an error are those before an Excess.
	Read func(r io.Reader, file string, each unit.Time) ([]Flow, error)
	// Chained reads files whose flows may wait for others, in place of Read; nil: those of the format do not.
	Chained func(r io.Reader, file string, each unit.Time) (Matrix, error)
}

// Formats are those of the HPCC simulator and of htsim.
func Formats() []FileFormat {
	return []FileFormat{
		{Name: "hpcc", Doc: "flow list of the HPCC simulator", Program: "the HPCC simulator", Announces: true, Ports: true,
			Read: func(r io.Reader, file string, _ unit.Time) ([]Flow, error) { return ReadHPCCFlows(r, file) }},
		{Name: "htsim", Doc: "connection matrix (.cm) of htsim, with time_unit", Program: "htsim",
			Unclear: "htsim's programs do not agree on what a .cm file's start counts", Read: readHTSimFlows,
			Chained: ReadHTSimTriggers},
	}
}

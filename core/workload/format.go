package workload

import (
	"io"

	"weir/core/unit"
)

// FileFormat is a format of files that list flows.
type FileFormat struct {
	Name      string // as an experiment names it: {file: mix.txt, format: hpcc}
	Doc       string // description of such a file in one line
	Program   string // program that defines the format, for errors
	Announces bool   // it announces its number of flows, and lines behind them can be ignored
	Ports     bool   // its flows have destination ports
	// UnclearUnit is set if the starts in a file have no defined unit, so that the experiment has to give it. It is the
	// reason; "": starts are in seconds.
	UnclearUnit string
	// Read reads a file. file is its name for errors, which are of type *FormatError; startUnit is the unit of starts. If
	// the error has Excess set, the flows before it are returned too.
	Read func(r io.Reader, file string, startUnit unit.Time) ([]Flow, error)
	// ReadChained reads files with flows that may wait for others, in place of Read; nil: the format has no such flows.
	ReadChained func(r io.Reader, file string, startUnit unit.Time) (Matrix, error)
}

// Formats returns the formats of the HPCC simulator and of htsim.
func Formats() []FileFormat {
	return []FileFormat{
		{Name: "hpcc", Doc: "flow list of the HPCC simulator", Program: "the HPCC simulator", Announces: true, Ports: true,
			Read: func(r io.Reader, file string, _ unit.Time) ([]Flow, error) { return ReadHPCCFlows(r, file) }},
		{Name: "htsim", Doc: "connection matrix (.cm) of htsim, with time_unit", Program: "htsim",
			UnclearUnit: "htsim's programs disagree on the time unit of a .cm file's start", Read: readHTSimFlows,
			ReadChained: ReadHTSimTriggers},
	}
}

package topology

import "io"

// Format is a form of files that have a network.
type Format struct {
	Name      string // as an experiment names it: {file: fat.txt, format: hpcc}
	Doc       string // what such a file is, in a line
	Announces bool   // it says how many links it has, and what stands behind them can be ignored
	// Read reads a file whose name is for errors, which are of type *FormatError. A network with
	// an error is one of Excess.
	Read func(r io.Reader, file string) (*Network, error)
}

// Formats are those of the HPCC simulator and of htsim.
func Formats() []Format {
	return []Format{
		{Name: "hpcc", Doc: "topology of the HPCC simulator", Announces: true, Read: ReadHPCC},
		{Name: "htsim", Doc: ".topo file of htsim", Read: ReadHTSim},
	}
}

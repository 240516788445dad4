package topology

import "io"

// FileFormat is a format of files that describe a network.
type FileFormat struct {
	Name      string // as an experiment names it: {file: fat.txt, format: hpcc}
	Doc       string // description of such a file in one line
	Announces bool   // it announces its number of links; what follows them can be ignored
	// Read parses a file. file is its name for errors, which are of type *FormatError. If the error has Excess set, the
	// network is returned too.
	Read func(r io.Reader, file string) (*Network, error)
}

// Formats returns the formats of the HPCC simulator and of htsim.
func Formats() []FileFormat {
	return []FileFormat{
		{Name: "hpcc", Doc: "topology file of the HPCC simulator", Announces: true, Read: ReadHPCC},
		{Name: "htsim", Doc: "topology file (.topo) of htsim", Read: readHTSim},
	}
}
